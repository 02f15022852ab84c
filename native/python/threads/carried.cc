#include "carried.h"

#include <stdlib.h>
#include <string.h>

#include <new>

#include "../objects/calls.h"

namespace dlpack::python {

void CarryText(Object* object, Carried* out) {
  static char unknown[] = "?";
  *out = Carried{};
  out->kind = kString;
  out->text = Copy(Text(object));
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
    out->number = static_cast<double>(BytesBehind(object));
    out->has_spare = CanDescribe(object);
    if (out->has_spare) api.Py_IncRef(object);
  } else {
    api.Py_DecRef(object);
  }
}

// Any thread, no GIL needed.
static void FreeTensor(CarriedTensor* tensor) {
  if (tensor == nullptr) return;
  if (tensor->storage != nullptr) ReleaseStorage(tensor->storage);
  DeferDecRef(tensor->object);
  free(tensor);
}

bool CarryTensor(Object* object, Carried* out) {
  *out = Carried{};
  void* block = malloc(sizeof(CarriedTensor));
  if (block == nullptr) {
    api.Py_DecRef(object);
    return Raise(api.PyExc_RuntimeError, "Out of memory for a tensor");
  }
  out->kind = kTensor;
  out->tensor = new (block) CarriedTensor();
  return ImportAnywhere(object, out->tensor);
}

// The kinds of values.py that have a leaf are less than this. The length of a container follows its kind.
static const uint32_t kFirstContainer = 3, kTensorLeaf = 1;

// The kind of the next leaf; kFirstContainer at the end.
static uint32_t NextLeaf(const Characters& kinds, size_t* at) {
  uint32_t kind = kFirstContainer;
  for (; *at + sizeof(kind) <= kinds.size; *at += 2 * sizeof(kind)) {
    memcpy(&kind, static_cast<const char*>(kinds.data) + *at, sizeof(kind));
    if (kind >= kFirstContainer) continue;
    *at += sizeof(kind);
    return kind;
  }
  return kFirstContainer;
}

bool CarryParts(Object* object, Carried* out) {
  *out = Carried{};
  if (TypeOf(object) != api.PyTuple_Type) {
    Carry(object, out);  // the reason why the result cannot be taken apart
    return true;
  }
  const Ref owned(object);
  const uint32_t count = static_cast<uint32_t>(api.PyTuple_Size(object));
  out->parts = static_cast<Carried*>(calloc(count + 1, sizeof(Carried)));
  if (out->parts == nullptr) return Raise(api.PyExc_RuntimeError, "Out of memory for a result");
  out->kind = kList;
  Carry(NewRef(api.PyTuple_GetItem(object, 0)), &out->parts[out->count++]);
  size_t at = 0;
  while (out->count < count) {
    const bool is_tensor = NextLeaf(out->parts[0].text, &at) == kTensorLeaf;
    Carried* part = &out->parts[out->count];
    Object* leaf = NewRef(api.PyTuple_GetItem(object, out->count++));
    if (!is_tensor) {
      Carry(leaf, part);
    } else if (!CarryTensor(leaf, part)) {
      return false;
    }
  }
  return true;
}

// An array that alternates the kinds and the values of the parts. JavaScript thread, no GIL.
static bool DeliverParts(napi_env env, Objects* self, Carried* value, napi_value* out) {
  bool good = napi_create_array_with_length(env, size_t{2} * value->count, out) == napi_ok;
  uint32_t done = 0;
  for (; good && done < value->count; ++done) {
    napi_handle_scope scope;
    if (napi_open_handle_scope(env, &scope) != napi_ok) {
      good = false;
      break;
    }
    napi_value pair[2];
    good = Deliver(env, self, &value->parts[done], pair) && napi_set_element(env, *out, 2 * done, pair[0]) == napi_ok &&
           napi_set_element(env, *out, 2 * done + 1, pair[1]) == napi_ok;
    napi_close_handle_scope(env, scope);
  }
  // JavaScript does not receive the handles before the part that failed.
  for (uint32_t i = 0; !good && i < done; ++i) {
    napi_value pair[2];
    if (napi_get_element(env, *out, 2 * i, &pair[0]) == napi_ok &&
        napi_get_element(env, *out, 2 * i + 1, &pair[1]) == napi_ok)
      TakeBack(env, self, pair);
  }
  return good;
}

bool Deliver(napi_env env, Objects* self, Carried* value, napi_value out[2]) {
  bool good;
  if (value->kind == kHandle) {
    const uint32_t handle = HoldObject(self, value->object, static_cast<int64_t>(value->number), value->has_spare);
    if (handle != 0) {
      value->object = nullptr;
      value->has_spare = false;
    }
    good = handle != 0 && napi_create_uint32(env, handle, &out[1]) == napi_ok;
  } else if (IsSpilled(value->kind)) {
    good = MakeSpilled(env, self, value->kind, value->text, &out[1]);
  } else if (value->kind == kList) {
    good = DeliverParts(env, self, value, &out[1]);
  } else if (value->kind == kTensor) {
    CarriedTensor** last = &self->delivered;
    while (*last != nullptr) last = &(*last)->next;
    *last = value->tensor;
    value->tensor = nullptr;
    good = napi_get_undefined(env, &out[1]) == napi_ok;
  } else {
    good = napi_create_double(env, value->number, &out[1]) == napi_ok;
  }
  if (!good) napi_get_undefined(env, &out[1]);
  napi_create_uint32(env, good ? value->kind : static_cast<uint32_t>(kNone), &out[0]);
  DropCarried(value);
  return good;
}

uint32_t NextTensor(Objects* self, napi_env) {
  CarriedTensor* tensor = self->delivered;
  TensorResult* result = MessageOf<TensorResult>(self->instance);
  result->status = kConsumed;
  if (tensor == nullptr) return 0;
  self->delivered = tensor->next;
  uint32_t handle = 0;
  if (tensor->object != nullptr) {
    handle = HoldObject(self, tensor->object);
    if (handle != 0) tensor->object = nullptr;
  } else {
    result->status = GiveTensor(self->instance, tensor->storage, tensor->status, tensor->imported, &result->tensor);
    tensor->storage = nullptr;
  }
  FreeTensor(tensor);
  return handle;
}

void DropDelivered(Objects* self) {
  while (self->delivered != nullptr) {
    CarriedTensor* tensor = self->delivered;
    self->delivered = tensor->next;
    FreeTensor(tensor);
  }
}

void TakeBack(napi_env env, Objects* self, const napi_value delivered[2]) {
  uint32_t kind = kNone, handle = 0;
  napi_get_value_uint32(env, delivered[0], &kind);
  napi_get_value_uint32(env, delivered[1], &handle);
  if (kind == kHandle) DeferDecRef(DropObject(self, handle));
}

void DropCarried(Carried* value) {
  free(value->text.data);
  FreeTensor(value->tensor);
  for (uint32_t i = 0; i < value->count; ++i) DropCarried(&value->parts[i]);
  free(value->parts);
  DeferDecRef(value->object);
  if (value->has_spare) DeferDecRef(value->object);
  *value = Carried{};
}

}  // namespace dlpack::python
