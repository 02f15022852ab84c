// Arrays of NumPy whose dtype is of the ml_dtypes package: bfloat16, float8, float6, float4, narrow integers.
#ifndef DLPACK_NODE_PYTHON_ML_DTYPES_H_
#define DLPACK_NODE_PYTHON_ML_DTYPES_H_

#include "../abi/dlpack_abi.h"
#include "api.h"

namespace dlpack {
namespace python {

// NumPy refuses to export these dtypes by itself. A view of the same memory as unsigned integers, which it does export,
// with the dtype that the view stands for; elements narrower than a byte take one each. NULL, without an exception, for
// everything else. GIL held.
Object* ViewMlDTypes(Object* array, DLDataType* dtype);

// The name of a dtype in ml_dtypes; NULL where it has none. Any thread.
const char* MlDTypeName(const DLDataType& dtype);

}  // namespace python
}  // namespace dlpack

#endif  // DLPACK_NODE_PYTHON_ML_DTYPES_H_
