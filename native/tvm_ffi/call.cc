// Calls of TVM-FFI functions, the path that must be fastest.
#include <stdlib.h>
#include <string.h>

#include "../bindings.h"
#include "../managed_tensor.h"
#include "context.h"
#include "host_object.h"
#include "tensor_object.h"

namespace dlpack::tvm_ffi {

// NULL, with an error raised, for a value that JavaScript has no room for.
static napi_value RefuseLong(napi_env env, int32_t* status) {
  ClearException(env);
  *status = Raise("OverflowError", "This value is too long for JavaScript, or there is no memory for it");
  return nullptr;
}

// Most strings are plain ASCII, which the JavaScript engine takes without decoding.
static napi_value TakeText(napi_env env, const TVMFFIByteArray& bytes, int32_t* status) {
  bool is_ascii = true;
  for (size_t i = 0; i < bytes.size && is_ascii; ++i) is_ascii = static_cast<signed char>(bytes.data[i]) >= 0;
  napi_value value = nullptr;
  const napi_status made = is_ascii ? napi_create_string_latin1(env, bytes.data, bytes.size, &value)
                                    : napi_create_string_utf8(env, bytes.data, bytes.size, &value);
  return made == napi_ok ? value : RefuseLong(env, status);
}

static napi_value TakeBytes(napi_env env, const TVMFFIByteArray& bytes, int32_t* status) {
  napi_value buffer, value = nullptr;
  void* data = nullptr;
  if (napi_create_arraybuffer(env, bytes.size, &data, &buffer) != napi_ok) return RefuseLong(env, status);
  for (size_t i = 0; i < bytes.size; ++i) static_cast<char*>(data)[i] = bytes.data[i];
  napi_create_typedarray(env, napi_uint8_array, bytes.size, buffer, 0, &value);
  return value;
}

// Any thread.
static void DestroyTensorReference(Storage* self) {
  TVMFFIObjectHandle object = self->owner;
  FreeStorage(self);
  Count(counts.imports, -1);
  if (object != nullptr) library.ObjectDecRef(object);
}

// Pushes a tensor for JavaScript above all slots of the wire. Without a storage the tensor was refused. Returns 0, or
// -1 with an error raised.
static int PushTensor(Context* self, Storage* storage, Status status, const Descriptor& descriptor) {
  TensorResult* result = PushMessage<TensorResult>(self->instance);
  if (result != nullptr) {
    result->status = GiveTensor(self->instance, storage, status, descriptor, &result->tensor, false);
    return 0;
  }
  if (storage != nullptr) ReleaseStorage(storage);
  return RaiseFull();
}

// As PushTensor.
static int TakeTensor(Context* self, TVMFFIObject* object, bool is_owned) {
  Descriptor descriptor;
  Status status = kOk;
  const TensorObject* own = AsOwnTensor(object);
  Storage* storage;
  if (own != nullptr) {
    storage = DescribeTensorObject(*own, &descriptor);
    if (is_owned) library.ObjectDecRef(object);
  } else {
    if (!is_owned) library.ObjectIncRef(object);
    storage = WrapTensor(*CellOf<DLTensor>(object), 0, &descriptor, &status, nullptr, DestroyTensorReference, object);
    if (storage == nullptr) library.ObjectDecRef(object);
  }
  return PushTensor(self, storage, status, descriptor);
}

// A tensor that the caller of a callback keeps alive until the callback returns. As PushTensor.
static int TakeView(Context* self, const DLTensor& tensor) {
  Descriptor descriptor;
  Status status;
  Storage* storage = WrapTensor(tensor, 0, &descriptor, &status, nullptr, DestroyTensorReference, nullptr);
  return PushTensor(self, storage, status, descriptor);
}

napi_value TakeObject(Context* self, napi_env env, TVMFFIAny* any, bool is_owned, uint32_t* reference,
                      int32_t* status) {
  napi_value value = nullptr;
  TVMFFIObject* object = any->v_obj;
  switch (any->type_index) {
    case kTVMFFIRawStr: return TakeText(env, TVMFFIByteArray{any->v_c_str, strlen(any->v_c_str)}, status);
    case kTVMFFIByteArrayPtr: return TakeBytes(env, *static_cast<TVMFFIByteArray*>(any->v_ptr), status);
    case kTVMFFIObjectRValueRef: {
      TVMFFIAny moved = {};
      library.AnyViewToOwnedAny(any, &moved);
      *any = moved;
      return TakeObject(self, env, any, true, reference, status);
    }
    case kTVMFFIStr: value = TakeText(env, *CellOf<TVMFFIByteArray>(object), status); break;
    case kTVMFFIBytes: value = TakeBytes(env, *CellOf<TVMFFIByteArray>(object), status); break;
    case kTVMFFITensor: *status = TakeTensor(self, object, is_owned); return nullptr;
    case kTVMFFIDLTensorPtr: *status = TakeView(self, *static_cast<DLTensor*>(any->v_ptr)); return nullptr;
    default:
      if (any->type_index < kTVMFFIStaticObjectBegin) return nullptr;
      if (const HostValue* host = HostValueOf(self, object)) {
        napi_create_uint32(env, host->number, &value);
        break;
      }
      // JavaScript may know an object that others hold, too. An object that only this reference holds is new to it.
      if (!is_owned || static_cast<uint32_t>(__atomic_load_n(&object->combined_ref_count, __ATOMIC_RELAXED)) > 1) {
        napi_get_boolean(env, true, &value);
      }
      if (!is_owned) library.ObjectIncRef(object);
      *reference = Own(self, object);
      if (*reference == 0) *status = OutOfMemory();
      return value;
  }
  if (is_owned) library.ObjectDecRef(object);
  return value;
}

// The position, from 1 on, of the argument that is the result. JavaScript has a tensor for the argument, so the
// result's reference is released. 0 when the result is not an argument.
static uint32_t FindArgument(const TVMFFIAny* args, int32_t count, const TVMFFIAny& result) {
  for (int32_t i = 0; i < count; ++i) {
    if (args[i].v_obj != result.v_obj || args[i].type_index != kTVMFFITensor) continue;
    library.ObjectDecRef(result.v_obj);
    return static_cast<uint32_t>(i) + 1;
  }
  return 0;
}

// The most elements that GiveElements copies.
static const int64_t kMostElements = 64;

// Copies the elements of a short array above all slots of the wire, without taking a slot, and releases the array. The
// payload of the result becomes the number of elements. False when the array stays as it is: it is long, an element is
// an object, or the wire is full.
static bool GiveElements(const Context* self, TVMFFIAny* result) {
  TVMFFIObject* object = result->v_obj;
  const TVMFFISeqCell* cell = CellOf<TVMFFISeqCell>(object);
  const int64_t size = cell->size;
  const uint32_t top = reinterpret_cast<const WireHeader*>(self->words)->top;
  if (size > kMostElements || top > kWireWords - 2 * kMostElements) return false;
  const TVMFFIAny* elements = static_cast<const TVMFFIAny*>(cell->data);
  TVMFFIAny* out = reinterpret_cast<TVMFFIAny*>(self->words + top);
  for (int64_t i = 0; i < size; ++i) {
    if (elements[i].type_index >= kTVMFFIStaticObjectBegin) return false;
    out[i] = elements[i];
  }
  result->v_float64 = static_cast<double>(size);
  library.ObjectDecRef(object);
  return true;
}

thread_local Context* allocating = nullptr;

// `may_copy`: a result that is a short array of plain values is copied, and `reference` is then 0.
static inline napi_value Call(Context* self, napi_env env, CallRequest* request, const TVMFFIAny* args, int32_t count,
                              TVMFFIAny* result, bool may_copy) {
  result->type_index = kTVMFFINone;
  result->zero_padding = 0;
  result->v_int64 = 0;
  void* function = Pointer(request->function);

  // The allocator and the stream belong to the thread and to our caller, so they are always restored.
  const DLPackManagedTensorAllocator own = self->allocator;
  DLPackManagedTensorAllocator allocator = nullptr;
  Context* outer = nullptr;
  if (own != nullptr) {
    library.EnvSetDLPackManagedTensorAllocator(own, 0, &allocator);
    outer = allocating;
    allocating = self;
  }
  const int32_t device_type = request->device_type;
  const int32_t device_id = request->device_id;
  TVMFFIStreamHandle stream = nullptr;
  if (device_type != 0) library.EnvSetStream(device_type, device_id, Pointer(request->stream), &stream);

  const int status = CellOf<TVMFFIFunctionCell>(function)->safe_call(function, args, count, result);

  if (device_type != 0) library.EnvSetStream(device_type, device_id, stream, nullptr);
  if (own != nullptr) {
    library.EnvSetDLPackManagedTensorAllocator(allocator, 0, nullptr);
    allocating = outer;
  }
  request->status = status;
  if (status != 0 || result->type_index < kTVMFFIStaticObjectBegin) return nullptr;
  if (result->type_index == kTVMFFITensor) {
    request->argument = FindArgument(args, count, *result);
    if (request->argument != 0) return nullptr;
  } else if (may_copy && result->type_index == kTVMFFIArray && GiveElements(self, result)) {
    request->reference = 0;
    return nullptr;
  }
  return TakeObject(self, env, result, true, &request->reference, &request->status);
}

// The type of a value whose payload is the word of a DescribedTensor, as a double. The ABI has no such type.
static const int32_t kDescribed = -2;

// The objects of described tensors in native memory, for the length of a call. A callee that keeps one adds a
// reference.
class DescribedTensors {
 public:
  explicit DescribedTensors(Context* self) : self_(self), count_(0) {}
  ~DescribedTensors() {
    while (count_ > 0) {
      TensorObject* object = objects_[--count_];
      if (!DeleteSoleReference(object)) library.ObjectDecRef(object);
    }
  }
  // Replaces all described values. The word of a tensor that was refused, which has its status, or 0.
  uint32_t Replace(TVMFFIAny* args, int32_t count) {
    for (int32_t i = 0; i < count; ++i) {
      if (args[i].type_index != kDescribed) continue;
      const double payload = args[i].v_float64;
      const uint32_t word = payload >= 0 && payload < kWireWords ? static_cast<uint32_t>(payload) : kWireWords - 1;
      DescribedTensor* described = MessageAt<DescribedTensor>(self_->instance, word);
      described->status = ReplaceOne(described, &args[i]);
      if (described->status != kOk) return word;
    }
    return 0;
  }
  bool Has(const TVMFFIObject* object) const {
    for (uint32_t i = 0; i < count_; ++i) {
      if (&objects_[i]->header == object) return true;
    }
    return false;
  }

