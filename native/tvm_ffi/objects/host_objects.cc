#include "host_objects.h"

#include <stdlib.h>

#include "../../bindings.h"
#include "../../forked.h"
#include "../text.h"

namespace dlpack::tvm_ffi {

struct HostObject;

// A field of a host object. The library passes its address, which leads to the object.
struct HostField {
  HostObject* object;
  int64_t index;
};

// An object, or a function: the library calls `safe_call` with the object itself, because `cpp_call` is NULL.
struct HostObject {
  TVMFFIObject header;
  TVMFFIFunctionCell cell;  // of a function
  HostValue value;
  uint32_t access;  // the JavaScript function that reads and sets fields
};

static HostField* FieldsOf(HostObject* object) { return reinterpret_cast<HostField*>(object + 1); }

// Run on the thread that drops the last reference. The strong flag releases the contents, the weak flag frees the
// block.
static void Delete(void* self, int flags) {
  if ((flags & kTVMFFIObjectDeleterFlagBitMaskStrong) != 0) ReleaseStorage(static_cast<HostObject*>(self)->value.pin);
  if ((flags & kTVMFFIObjectDeleterFlagBitMaskWeak) != 0) free(BlockOf(self));
}

static int CallHostFunction(void* handle, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
  const HostValue& value = static_cast<const HostObject*>(handle)->value;
  Context* self = is_forked ? nullptr : FindContext(value.serial);
  if (self == nullptr) {
    return Raise("RuntimeError",
                 "Expected a call on the JavaScript thread that made this function, while it runs, but "
                 "received one on another thread, after its end, or in a process forked off from it");
  }
  return RunCallback(self, value.number, args, count, result);
}

static HostObject* Create(Context* self, uint32_t number, double pin, int32_t type, size_t extra = 0) {
  void* block = IsSize(pin) ? calloc(1, sizeof(TVMFFIObjectAllocHeader) + sizeof(HostObject) + extra) : nullptr;
  if (block == nullptr) return nullptr;
  HostObject* object = static_cast<HostObject*>(ObjectIn(block));
  Storage* storage = WrapQueued(self->instance->queue, static_cast<uint64_t>(pin), nullptr, 0);
  if (storage == nullptr) {
    free(block);
    return nullptr;
  }
  object->header = TVMFFIObject{(uint64_t{1} << 32) | 1, type, 0, Delete};
  object->value = HostValue{self->serial, number, storage};
  return object;
}

TVMFFIObject* CreateHostObject(Context* self, uint32_t number, double pin) {
  HostObject* object = Create(self, number, pin, kTVMFFIStaticObjectBegin);
  return object == nullptr ? nullptr : &object->header;
}

static const uint64_t kWeakOne = uint64_t{1} << 32;

void DropWeakReference(TVMFFIObjectHandle handle) {
  TVMFFIObject* object = static_cast<TVMFFIObject*>(handle);
  if (__atomic_fetch_sub(&object->combined_ref_count, kWeakOne, __ATOMIC_ACQ_REL) == kWeakOne) {
    object->deleter(object, kTVMFFIObjectDeleterFlagBitMaskWeak);
  }
}

// Adds a reference, unless native code has released the object. The caller has a weak reference.
static bool Promote(TVMFFIObject* object) {
  uint64_t count = __atomic_load_n(&object->combined_ref_count, __ATOMIC_RELAXED);
  while (static_cast<uint32_t>(count) != 0) {
    if (__atomic_compare_exchange_n(&object->combined_ref_count, &count, count + 1, true, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED)) {
      return true;
    }
  }
  return false;
}

// Calls the JavaScript function of an object with the object, the index of a field, and a value to set.
static int AccessField(const HostField& field, const TVMFFIAny* value, TVMFFIAny* result) {
  Context* self = is_forked ? nullptr : FindContext(field.object->value.serial);
  if (self == nullptr)
    return Raise("RuntimeError", "Expected the JavaScript thread of this object, while it runs, for its fields");
  TVMFFIAny args[3] = {};
  args[0].type_index = field.object->header.type_index;
  args[0].v_obj = &field.object->header;
  args[1] = IntegerValue(field.index);
  if (value != nullptr) args[2] = *value;
  return RunCallback(self, field.object->access, args, value == nullptr ? 2 : 3, result);
}

static int GetHostField(void* place, TVMFFIAny* result) {
  return AccessField(*static_cast<HostField*>(place), nullptr, result);
}

static int SetHostField(void* place, const TVMFFIAny* value) {
  TVMFFIAny result = {};
  const int status = AccessField(*static_cast<HostField*>(place), value, &result);
  if (status == 0) ReleaseValue(result);
  return status;
}

// registerType(key): the number of a new type for JavaScript objects. The caller has checked that there is none.
static napi_value RegisterHostType(Context*, napi_env env, Text key) {
  if (library.TypeGetOrAllocIndex == nullptr || library.TypeRegisterField == nullptr ||
      library.TypeRegisterMethod == nullptr) {
    Raise("RuntimeError", "This libtvm_ffi has no functions to register types");
    return nullptr;
  }
  if (!key.is_lost()) {
    return NewNumber(env, library.TypeGetOrAllocIndex(key.bytes(), -1, 1, 0, 1, kTVMFFIStaticObjectBegin));
  }
  OutOfMemory();
  return nullptr;
}

// registerField(type, index, name): a field of a type for JavaScript objects. False with an error raised.
static bool RegisterHostField(Context*, napi_env, int32_t type, uint32_t index, Text name) {
  TVMFFIFieldInfo field = {};
  field.name = *name.bytes();
  field.doc = field.metadata = TVMFFIByteArray{"", 0};
  field.flags = kTVMFFIFieldFlagBitMaskWritable;
  field.size = sizeof(HostField);
  field.alignment = alignof(HostField);
  field.offset = static_cast<int64_t>(sizeof(HostObject) + sizeof(HostField) * index);
  field.getter = GetHostField;
  field.setter = reinterpret_cast<void*>(SetHostField);
  field.field_static_type_index = -1;
  return (name.is_lost() ? OutOfMemory() : library.TypeRegisterField(type, &field)) == 0;
}

// registerMethod(type, name, pointer): a function as a method of a type. False with an error raised.
static bool RegisterHostMethod(Context*, napi_env, int32_t type, Text name, Address function) {
  TVMFFIMethodInfo method = {};
  method.name = *name.bytes();
  method.doc = method.metadata = TVMFFIByteArray{"", 0};
  method.method.type_index = kTVMFFIFunction;
  method.method.v_obj = static_cast<TVMFFIObject*>(function.pointer);
  return (name.is_lost() ? OutOfMemory() : library.TypeRegisterMethod(type, &method)) == 0;
}

const HostValue* HostValueOf(const Context* self, const TVMFFIObject* object) {
  if (object->deleter != Delete) return nullptr;
  const HostValue* value = &reinterpret_cast<const HostObject*>(object)->value;
  return value->serial == self->serial ? value : nullptr;
}

// A number of a table for the object that is made next, so that nothing fails after an object has taken over a pin.
class ReservedNumber {
 public:
  explicit ReservedNumber(HandleTable<TVMFFIObjectHandle>* table) : table_(table), number_(table->Add(nullptr)) {}
  ~ReservedNumber() {
    TVMFFIObjectHandle none;
    if (!is_used_) table_->Remove(number_, &none);
  }
  ReservedNumber(const ReservedNumber&) = delete;
  ReservedNumber& operator=(const ReservedNumber&) = delete;

