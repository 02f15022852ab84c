// Objects: references, and what JavaScript makes of their contents.
#include <stdlib.h>

#include "../bindings.h"
#include "context.h"
#include "tensor_object.h"
#include "text.h"

namespace dlpack {
namespace tvm_ffi {

static bool Grow(Context* self) {
  const uint32_t capacity = self->capacity == 0 ? 256 : self->capacity * 2;
  if (capacity <= self->capacity) return false;
  Owned* owned = static_cast<Owned*>(realloc(self->owned, sizeof(Owned) * capacity));
  if (owned == nullptr) return false;
  const uint32_t first = self->capacity == 0 ? 1 : self->capacity;
  for (uint32_t i = self->capacity; i < capacity; ++i) owned[i] = Owned{nullptr, i + 1 == capacity ? 0 : i + 1};
  self->owned = owned;
  self->free_slot = first;
  self->capacity = capacity;
  return true;
}

uint32_t Own(Context* self, TVMFFIObjectHandle object) {
  if (self->free_slot == 0 && !Grow(self)) {
    library.ObjectDecRef(object);
    return 0;
  }
  const uint32_t number = self->free_slot;
  self->free_slot = self->owned[number].next;
  self->owned[number].object = object;
  return number;
}

void DisownAll(Context* self) {
  for (uint32_t i = 1; i < self->capacity; ++i) {
    TVMFFIObjectHandle object = self->owned[i].object;
    self->owned[i].object = nullptr;
    if (object != nullptr) library.ObjectDecRef(object);
  }
  free(self->owned);
  self->owned = nullptr;
  self->capacity = 0;
}

// Releases the reference `slot`; a number that is not held does nothing.
napi_value DisownObject(napi_env env, napi_callback_info info) {
  Context* self = ContextOf(env, info);
  const uint32_t number = self->frame->slot;
  if (number >= self->capacity || self->owned[number].object == nullptr) return nullptr;
  TVMFFIObjectHandle object = self->owned[number].object;
  self->owned[number] = Owned{nullptr, self->free_slot};
  self->free_slot = number;
  // Last: a foreign deleter may come back into this addon.
  library.ObjectDecRef(object);
  return nullptr;
}

napi_value RetainSlot(napi_env env, napi_callback_info info) {
  CallFrame* frame = ContextOf(env, info)->frame;
  library.ObjectIncRef(frame->slots[frame->slot].v_obj);
  return nullptr;
}

napi_value DropSlot(napi_env env, napi_callback_info info) {
  CallFrame* frame = ContextOf(env, info)->frame;
  library.ObjectDecRef(frame->slots[frame->slot].v_obj);
  return nullptr;
}

// One more reference to the object `object`, under the number `slot`; `count` becomes its type.
napi_value RetainObject(napi_env env, napi_callback_info info) {
  Context* self = ContextOf(env, info);
  TVMFFIObject* object = static_cast<TVMFFIObject*>(Pointer(self->frame->object));
  library.ObjectIncRef(object);
  self->frame->count = object->type_index;
  self->frame->slot = Own(self, object);
  return nullptr;
}

// The object of an owned slot under the number `slot`, or 0 when the slot holds no object.
static void OwnSlot(Context* self) {
  CallFrame* frame = self->frame;
  const TVMFFIAny& value = frame->slots[frame->slot];
  const bool is_object = frame->status == 0 && value.type_index >= kTVMFFIStaticObjectBegin;
  frame->slot = is_object ? Own(self, value.v_obj) : 0;
}

// makeString(text): a string in the slot; `slot` becomes the number of its reference.
napi_value MakeString(napi_env env, napi_callback_info info) {
  napi_value value;
  Context* self = ContextOf(env, info, 1, &value);
  const Text text(env, value);
  self->frame->status = library.StringFromByteArray(text.bytes(), self->frame->slots + self->frame->slot);
  OwnSlot(self);
  return nullptr;
}

// makeBytes(Uint8Array): the same for bytes.
napi_value MakeBytes(napi_env env, napi_callback_info info) {
  napi_value value;
  Context* self = ContextOf(env, info, 1, &value);
  napi_typedarray_type type;
  size_t length = 0;
  void* data = nullptr;
  if (napi_get_typedarray_info(env, value, &type, &length, &data, nullptr, nullptr) != napi_ok ||
      type != napi_uint8_array) {
    self->frame->status = kNapi;
    return nullptr;
  }
  const TVMFFIByteArray bytes{length == 0 ? "" : static_cast<char*>(data), length};
  self->frame->status = library.BytesFromByteArray(&bytes, self->frame->slots + self->frame->slot);
  OwnSlot(self);
  return nullptr;
}

// The object under the number `slot`, and the DLTensor inside it.
static Status OwnTensor(Context* self, TensorObject* object) {
  self->frame->object = reinterpret_cast<uint64_t>(object);
  self->frame->view = object == nullptr ? 0 : reinterpret_cast<uint64_t>(&object->tensor);
  self->frame->slot = object == nullptr ? 0 : Own(self, object);
  return self->frame->slot == 0 ? kOutOfMemory : kOk;
}

// The tensor of an ExportRequest.
napi_value MakeTensorObject(napi_env env, napi_callback_info info) {
  Context* self = ContextOf(env, info);
  ExportRequest* request = MessageOf<ExportRequest>(self->instance);
  Storage* storage = GetHeld(self->instance, request->tensor.handle);
  Descriptor descriptor;
  Status status = storage == nullptr ? kConsumed : ReadWire(self->instance, request->tensor, &descriptor);
  if (status == kOk) status = CheckInside(descriptor, storage->nbytes);
  request->status = status == kOk ? OwnTensor(self, CreateTensorObject(descriptor, storage->data, storage)) : status;
  return nullptr;
}

// borrowTensor(Uint8Array): the same over memory that JavaScript keeps, good as long as that is where it is.
napi_value BorrowTensorObject(napi_env env, napi_callback_info info) {
  napi_value value;
  Context* self = ContextOf(env, info, 1, &value);
  ExportRequest* request = MessageOf<ExportRequest>(self->instance);
  napi_typedarray_type type;
  size_t length = 0;
  void* data = nullptr;
  if (napi_get_typedarray_info(env, value, &type, &length, &data, nullptr, nullptr) != napi_ok ||
      type != napi_uint8_array) {
    request->status = kNapi;
    return nullptr;
  }
  Descriptor descriptor;
  Status status = ReadWire(self->instance, request->tensor, &descriptor);
  if (status == kOk) status = CheckInside(descriptor, length);
  request->status = status == kOk ? OwnTensor(self, CreateTensorObject(descriptor, data, nullptr)) : status;
  return nullptr;
}

// The registered name of the object's type.
napi_value ReadTypeKey(napi_env env, napi_callback_info info) {
  Context* self = ContextOf(env, info);
  const TVMFFIObject* object = static_cast<TVMFFIObject*>(Pointer(self->frame->object));
  const TVMFFITypeInfo* type = library.GetTypeInfo(object->type_index);
  napi_value value = nullptr;
  if (type != nullptr) napi_create_string_utf8(env, type->type_key.data, type->type_key.size, &value);
  return value;
}

}  // namespace tvm_ffi
}  // namespace dlpack
