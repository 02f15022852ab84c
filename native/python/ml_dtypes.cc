#include "ml_dtypes.h"

#include <string.h>

#include "runtime.h"

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

bool AttributeIs(Object* object, const char* name, const char* wanted) {
  Ref value(api.PyObject_GetAttrString(object, name));
  const char* text = value ? api.PyUnicode_AsUTF8AndSize(value.get(), nullptr) : nullptr;
  return text != nullptr && strcmp(text, wanted) == 0;
}

}  // namespace

const char* MlDTypeName(const DLDataType& dtype) {
  for (const Row& row : kRows) {
    if (row.dtype.code == dtype.code && row.dtype.bits == dtype.bits && dtype.lanes == 1) return row.name;
  }
  return nullptr;
}

Object* ViewMlDTypes(Object* array, DLDataType* dtype) {
  Ref described(api.PyObject_GetAttrString(array, "dtype"));
  Ref type(described ? api.PyObject_GetAttrString(described.get(), "type") : nullptr);
  // For values in the other byte order NumPy's own error stays.
  Ref is_native(described ? api.PyObject_GetAttrString(described.get(), "isnative") : nullptr);
  if (is_native && is_native.get() == api._Py_FalseStruct) return nullptr;
  Object* view = nullptr;
  if (type && AttributeIs(type.get(), "__module__", "ml_dtypes")) {
    for (const Row& row : kRows) {
      if (!AttributeIs(type.get(), "__name__", row.name)) continue;
      *dtype = row.dtype;
      Ref method(api.PyObject_GetAttrString(array, "view"));
      Ref name(api.PyUnicode_InternFromString(row.dtype.bits <= 8    ? "uint8"
                                              : row.dtype.bits == 16 ? "uint16"
                                                                     : "uint32"));
      Ref arguments(api.PyTuple_New(1));
      if (!method || !name || !arguments) break;
      api.PyTuple_SetItem(arguments.get(), 0, name.take());
      view = api.PyObject_CallObject(method.get(), arguments.get());
      break;
    }
  }
  api.PyErr_Clear();
  return view;
}

}  // namespace dlpack::python
