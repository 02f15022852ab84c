// JavaScript tensors as objects of Python classes.
#ifndef DLPACK_NODE_PYTHON_CONVERT_H_
#define DLPACK_NODE_PYTHON_CONVERT_H_

#include "values.h"

namespace dlpack {
namespace python {

// One cell: the tensor as an object of our own type. Three: a class, the tensor, and whether a copy may be made (0:
// never). A new reference; or NULL with an exception set, or with the result cell saying that the class needs a copy.
// JavaScript thread, GIL held.
Object* ConvertTensor(Objects* self, const Cell* cells, uint32_t count);

}  // namespace python
}  // namespace dlpack

#endif  // DLPACK_NODE_PYTHON_CONVERT_H_
