// Calls Python objects with arguments in an array.
#ifndef DLPACK_NODE_PYTHON_CALLS_H_
#define DLPACK_NODE_PYTHON_CALLS_H_

#include "api.h"

namespace dlpack {
namespace python {

// Calls with `positional` arguments and one more for each of `names`, a tuple of strings or NULL. Python may use the
// element in front of the first argument during the call. A new reference, or NULL with an exception set. GIL held.
Object* CallVector(Object* callable, Object** arguments, size_t positional, Object* names);

}  // namespace python
}  // namespace dlpack

#endif  // DLPACK_NODE_PYTHON_CALLS_H_