 private:
  Status ReplaceOne(DescribedTensor* described, TVMFFIAny* value) {
    Storage* storage = nullptr;
    uint64_t nbytes;
    if (described->address != 0) {
      if (!IsSize(described->nbytes)) return kTooLarge;
      nbytes = static_cast<uint64_t>(described->nbytes);
    } else {
      storage = GetHeld(self_->instance, described->tensor.handle);
      if (storage == nullptr) return kConsumed;
      nbytes = storage->nbytes;
    }
    const Descriptor* descriptor;
    const Status status = ReadInside(self_->instance, &described->tensor, nbytes, &descriptor);
    if (status != kOk) return status;
    value->zero_padding = 0;
    if (storage == nullptr) {
      const DLTensor view = TensorOver(*descriptor, reinterpret_cast<void*>(described->address),
                                       reinterpret_cast<int64_t*>(&described->tensor + 1));
      static_assert(sizeof(view) == sizeof(described->view), "the message has room for a DLTensor");
      memcpy(described->view, &view, sizeof(view));
      value->type_index = kTVMFFIDLTensorPtr;
      value->v_ptr = described->view;
      return kOk;
    }
    TensorObject* object =
        count_ == kMost ? nullptr : CreateTensorObject(*descriptor, storage->data, storage, self_->instance->thread);
    if (object == nullptr) return kOutOfMemory;
    objects_[count_++] = object;
    value->type_index = described->is_view != 0 ? kTVMFFIDLTensorPtr : kTVMFFITensor;
    value->v_ptr = described->is_view != 0 ? static_cast<void*>(&object->tensor) : object;
    return kOk;
  }