  bool is_valid() const { return number_ != 0; }

  uint32_t Use(TVMFFIObjectHandle object) {
    is_used_ = true;
    *table_->Find(number_) = object;
    return number_;
  }

 private:
  HandleTable<TVMFFIObjectHandle>* table_;
  uint32_t number_;
  bool is_used_ = false;
};

// Puts a new object into the table: NULL raises an error. Only a new object takes over the pin.
static void Give(HostRequest* request, ReservedNumber* reference, HostObject* object) {
  request->status = object == nullptr ? OutOfMemory() : 0;
  if (object == nullptr) return;
  request->object = reinterpret_cast<uint64_t>(object);
  request->reference = reference->Use(object);
}

// A native function that calls a JavaScript function.
static void MakeHostFunction(Context* self, HostRequest* request) {
  ReservedNumber reference(&self->table);
  HostObject* object = reference.is_valid() ? Create(self, request->number, request->pin, kTVMFFIFunction) : nullptr;
  if (object != nullptr) object->cell.safe_call = CallHostFunction;
  Give(request, &reference, object);
}

// An object that native code can only hold and pass on.
static void MakeHostObject(Context* self, HostRequest* request) {
  ReservedNumber reference(&self->table);
  const int32_t type = kTVMFFIStaticObjectBegin;
  Give(request, &reference, reference.is_valid() ? Create(self, request->number, request->pin, type) : nullptr);
}

// An object of a type that RegisterHostType made, and a weak reference through which JavaScript finds it again.
static void MakeTypedObject(Context* self, HostRequest* request) {
  ReservedNumber reference(&self->table), weak(&self->weak_table);
  const size_t room = sizeof(HostField) * request->fields;
  const bool is_possible = reference.is_valid() && weak.is_valid();
  HostObject* object = is_possible ? Create(self, request->number, request->pin, request->type, room) : nullptr;
  if (object != nullptr) {
    object->access = request->access;
    for (uint32_t i = 0; i < request->fields; ++i) FieldsOf(object)[i] = HostField{object, i};
    object->header.combined_ref_count += kWeakOne;  // no other thread has the object yet
    request->weak = weak.Use(object);
  }
  Give(request, &reference, object);
}

// Adds a reference to the object of a weak reference; 0 when native code has released it.
static void FindHostObject(Context* self, HostRequest* request) {
  TVMFFIObjectHandle* found = self->weak_table.Find(request->weak);
  TVMFFIObject* object = found == nullptr ? nullptr : static_cast<TVMFFIObject*>(*found);
  if (object != nullptr && !Promote(object)) object = nullptr;
  request->object = reinterpret_cast<uint64_t>(object);
  request->reference = Own(self, object);
  request->status = object != nullptr && request->reference == 0 ? OutOfMemory() : 0;
}

// dropHostObject(weak): drops a weak reference.
static void DropHostObject(Context* self, napi_env, uint32_t weak) {
  TVMFFIObjectHandle object;
  if (self->weak_table.Remove(weak, &object)) DropWeakReference(object);
}

const NamedFunction kHostObjectsFunctions[] = {{"makeHostFunction", Binding<MakeHostFunction>::Call},
                                               {"makeHostObject", Binding<MakeHostObject>::Call},
                                               {"makeTypedObject", Binding<MakeTypedObject>::Call},
                                               {"findHostObject", Binding<FindHostObject>::Call},
                                               {"dropHostObject", Binding<DropHostObject>::Call},
                                               {"registerType", Binding<RegisterHostType>::Call},
                                               {"registerField", Binding<RegisterHostField>::Call},
                                               {"registerMethod", Binding<RegisterHostMethod>::Call},
                                               {}};

}  // namespace dlpack::tvm_ffi
