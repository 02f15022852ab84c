// Calls of TVM-FFI functions, the path that must be fastest.
#include <stdlib.h>
#include <string.h>

#include "../../bindings.h"
#include "../../exchange/managed_tensor.h"
#include "../codec/big_integers.h"
#include "../codec/tensor_arguments.h"
#include "../context.h"
#include "../objects/host_objects.h"

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
  Count(Counter::kImports, -1);
  if (object != nullptr) library.ObjectDecRef(object);
}

// Pushes a tensor for JavaScript above all slots of the wire. Without a storage the tensor was refused. Returns 0, or
// -1 with an error raised.
static int PushTensor(Context* self, Storage* storage, Status status, const Imported& imported) {
  TensorResult* result = PushMessage<TensorResult>(self->instance);
  if (result != nullptr) {
    result->status = GiveTensor(self->instance, storage, status, imported, &result->tensor);
    return 0;
  }
  if (storage != nullptr) ReleaseStorage(storage);
  return RaiseFull();
}

// As PushTensor.
static int PushTensorOf(Context* self, TVMFFIObject* object, bool is_owned) {
  Imported imported;
  Status status = kOk;
  const TensorObject* own = AsOwnTensor(object);
  Storage* storage;
  if (own != nullptr) {
    storage = DescribeTensorObject(*own, &imported.room, &imported.tensor);
    if (is_owned) library.ObjectDecRef(object);
  } else {
    if (!is_owned) library.ObjectIncRef(object);
    storage = WrapTensor(*CellOf<DLTensor>(object), 0, &self->instance->layouts, &imported, &status,
                         DestroyTensorReference, object);
    if (storage == nullptr) library.ObjectDecRef(object);
  }
  return PushTensor(self, storage, status, imported);
}

// A tensor that the caller of a callback keeps alive until the callback returns. As PushTensor.
static int TakeView(Context* self, const DLTensor& tensor) {
  Imported imported;
  Status status;
  Storage* storage =
      WrapTensor(tensor, 0, &self->instance->layouts, &imported, &status, DestroyTensorReference, nullptr);
  return PushTensor(self, storage, status, imported);
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
    case kTVMFFIBigInt:
      value = TakeInteger(env, *any);
      if (value == nullptr) RefuseLong(env, status);
      break;
    case kTVMFFITensor: *status = PushTensorOf(self, object, is_owned); return nullptr;
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

// `tensors` are those among the arguments.
static inline napi_value Call(Context* self, napi_env env, CallRequest* request, const TVMFFIAny* args, int32_t count,
                              const TensorArguments& tensors, TVMFFIAny* result) {
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
    request->held = tensors.HeldAs(result->v_obj);
    if (request->argument != 0) return nullptr;
  } else if (result->type_index == kTVMFFIArray && request->mode != static_cast<uint32_t>(CallMode::kForView) &&
             GiveElements(self, result)) {
    request->reference = 0;
    return nullptr;
  }
  return TakeObject(self, env, result, true, &request->reference, &request->status);
}

static napi_value CallOnWire(Context* self, napi_env env, CallRequest* request) {
  TVMFFIAny* args = ValuesOf(request);
  const int32_t count = request->count;
  TensorArguments tensors(self);
  request->status = tensors.Read(args, count);
  return request->status == 0 ? Call(self, env, request, args, count, tensors, args + count) : nullptr;
}

static napi_value CallFunction(napi_env env, napi_callback_info info) {
  Context* self = ContextOf(env, info);
  CallRequest* request = MessageOf<CallRequest>(self);
  if (request->mode != static_cast<uint32_t>(CallMode::kLocked)) return CallOnWire(self, env, request);
  TableScope scope;
  return CallOnWire(self, env, request);
}

// The same with the arguments of a batch. The result is the first value.
static napi_value CallWithBatch(napi_env env, napi_callback_info info) {
  Context* self = ContextOf(env, info);
  CallRequest* request = MessageOf<CallRequest>(self);
  const Batch* batch = AsBatch(OwnedAt(self, request->batch));
  const TVMFFIAny* args = batch == nullptr ? nullptr : batch->values;
  return Call(self, env, request, args, batch == nullptr ? 0 : batch->count, TensorArguments(self), ValuesOf(request));
}

static napi_value TakeValue(napi_env env, napi_callback_info info) {
  Context* self = ContextOf(env, info);
  ValueRequest* request = MessageOf<ValueRequest>(self);
  request->status = 0;
  return TakeObject(self, env, ValuesAt(self, request->value), false, &request->reference, &request->status);
}

const NamedFunction kCallsFunctions[] = {
    {"call", CallFunction}, {"callWithBatch", CallWithBatch}, {"take", TakeValue}, {}};

}  // namespace dlpack::tvm_ffi
