// Calls Python objects with arguments in an array.
#pragma once

#include "api.h"

namespace dlpack::python {

// Calls with `positional` arguments and one more for each of `names`, a tuple of strings or NULL. Python may use the
// element in front of the first argument during the call. A new reference, or NULL with an exception set. GIL held.
Object* CallVector(Object* callable, Object** arguments, size_t positional, Object* names);

}  // namespace dlpack::python
