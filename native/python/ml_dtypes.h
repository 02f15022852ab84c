// NumPy arrays with a dtype of the ml_dtypes package: bfloat16, float8, float6, float4, narrow integers.
#pragma once

#include "../abi/dlpack_abi.h"
#include "api.h"

namespace dlpack::python {

// NumPy refuses to export these dtypes, but it exports unsigned integers. So this returns a view of the same memory as
// unsigned integers, and the dtype of the elements. Elements narrower than a byte take a whole byte each. NULL, without
// an exception, for every other array. GIL held.
Object* ViewMlDTypes(Object* array, DLDataType* dtype);

// The name of a dtype in ml_dtypes; NULL for a dtype that ml_dtypes does not have. Any thread.
const char* MlDTypeName(const DLDataType& dtype);

}  // namespace dlpack::python