  static const uint32_t kMost = 256;  // JavaScript passes more arguments in a batch
  Context* self_;
  uint32_t count_;
  TensorObject* objects_[kMost];
};

// A call with described tensors among its arguments.
static napi_value CallDescribed(napi_env env, napi_callback_info info) {
  Context* self = ContextOf(env, info);
  CallRequest* request = MessageOf<CallRequest>(self);
  TVMFFIAny* args = ValuesOf(request);
  const int32_t count = request->count;
  DescribedTensors tensors(self);
  request->reference = 0;
  request->status = -1;
  request->described = tensors.Replace(args, count);
  if (request->described != 0) return nullptr;
  TVMFFIAny* result = args + count;
  napi_value value = Call(self, env, request, args, count, result, true);
  // The result is an argument whose object ends now, and JavaScript may have to take it.
  if (request->status == 0 && result->type_index == kTVMFFITensor && request->argument != 0 &&
      tensors.Has(result->v_obj)) {
    library.ObjectIncRef(result->v_obj);
    request->reference = Own(self, result->v_obj);
    if (request->reference == 0) request->status = OutOfMemory();
  }
  return value;
}

static napi_value CallFunction(napi_env env, napi_callback_info info) {
  Context* self = ContextOf(env, info);
  CallRequest* request = MessageOf<CallRequest>(self);
  TVMFFIAny* args = ValuesOf(request);
  return Call(self, env, request, args, request->count, args + request->count, true);
}

// The same with the arguments of a batch, or none. The result is the first value.
static napi_value CallWithBatch(napi_env env, napi_callback_info info) {
  Context* self = ContextOf(env, info);
  CallRequest* request = MessageOf<CallRequest>(self);
  const Batch* batch = AsBatch(OwnedAt(self, request->batch));
  const TVMFFIAny* args = batch == nullptr ? nullptr : batch->values;
  return Call(self, env, request, args, batch == nullptr ? 0 : batch->count, ValuesOf(request), false);
}

static napi_value CallFunctionLocked(napi_env env, napi_callback_info info) {
  TableScope scope;
  return CallFunction(env, info);
}

static napi_value TakeValue(napi_env env, napi_callback_info info) {
  Context* self = ContextOf(env, info);
  ValueRequest* request = MessageOf<ValueRequest>(self);
  request->status = 0;
  return TakeObject(self, env, ValuesAt(self, request->value), false, &request->reference, &request->status);
}

const NamedFunction kCallFunctions[] = {{"call", CallFunction},
                                        {"callLocked", CallFunctionLocked},
                                        {"callDescribed", CallDescribed},
                                        {"callWithBatch", CallWithBatch},
                                        {"take", TakeValue},
                                        {}};

}  // namespace dlpack::tvm_ffi
