// Objects: references to them, and objects that JavaScript makes.
#include <stdlib.h>

#include "../bindings.h"
#include "context.h"
#include "tensor_object.h"
#include "text.h"

namespace dlpack::tvm_ffi {

uint32_t Own(Context* self, TVMFFIObjectHandle object) {
  if (object == nullptr) return 0;
  const uint32_t number = self->table.Add(object);
  if (number == 0) library.ObjectDecRef(object);
  return number;
}

int RaiseFull() { return Raise("RecursionError", "Expected fewer nested calls: the wire is full"); }

int OutOfMemory() { return Raise("MemoryError", "Out of memory for a value of TVM-FFI"); }

// Releases a reference; a number that is not held does nothing.
static void DisownObject(Context* self, ReferenceRequest* request) {
  TVMFFIObjectHandle object;
  // Last, because a foreign deleter may call this addon.
  if (self->table.Remove(request->reference, &object)) library.ObjectDecRef(object);
}

// Adds a reference to the object of a value.
static void RetainValue(Context* self, ValueRequest* request) {
  library.ObjectIncRef(ValuesAt(self, request->value)->v_obj);
}

// Drops a reference to the object of a value.
static void DropValue(Context* self, ValueRequest* request) {
  library.ObjectDecRef(ValuesAt(self, request->value)->v_obj);
}

// Adds a reference to an object and reads its type.
static void RetainObject(Context* self, ObjectRequest* request) {
  TVMFFIObject* object = static_cast<TVMFFIObject*>(Pointer(request->object));
  library.ObjectIncRef(object);
  request->type = object->type_index;
  request->status = 0;
  OwnIn(self, object, request);
}

// Puts the reference of an owned value into the table; 0 when the value is not an object.
static void OwnValue(Context* self, ValueRequest* request) {
  const TVMFFIAny* value = ValuesAt(self, request->value);
  const bool is_object = request->status == 0 && value->type_index >= kTVMFFIStaticObjectBegin;
  request->reference = is_object ? Own(self, value->v_obj) : 0;
  if (is_object && request->reference == 0) request->status = OutOfMemory();
}

// makeString(text): a string as a value.
static void MakeString(Context* self, ValueRequest* request, napi_env env, napi_value value) {
  const Text text(env, value);
  request->status =
      text.is_lost() ? OutOfMemory() : library.StringFromByteArray(text.bytes(), ValuesAt(self, request->value));
  OwnValue(self, request);
}

// makeBytes(Uint8Array): the same for bytes.
static void MakeBytes(Context* self, ValueRequest* request, napi_env env, napi_value value) {
  const Elements<uint8_t> given(env, value);
  request->reference = 0;
  if (!given.is_valid) {
    request->status = Raise("TypeError", "Expected a Uint8Array for bytes");
    return;
  }
  const TVMFFIByteArray bytes{given.length == 0 ? "" : reinterpret_cast<char*>(given.data), given.length};
  request->status = library.BytesFromByteArray(&bytes, ValuesAt(self, request->value));
  OwnValue(self, request);
}

// Makes an object over memory that begins at `data`, and writes its address, that of its DLTensor, and a reference to
// the request.
static Status MakeTensor(Context* self, TensorObjectRequest* request, void* data, uint64_t nbytes, Storage* storage) {
  Descriptor descriptor;
  Status status = ReadWire(self->instance, request->tensor, &descriptor);
  if (status == kOk) status = CheckInside(descriptor, nbytes);
  if (status != kOk) return status;
  TensorObject* object = CreateTensorObject(descriptor, data, storage);
  request->object = reinterpret_cast<uint64_t>(object);
  request->view = object == nullptr ? 0 : reinterpret_cast<uint64_t>(&object->tensor);
  request->reference = Own(self, object);
  return request->reference == 0 ? kOutOfMemory : kOk;
}

// An object for a tensor in native memory.
static void MakeTensorObject(Context* self, TensorObjectRequest* request) {
  Storage* storage = GetHeld(self->instance, request->tensor.handle);
  request->status = storage == nullptr ? kConsumed : MakeTensor(self, request, storage->data, storage->nbytes, storage);
}

// readAddress(Uint8Array): the address of memory that JavaScript keeps alive, for a described tensor.
static void ReadAddress(Context*, DescribedTensor* request, napi_env env, napi_value value) {
  const Elements<uint8_t> bytes(env, value);
  request->status = bytes.is_valid ? kOk : kNapi;
  // Any address will do for memory of no bytes.
  request->address = bytes.data == nullptr ? 4096 : reinterpret_cast<uint64_t>(bytes.data);
  request->nbytes = static_cast<double>(bytes.length);
}

// borrowTensor(Uint8Array): an object over memory that JavaScript keeps alive; valid until that memory moves or is
// freed.
static void BorrowTensorObject(Context* self, TensorObjectRequest* request, napi_env env, napi_value value) {
  const Elements<uint8_t> bytes(env, value);
  request->status = bytes.is_valid ? MakeTensor(self, request, bytes.data, bytes.length, nullptr) : kNapi;
}

// The registered name of the object's type.
static napi_value ReadTypeKey(Context*, ObjectRequest* request, napi_env env) {
  const TVMFFIObject* object = static_cast<TVMFFIObject*>(Pointer(request->object));
  const TVMFFITypeInfo* type = library.GetTypeInfo(object->type_index);
  return type == nullptr ? nullptr : StringOf(env, type->type_key);
}

const NamedFunction kObjectsFunctions[] = {{"disown", Binding<DisownObject>::Call},
                                           {"retain", Binding<RetainValue>::Call},
                                           {"drop", Binding<DropValue>::Call},
                                           {"retainObject", Binding<RetainObject>::Call},
                                           {"makeString", Binding<MakeString>::Call},
                                           {"makeBytes", Binding<MakeBytes>::Call},
                                           {"makeTensor", Binding<MakeTensorObject>::Call},
                                           {"borrowTensor", Binding<BorrowTensorObject>::Call},
                                           {"readAddress", Binding<ReadAddress>::Call},
                                           {"readTypeKey", Binding<ReadTypeKey>::Call},
                                           {}};

}  // namespace dlpack::tvm_ffi
