#include "host_object.h"

#include <stdlib.h>

#include "../bindings.h"
#include "../forked.h"
#include "text.h"

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
  if ((flags & kTVMFFIObjectDeleterFlagBitMaskWeak) != 0) free(self);
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
  HostObject* object = static_cast<HostObject*>(calloc(1, sizeof(HostObject) + extra));
  if (object == nullptr) return nullptr;
  Storage* storage = WrapQueued(self->instance->queue, static_cast<uint64_t>(pin), nullptr, 0);
  if (storage == nullptr) {
    free(object);
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

// An object of a type that RegisterHostType made. `access` is the number of the function that reads and sets fields.
static TVMFFIObject* CreateTypedObject(Context* self, const HostRequest& request) {
  HostObject* object = Create(self, request.number, request.pin, request.type, sizeof(HostField) * request.fields);
  if (object == nullptr) return nullptr;
  object->access = request.access;
  for (uint32_t i = 0; i < request.fields; ++i) FieldsOf(object)[i] = HostField{object, i};
  return &object->header;
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

// registerType(key): a new type for JavaScript objects. The caller has checked that there is none.
static void RegisterHostType(Context*, TypeRequest* request, napi_env env, napi_value value) {
  const Text key(env, value);
  const bool is_possible = library.TypeGetOrAllocIndex != nullptr && library.TypeRegisterField != nullptr &&
                           library.TypeRegisterMethod != nullptr;
  request->status = !is_possible    ? Raise("RuntimeError", "This libtvm_ffi has no functions to register types")
                    : key.is_lost() ? OutOfMemory()
                                    : 0;
  if (request->status != 0) return;
  request->type = library.TypeGetOrAllocIndex(key.bytes(), -1, 1, 0, 1, kTVMFFIStaticObjectBegin);
}

// registerField(name): the field number `index` of a type for JavaScript objects.
static void RegisterHostField(Context*, FieldRequest* request, napi_env env, napi_value value) {
  const Text name(env, value);
  TVMFFIFieldInfo field = {};
  field.name = *name.bytes();
  field.doc = field.metadata = TVMFFIByteArray{"", 0};
  field.flags = kTVMFFIFieldFlagBitMaskWritable;
  field.size = sizeof(HostField);
  field.alignment = alignof(HostField);
  field.offset = static_cast<int64_t>(sizeof(HostObject) + sizeof(HostField) * request->index);
  field.getter = GetHostField;
  field.setter = reinterpret_cast<void*>(SetHostField);
  field.field_static_type_index = -1;
  request->status = name.is_lost() ? OutOfMemory() : library.TypeRegisterField(request->type, &field);
}

// registerMethod(name): a function as a method of a type.
static void RegisterHostMethod(Context*, FieldRequest* request, napi_env env, napi_value value) {
  const Text name(env, value);
  TVMFFIMethodInfo method = {};
  method.name = *name.bytes();
  method.doc = method.metadata = TVMFFIByteArray{"", 0};
  method.method.type_index = kTVMFFIFunction;
  method.method.v_obj = static_cast<TVMFFIObject*>(Pointer(request->object));
  request->status = name.is_lost() ? OutOfMemory() : library.TypeRegisterMethod(request->type, &method);
}

const HostValue* HostValueOf(const Context* self, const TVMFFIObject* object) {
  if (object->deleter != Delete) return nullptr;
  const HostValue* value = &reinterpret_cast<const HostObject*>(object)->value;
  return value->serial == self->serial ? value : nullptr;
}

static void Finish(Context* self, HostRequest* request, TVMFFIObject* object) {
  if (object != nullptr) request->pin = 0;  // the object owns the pin now
  request->object = reinterpret_cast<uint64_t>(object);
  request->reference = Own(self, object);
  request->status = request->reference == 0 ? OutOfMemory() : 0;
}

// A native function that calls a JavaScript function.
static void MakeHostFunction(Context* self, HostRequest* request) {
  HostObject* function = Create(self, request->number, request->pin, kTVMFFIFunction);
  if (function != nullptr) function->cell.safe_call = CallHostFunction;
  Finish(self, request, function == nullptr ? nullptr : &function->header);
}

// An object that native code can only hold and pass on.
static void MakeHostObject(Context* self, HostRequest* request) {
  Finish(self, request, CreateHostObject(self, request->number, request->pin));
}

// An object of a registered class, and a weak reference through which JavaScript finds it again.
static void MakeTypedObject(Context* self, HostRequest* request) {
  TVMFFIObject* object = CreateTypedObject(self, *request);
  request->weak = object == nullptr ? 0 : self->weak_table.Add(object);
  if (request->weak != 0) {
    object->combined_ref_count += kWeakOne;  // no other thread has the object yet
  } else if (object != nullptr) {
    request->pin = 0;  // the object releases the pin
    library.ObjectDecRef(object);
    object = nullptr;
  }
  Finish(self, request, object);
  TVMFFIObjectHandle lost;
  if (request->status != 0 && self->weak_table.Remove(request->weak, &lost)) DropWeakReference(lost);
}

static void FindHostObject(Context* self, HostRequest* request) {
  TVMFFIObjectHandle* found = self->weak_table.Find(request->weak);
  TVMFFIObject* object = found == nullptr ? nullptr : static_cast<TVMFFIObject*>(*found);
  if (object != nullptr && !Promote(object)) object = nullptr;
  request->status = 0;
  OwnIn(self, object, request);
}

static void DropHostObject(Context* self, ReferenceRequest* request) {
  TVMFFIObjectHandle object;
  if (self->weak_table.Remove(request->reference, &object)) DropWeakReference(object);
}

const NamedFunction kHostObjectFunctions[] = {{"makeHostFunction", Binding<MakeHostFunction>::Call},
                                              {"makeHostObject", Binding<MakeHostObject>::Call},
                                              {"makeTypedObject", Binding<MakeTypedObject>::Call},
                                              {"findHostObject", Binding<FindHostObject>::Call},
                                              {"dropHostObject", Binding<DropHostObject>::Call},
                                              {"registerType", Binding<RegisterHostType>::Call},
                                              {"registerField", Binding<RegisterHostField>::Call},
                                              {"registerMethod", Binding<RegisterHostMethod>::Call},
                                              {}};

}  // namespace dlpack::tvm_ffi
