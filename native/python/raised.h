// The exception that is set in Python, taken for JavaScript. GIL held, any thread.
#ifndef DLPACK_NODE_PYTHON_RAISED_H_
#define DLPACK_NODE_PYTHON_RAISED_H_

#include "runtime.h"

namespace dlpack {
namespace python {

// What JavaScript shows of an exception. Each may be NULL: even describing one can fail.
struct Raised {
  Ref type_name;
  Ref message;
  Ref traceback;
  Ref exception;

  // Takes the exception that is set; none is set afterwards.
  Raised();
};

}  // namespace python
}  // namespace dlpack

#endif  // DLPACK_NODE_PYTHON_RAISED_H_
