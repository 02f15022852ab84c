#include "carried.h"

#include <stdlib.h>

namespace dlpack::python {

void CarryText(Object* object, Carried* out) {
  static char unknown[] = "?";
  *out = Carried{kString, 0, Copy(Text(object)), nullptr};
  if (out->text.data == nullptr) out->text = Copy({unknown, 1, false});
  if (out->text.data == nullptr) out->kind = kNone;
}

void Carry(Object* object, Carried* out) {
  *out = Carried{};
  out->kind = KindOf(object, &out->number);
  if (IsSpilled(out->kind)) {
    out->text = Copy(Text(object, out->kind));
    if (out->text.data == nullptr) out->kind = kHandle;
  }
  if (out->kind == kHandle) {
    out->object = object;
  } else {
    api.Py_DecRef(object);
  }
}

bool Deliver(napi_env env, Objects* self, Carried* value, napi_value out[2]) {
  bool good;
  if (value->kind == kHandle) {
    const uint32_t handle = HoldObject(self, value->object);
    if (handle != 0) value->object = nullptr;
    good = handle != 0 && napi_create_uint32(env, handle, &out[1]) == napi_ok;
  } else if (IsSpilled(value->kind)) {
    good = MakeSpilled(env, self, value->kind, value->text, &out[1]);
  } else {
    good = napi_create_double(env, value->number, &out[1]) == napi_ok;
  }
  if (!good) napi_get_undefined(env, &out[1]);
  napi_create_uint32(env, good ? value->kind : static_cast<uint32_t>(kNone), &out[0]);
  DropCarried(value);
  return good;
}

void TakeBack(napi_env env, Objects* self, const napi_value delivered[2]) {
  uint32_t kind = kNone, handle = 0;
  napi_get_value_uint32(env, delivered[0], &kind);
  napi_get_value_uint32(env, delivered[1], &handle);
  if (kind == kHandle) DeferDecRef(DropObject(self, handle));
}

void DropCarried(Carried* value) {
  free(value->text.data);
  DeferDecRef(value->object);
  *value = Carried{};
}

}  // namespace dlpack::python
