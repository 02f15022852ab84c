// The current Python exception, taken for JavaScript. GIL held, any thread.
#ifndef DLPACK_NODE_PYTHON_RAISED_H_
#define DLPACK_NODE_PYTHON_RAISED_H_

#include "runtime.h"

namespace dlpack {
namespace python {

// The parts of an exception that JavaScript shows. Each may be NULL, because describing an exception can fail.
struct Raised {
  Ref type_name;
  Ref message;
  Ref traceback;
  Ref exception;

  // Takes the current exception and clears it.
  Raised();
};

}  // namespace python
}  // namespace dlpack

#endif  // DLPACK_NODE_PYTHON_RAISED_H_
