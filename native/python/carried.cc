#include "carried.h"

#include <stdlib.h>
#include <string.h>

#include "runtime.h"

namespace dlpack {
namespace python {

// False when out of memory, or for a string that has no UTF-8.
static bool CopyText(const char* data, ptrdiff_t length, uint32_t kind, Carried* out) {
  out->text = data == nullptr ? nullptr : static_cast<char*>(malloc(static_cast<size_t>(length) + 1));
  if (out->text == nullptr) return false;
  memcpy(out->text, data, static_cast<size_t>(length));
  out->length = static_cast<size_t>(length);
  out->kind = kind;
  return true;
}

void CarryText(Object* object, Carried* out) {
  memset(out, 0, sizeof(*out));
  ptrdiff_t length = 0;
  const char* utf8 = object == nullptr ? nullptr : api.PyUnicode_AsUTF8AndSize(object, &length);
  if (utf8 == nullptr) {
    // Lone surrogates have no UTF-8.
    api.PyErr_Clear();
    utf8 = "?";
    length = 1;
  }
  if (!CopyText(utf8, length, kString, out)) out->kind = kNone;
}

// False leaves the object to be carried as it is.
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
    const long long limit = (1LL << 53) - 1;
    if (overflow == 0 && value >= -limit && value <= limit) {
      out->kind = kInt;
      out->number = static_cast<double>(value);
    } else {
      Ref digits(api.PyNumber_ToBase(object, 10));
      CarryText(digits.get(), out);
      out->kind = kBigInt;
    }
  } else if (type == api.PyUnicode_Type) {
    CarryText(object, out);
  } else if (type == api.PyBytes_Type) {
    char* data = nullptr;
    ptrdiff_t length = 0;
    return api.PyBytes_AsStringAndSize(object, &data, &length) == 0 && CopyText(data, length, kBytes, out);
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

void Deliver(napi_env env, Objects* self, Carried* value, napi_value out[2]) {
  uint32_t kind = value->kind;
  napi_status status = napi_generic_failure;
  if (kind == kHandle) {
    const uint32_t handle = HoldObject(self, value->object);
    if (handle != 0) value->object = nullptr;
    status = handle == 0 ? napi_generic_failure : napi_create_uint32(env, handle, &out[1]);
  } else if (kind == kBytes) {
    void* copy = nullptr;
    napi_value buffer;
    if (napi_create_arraybuffer(env, value->length, &copy, &buffer) == napi_ok) {
      if (value->length > 0) memcpy(copy, value->text, value->length);
      status = napi_create_typedarray(env, napi_uint8_array, value->length, buffer, 0, &out[1]);
    }
  } else if (value->text != nullptr) {
    status = napi_create_string_utf8(env, value->text, value->length, &out[1]);
  } else {
    status = napi_create_double(env, value->number, &out[1]);
  }
  if (status != napi_ok) {
    kind = kNone;  // out of memory
    napi_get_undefined(env, &out[1]);
  }
  napi_create_uint32(env, kind, &out[0]);
  DropCarried(value);
}

void DropCarried(Carried* value) {
  free(value->text);
  if (value->object != nullptr) DeferDecRef(value->object);
  memset(value, 0, sizeof(*value));
}

}  // namespace python
}  // namespace dlpack
