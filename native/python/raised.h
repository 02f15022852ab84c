// The current Python exception, taken for JavaScript. GIL held, any thread.
#pragma once

#include "runtime.h"

namespace dlpack::python {

// The parts of an exception that JavaScript shows. Each may be NULL, because describing an exception can fail.
struct Raised {
  Ref type_name;
  Ref message;
  Ref traceback;
  Ref exception;

  // Takes the current exception and clears it.
  Raised();
};

}  // namespace dlpack::python
