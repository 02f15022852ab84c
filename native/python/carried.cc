#include "carried.h"

#include <stdlib.h>
#include <string.h>

#include "runtime.h"
#include "text.h"

namespace dlpack::python {

// False when out of memory.
static bool CopyBytes(const char* data, size_t length, uint32_t kind, Carried* out) {
  out->text = data == nullptr ? nullptr : static_cast<char*>(malloc(length + 1));
  if (out->text == nullptr) return false;
  memcpy(out->text, data, length);
  out->length = length;
  out->kind = kind;
  return true;
}

static bool CopyText(Object* str, uint32_t kind, Carried* out) {
  const Text text(str);
  out->is_utf16 = text.is_utf16;
  return CopyBytes(text.data, text.size, kind, out);
}

void CarryText(Object* object, Carried* out) {
  memset(out, 0, sizeof(*out));
  if (!CopyText(object, kString, out) && !CopyBytes("?", 1, kString, out)) out->kind = kNone;
}

// False when the object has to be carried as a handle.
static bool CarryValue(Object* object, Carried* out) {
  Object* type = TypeOf(object);
  if (object == api._Py_NoneStruct) {
    out->kind = kNone;
  } else if (type == api.PyBool_Type) {
    out->kind = kBool;
    out->number = object == api._Py_TrueStruct;
  } else if (type == api.PyFloat_Type) {
    out->kind = kFloat;
    out->number = api.PyFloat_AsDouble(object);
  } else if (type == api.PyLong_Type) {
    int overflow = 0;
    const long long value = api.PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow != 0 || !IsSafeInteger(value)) {
      Ref digits(api.PyNumber_ToBase(object, 16));
      api.PyErr_Clear();
      return CopyText(digits.get(), kBigInt, out);
    }
    out->kind = kInt;
    out->number = static_cast<double>(value);
  } else if (type == api.PyUnicode_Type) {
    return CopyText(object, kString, out);
  } else if (type == api.PyBytes_Type) {
    char* data = nullptr;
    ptrdiff_t length = 0;
    return api.PyBytes_AsStringAndSize(object, &data, &length) == 0 &&
           CopyBytes(data, static_cast<size_t>(length), kBytes, out);
  } else {
    return false;
  }
  return true;
}

void Carry(Object* object, Carried* out) {
  memset(out, 0, sizeof(*out));
  if (CarryValue(object, out)) {
    api.Py_DecRef(object);
    return;
  }
  out->kind = kHandle;
  out->object = object;
}

bool Deliver(napi_env env, Objects* self, Carried* value, napi_value out[2]) {
  bool good;
  if (value->kind == kHandle) {
    const uint32_t handle = HoldObject(self, value->object);
    if (handle != 0) value->object = nullptr;
    good = handle != 0 && napi_create_uint32(env, handle, &out[1]) == napi_ok;
  } else if (value->kind == kBytes) {
    good = MakeBytes(env, self, value->text, value->length, &out[1]);
  } else if (value->text != nullptr) {
    good = MakeString(env, value->text, value->length, value->is_utf16, &out[1]);
  } else {
    good = napi_create_double(env, value->number, &out[1]) == napi_ok;
  }
  if (!good) napi_get_undefined(env, &out[1]);
  napi_create_uint32(env, good ? value->kind : static_cast<uint32_t>(kNone), &out[0]);
  DropCarried(value);
  return good;
}

void DropCarried(Carried* value) {
  free(value->text);
  if (value->object != nullptr) DeferDecRef(value->object);
  memset(value, 0, sizeof(*value));
}

}  // namespace dlpack::python
