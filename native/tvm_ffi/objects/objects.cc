// Objects: references to them, and objects that JavaScript makes.
#include <stdlib.h>

#include "../../bindings.h"
#include "../codec/big_integers.h"
#include "../codec/tensor_arguments.h"
#include "../context.h"
#include "../text.h"
#include "flat_release.h"

namespace dlpack::tvm_ffi {

uint32_t Own(Context* self, TVMFFIObjectHandle object) {
  if (object == nullptr) return 0;
  ReleaseFlat(static_cast<TVMFFIObject*>(object));
  const uint32_t number = self->table.Add(object);
  if (number == 0) library.ObjectDecRef(object);
  return number;
}

int RaiseFull() { return Raise("RecursionError", "Expected fewer nested calls: the wire is full"); }

int OutOfMemory() { return Raise("MemoryError", "Out of memory for a value of TVM-FFI"); }

napi_value GiveReference(Context* self, napi_env env, TVMFFIObjectHandle object) {
  if (object == nullptr) return NewNull(env);
  const uint32_t number = Own(self, object);
  if (number != 0) return NewArray(env, {NewAddress(env, object), NewNumber(env, number)});
  OutOfMemory();
  return nullptr;
}

void Disown(Context* self, uint32_t number) {
  TVMFFIObjectHandle object;
  // Last, because a foreign deleter may call this addon.
  if (self->table.Remove(number, &object)) library.ObjectDecRef(object);
}

// disown(reference)
static void DisownObject(Context* self, napi_env, uint32_t number) { Disown(self, number); }

// retain(word): adds a reference to the object of a value. False with an error raised.
static bool RetainValue(Context* self, napi_env, uint32_t word) {
  TVMFFIAny* value = ValuesAt(self, word);
  TensorArguments tensors(self);
  if (tensors.Read(value, 1) != 0) return false;
  library.ObjectIncRef(value->v_obj);
  return true;
}

// drop(word): drops a reference to the object of a value.
static void DropValue(Context* self, napi_env, uint32_t word) { library.ObjectDecRef(ValuesAt(self, word)->v_obj); }

// ownResult(slot, word): gives the result of the callback in a slot a reference of its own. False with an error raised.
// The callback's message says so at once, because a worker may be terminated before JavaScript runs again.
static bool OwnResult(Context* self, napi_env, uint32_t slot, uint32_t word) {
  TVMFFIAny* value = ValuesAt(self, word);
  TensorArguments tensors(self);
  TVMFFIAny owned = {};
  if (tensors.Read(value, 1) != 0 || library.AnyViewToOwnedAny(value, &owned) != 0) return false;
  *value = owned;
  MessageAt<CallbackRequest>(self->instance, slot)->is_owned = 1;
  return true;
}

// The number of the reference of a value that was made with `status`; 0 when it is not an object.
static napi_value OwnValue(Context* self, napi_env env, int status, const TVMFFIAny& value) {
  if (status != 0) return nullptr;
  const bool is_object = value.type_index >= kTVMFFIStaticObjectBegin;
  const uint32_t number = is_object ? Own(self, value.v_obj) : 0;
  if (!is_object || number != 0) return NewNumber(env, number);
  OutOfMemory();
  return nullptr;
}

// readObject(word): makes a value of the address at a word, with a reference to its object.
static napi_value ReadObject(Context* self, napi_env env, uint32_t word) {
  TVMFFIAny* value = ValuesAt(self, word);
  value->type_index = value->v_obj->type_index;
  value->zero_padding = 0;
  library.ObjectIncRef(value->v_obj);
  return OwnValue(self, env, 0, *value);
}

// makeString(word, text): a string as a value.
static napi_value MakeString(Context* self, napi_env env, uint32_t word, Text text) {
  TVMFFIAny* value = ValuesAt(self, word);
  const int status = text.is_lost() ? OutOfMemory() : library.StringFromByteArray(text.bytes(), value);
  return OwnValue(self, env, status, *value);
}

// makeBytes(word, Uint8Array): the same for bytes.
static napi_value MakeBytes(Context* self, napi_env env, uint32_t word, Elements<uint8_t> given) {
  TVMFFIAny* value = ValuesAt(self, word);
  const TVMFFIByteArray bytes{given.length == 0 ? "" : reinterpret_cast<char*>(given.data), given.length};
  const int status = given.is_valid ? library.BytesFromByteArray(&bytes, value)
                                    : Raise("TypeError", "Expected a Uint8Array for bytes");
  return OwnValue(self, env, status, *value);
}

// makeBigInt(word, bigint): an integer that does not fit into 64 bits as a value.
static napi_value MakeBigInt(Context* self, napi_env env, uint32_t word, napi_value given) {
  TVMFFIAny* value = ValuesAt(self, word);
  const int status = MakeInteger(env, given, value);
  return OwnValue(self, env, status, *value);
}

// readTypeKey(pointer): the registered name of the object's type.
static napi_value ReadTypeKey(Context*, napi_env env, Address address) {
  const TVMFFIObject* object = static_cast<TVMFFIObject*>(address.pointer);
  const TVMFFITypeInfo* type = library.GetTypeInfo(object->type_index);
  return type == nullptr ? nullptr : StringOf(env, type->type_key);
}

const NamedFunction kObjectsFunctions[] = {
    {"disown", Binding<DisownObject>::Call},     {"retain", Binding<RetainValue>::Call},
    {"drop", Binding<DropValue>::Call},          {"ownResult", Binding<OwnResult>::Call},
    {"readObject", Binding<ReadObject>::Call},   {"makeString", Binding<MakeString>::Call},
    {"makeBytes", Binding<MakeBytes>::Call},     {"makeBigInt", Binding<MakeBigInt>::Call},
    {"readTypeKey", Binding<ReadTypeKey>::Call}, {}};

}  // namespace dlpack::tvm_ffi
