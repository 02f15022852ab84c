// Converts JavaScript tensors into objects of Python classes.
#ifndef DLPACK_NODE_PYTHON_CONVERT_H_
#define DLPACK_NODE_PYTHON_CONVERT_H_

#include "values.h"

namespace dlpack {
namespace python {

// Three cells: a class, the tensor, and whether a copy may be made (0: never). A new reference; or NULL with an
// exception set, or with an outcome for a class that needs a copy. JavaScript thread, GIL held.
Object* ConvertTensor(Objects* self, const Cells& cells, Outcome* outcome);

}  // namespace python
}  // namespace dlpack

#endif  // DLPACK_NODE_PYTHON_CONVERT_H_
