#include "ml_dtypes.h"

#include "calls.h"

namespace dlpack::python {

namespace {

struct Row {
  const char* name;
  DLDataType dtype;
};

const Row kRows[] = {
    {"bfloat16", {4, 16, 1}},
    {"complex32", {5, 32, 1}},
    {"float8_e3m4", {7, 8, 1}},
    {"float8_e4m3", {8, 8, 1}},
    {"float8_e4m3b11fnuz", {9, 8, 1}},
    {"float8_e4m3fn", {10, 8, 1}},
    {"float8_e4m3fnuz", {11, 8, 1}},
    {"float8_e5m2", {12, 8, 1}},
    {"float8_e5m2fnuz", {13, 8, 1}},
    {"float8_e8m0fnu", {14, 8, 1}},
    {"float6_e2m3fn", {15, 6, 1}},
    {"float6_e3m2fn", {16, 6, 1}},
    {"float4_e2m1fn", {17, 4, 1}},
    {"int4", {0, 4, 1}},
    {"uint4", {1, 4, 1}},
    {"int2", {0, 2, 1}},
    {"uint2", {1, 2, 1}},
    {"int1", {0, 1, 1}},
    {"uint1", {1, 1, 1}},
};

}  // namespace

const char* MlDTypeName(const DLDataType& dtype) {
  for (const Row& row : kRows) {
    if (row.dtype.code == dtype.code && row.dtype.bits == dtype.bits && dtype.lanes == 1) return row.name;
  }
  return nullptr;
}

Object* ViewMlDTypes(Object* array, DLDataType* dtype) {
  const Ref described(api.PyObject_GetAttrString(array, "dtype"));
  const Ref type(Attribute(described, "type"));
  // For values in the other byte order NumPy's own error stays.
  const Ref is_native(Attribute(described, "isnative"));
  Object* view = nullptr;
  if (type && is_native && is_native.get() != api._Py_FalseStruct && HasText(type.get(), "__module__", "ml_dtypes")) {
    for (const Row& row : kRows) {
      if (!HasText(type.get(), "__name__", row.name)) continue;
      *dtype = row.dtype;
      const Ref method(api.PyObject_GetAttrString(array, "view"));
      const Ref name(NewString(row.dtype.bits <= 8 ? "uint8" : row.dtype.bits == 16 ? "uint16" : "uint32"));
      view = name ? CallWith(method, name.get()) : nullptr;
      break;
    }
  }
  api.PyErr_Clear();
  return view;
}

}  // namespace dlpack::python
