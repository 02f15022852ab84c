// A second addon, built separately against a real dlpack.h: a producer and a consumer that use only the published
// header of this package. It counts deletions, makes tensors that break the rules, and calls deleters from threads.
#include <dlpack/dlpack.h>
#include <dlpack_napi.h>
#include <stdint.h>
#include <string.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace {

std::atomic<int64_t> deletions{0};
std::atomic<uint32_t> deleted_dtype{0};  // of the last tensor that was deleted

// The data that one test tensor owns.
struct Context {
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  std::vector<char> memory;
};

template <class Managed>
void Delete(Managed* self) {
  const DLDataType& dtype = self->dl_tensor.dtype;
  deleted_dtype.store(dtype.code | uint32_t{dtype.bits} << 8 | uint32_t{dtype.lanes} << 16);
  delete static_cast<Context*>(self->manager_ctx);
  delete self;
  deletions.fetch_add(1);
}

double GetNumber(napi_env env, napi_value object, const char* name, double fallback) {
  bool has = false;
  napi_value value;
  double result = fallback;
  napi_valuetype type;
  if (napi_has_named_property(env, object, name, &has) == napi_ok && has &&
      napi_get_named_property(env, object, name, &value) == napi_ok && napi_typeof(env, value, &type) == napi_ok) {
    if (type == napi_number) napi_get_value_double(env, value, &result);
    if (type == napi_boolean) {
      bool flag = false;
      napi_get_value_bool(env, value, &flag);
      result = flag;
    }
  }
  return result;
}

// Reads an array of bigints, because tests use lengths that a double cannot hold.
bool GetIntegers(napi_env env, napi_value object, const char* name, std::vector<int64_t>* out) {
  bool has = false;
  napi_value array;
  if (napi_has_named_property(env, object, name, &has) != napi_ok || !has ||
      napi_get_named_property(env, object, name, &array) != napi_ok) {
    return false;
  }
  bool is_array = false;
  napi_is_array(env, array, &is_array);
  if (!is_array) return false;
  uint32_t length = 0;
  napi_get_array_length(env, array, &length);
  for (uint32_t i = 0; i < length; ++i) {
    napi_value element;
    int64_t value = 0;
    bool lossless;
    napi_get_element(env, array, i, &element);
    napi_get_value_bigint_int64(env, element, &value, &lossless);
    out->push_back(value);
  }
  return true;
}

napi_value Address(napi_env env, const void* pointer) {
  napi_value result;
  napi_create_bigint_uint64(env, reinterpret_cast<uint64_t>(pointer), &result);
  return result;
}

void* Pointer(napi_env env, napi_value value) {
  uint64_t address = 0;
  bool lossless;
  napi_get_value_bigint_uint64(env, value, &address, &lossless);
  return reinterpret_cast<void*>(address);
}

void SetHeader(napi_env, napi_value, DLManagedTensor*) {}
void SetHeader(napi_env env, napi_value options, DLManagedTensorVersioned* managed) {
  managed->version.major = static_cast<uint32_t>(GetNumber(env, options, "major", DLPACK_MAJOR_VERSION));
  managed->version.minor = static_cast<uint32_t>(GetNumber(env, options, "minor", DLPACK_MINOR_VERSION));
  managed->flags = static_cast<uint64_t>(GetNumber(env, options, "flags", 0));
}

// A tensor from { shape, strides, code, bits, lanes, device, deviceId, byteOffset, nbytes, misalign, flags, ... },
// without any checks, so that tests can make invalid tensors. Memory byte i holds i.
template <class Managed>
Managed* Make(napi_env env, napi_value options) {
  Managed* managed = new Managed();
  Context* context = new Context();
  SetHeader(env, options, managed);
  managed->manager_ctx = context;
  managed->deleter = GetNumber(env, options, "nullDeleter", 0) != 0 ? nullptr : Delete<Managed>;
  DLTensor& tensor = managed->dl_tensor;
  GetIntegers(env, options, "shape", &context->shape);
  const bool strided = GetIntegers(env, options, "strides", &context->strides);
  context->memory.resize(static_cast<size_t>(GetNumber(env, options, "nbytes", 64)) + 64);
  for (size_t i = 0; i < context->memory.size(); ++i) context->memory[i] = static_cast<char>(i);
  char* data = context->memory.data();
  data += (64 - reinterpret_cast<uintptr_t>(data) % 64) % 64;
  for (size_t i = 0; data + i < context->memory.data() + context->memory.size(); ++i) data[i] = static_cast<char>(i);
  data += static_cast<ptrdiff_t>(GetNumber(env, options, "misalign", 0));
  tensor.data = GetNumber(env, options, "nullData", 0) != 0 ? nullptr : data;
  tensor.device.device_type = static_cast<DLDeviceType>(GetNumber(env, options, "device", kDLCPU));
  tensor.device.device_id = static_cast<int32_t>(GetNumber(env, options, "deviceId", 0));
  tensor.ndim = static_cast<int32_t>(GetNumber(env, options, "ndim", static_cast<double>(context->shape.size())));
  tensor.dtype.code = static_cast<uint8_t>(GetNumber(env, options, "code", kDLFloat));
  tensor.dtype.bits = static_cast<uint8_t>(GetNumber(env, options, "bits", 32));
  tensor.dtype.lanes = static_cast<uint16_t>(GetNumber(env, options, "lanes", 1));
  tensor.shape = GetNumber(env, options, "nullShape", 0) != 0 ? nullptr : context->shape.data();
  tensor.strides = strided ? context->strides.data() : nullptr;
  tensor.byte_offset = static_cast<uint64_t>(GetNumber(env, options, "byteOffset", 0));
  return managed;
}

napi_value Argument(napi_env env, napi_callback_info info, napi_value* second = nullptr) {
  napi_value arguments[2];
  size_t count = 2;
  napi_get_cb_info(env, info, &count, arguments, nullptr, nullptr);
  if (second != nullptr) *second = arguments[1];
  return arguments[0];
}

napi_value MakeVersioned(napi_env env, napi_callback_info info) {
  return Address(env, Make<DLManagedTensorVersioned>(env, Argument(env, info)));
}

napi_value MakeLegacy(napi_env env, napi_callback_info info) {
  return Address(env, Make<DLManagedTensor>(env, Argument(env, info)));
}

napi_value MakeExternal(napi_env env, napi_callback_info info) {
  DLManagedTensorVersioned* managed = Make<DLManagedTensorVersioned>(env, Argument(env, info));
  napi_value result = nullptr;
  if (dlpack_napi_create(env, managed, &result) != napi_ok) napi_throw_error(env, nullptr, "dlpack_napi_create failed");
  return result;
}

// makeLean(): a 2 by 3 float32 tensor in one allocation. For benchmarks, so that the producer adds little to the cost.
struct Lean {
  DLManagedTensorVersioned managed;
  int64_t dims[4];
  float data[8];
};

void DeleteLean(DLManagedTensorVersioned* self) {
  free(self);
  deletions.fetch_add(1, std::memory_order_relaxed);
}

napi_value MakeLean(napi_env env, napi_callback_info) {
  Lean* lean = static_cast<Lean*>(calloc(1, sizeof(Lean)));
  lean->managed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  lean->managed.deleter = DeleteLean;
  lean->dims[0] = 2;
  lean->dims[1] = lean->dims[2] = 3;
  lean->dims[3] = 1;
  DLTensor& tensor = lean->managed.dl_tensor;
  tensor.data = lean->data;
  tensor.device = {kDLCPU, 0};
  tensor.ndim = 2;
  tensor.dtype = {kDLFloat, 32, 1};
  tensor.shape = lean->dims;
  tensor.strides = lean->dims + 2;
  return Address(env, lean);
}

// deleteAll(addresses: BigUint64Array): calls every deleter, from C.
napi_value DeleteAll(napi_env env, napi_callback_info info) {
  napi_value array = Argument(env, info);
  void* data = nullptr;
  size_t length = 0;
  napi_typedarray_type type;
  napi_get_typedarray_info(env, array, &type, &length, &data, nullptr, nullptr);
  for (size_t i = 0; i < length; ++i) {
    auto* managed = reinterpret_cast<DLManagedTensorVersioned*>(static_cast<uint64_t*>(data)[i]);
    managed->deleter(managed);
  }
  return nullptr;
}

// makeBlock(nbytes, isTouched): bytes of zero. The system commits the pages of an untouched block only when they are
// used.
struct Block {
  DLManagedTensorVersioned managed;
  int64_t length;
  int64_t stride;
};

void DeleteBlock(DLManagedTensorVersioned* self) {
  free(self->dl_tensor.data);
  free(self);
}

napi_value MakeBlock(napi_env env, napi_callback_info info) {
  napi_value second;
  double nbytes = 0;
  bool is_touched = false;
  napi_get_value_double(env, Argument(env, info, &second), &nbytes);
  napi_get_value_bool(env, second, &is_touched);
  Block* block = static_cast<Block*>(calloc(1, sizeof(Block)));
  const size_t size = static_cast<size_t>(nbytes);
  char* data = static_cast<char*>(calloc(1, size));
  for (size_t i = 0; is_touched && i < size; i += 4096) *const_cast<volatile char*>(data + i) = 1;
  block->length = static_cast<int64_t>(nbytes);
  block->stride = 1;
  block->managed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  block->managed.deleter = DeleteBlock;
  DLTensor& tensor = block->managed.dl_tensor;
  tensor.data = data;
  tensor.device = {kDLCPU, 0};
  tensor.ndim = 1;
  tensor.dtype = {kDLUInt, 8, 1};
  tensor.shape = &block->length;
  tensor.strides = &block->stride;
  return Address(env, block);
}

// makeCalling(recipe, function): a tensor whose deleter calls a JavaScript function first. Only for deletion on the
// thread that made it.
struct CallingContext {
  Context* context;
  napi_env env;
  napi_ref function;
};

void DeleteCalling(DLManagedTensorVersioned* self) {
  CallingContext* calling = static_cast<CallingContext*>(self->manager_ctx);
  napi_handle_scope scope;
  napi_value function, undefined;
  napi_open_handle_scope(calling->env, &scope);
  napi_get_reference_value(calling->env, calling->function, &function);
  napi_get_undefined(calling->env, &undefined);
  napi_call_function(calling->env, undefined, function, 0, nullptr, nullptr);
  napi_delete_reference(calling->env, calling->function);
  napi_close_handle_scope(calling->env, scope);
  self->manager_ctx = calling->context;
  delete calling;
  Delete(self);
}

napi_value MakeCalling(napi_env env, napi_callback_info info) {
  napi_value function;
  DLManagedTensorVersioned* managed = Make<DLManagedTensorVersioned>(env, Argument(env, info, &function));
  CallingContext* calling = new CallingContext{static_cast<Context*>(managed->manager_ctx), env, nullptr};
  napi_create_reference(env, function, 1, &calling->function);
  managed->manager_ctx = calling;
  managed->deleter = DeleteCalling;
  return Address(env, managed);
}

// An external without the tag.
napi_value MakeForeignExternal(napi_env env, napi_callback_info) {
  static int nothing;
  napi_value result;
  napi_create_external(env, &nothing, nullptr, nullptr, &result);
  return result;
}

void SetNumber(napi_env env, napi_value object, const char* name, double number) {
  napi_value value;
  napi_create_double(env, number, &value);
  napi_set_named_property(env, object, name, value);
}

void SetIntegers(napi_env env, napi_value object, const char* name, const int64_t* values, int32_t count) {
  napi_value array;
  if (values == nullptr) {
    napi_get_null(env, &array);
  } else {
    napi_create_array(env, &array);
    for (int32_t i = 0; i < count; ++i) {
      napi_value value;
      napi_create_int64(env, values[i], &value);
      napi_set_element(env, array, static_cast<uint32_t>(i), value);
    }
  }
  napi_set_named_property(env, object, name, array);
}

void DescribeHeader(napi_env, napi_value, const DLManagedTensor*) {}
void DescribeHeader(napi_env env, napi_value result, const DLManagedTensorVersioned* managed) {
  SetNumber(env, result, "major", managed->version.major);
  SetNumber(env, result, "minor", managed->version.minor);
  SetNumber(env, result, "flags", static_cast<double>(managed->flags));
}

template <class Managed>
napi_value Describe(napi_env env, const Managed* managed) {
  napi_value result;
  napi_create_object(env, &result);
  const DLTensor& tensor = managed->dl_tensor;
  DescribeHeader(env, result, managed);
  napi_set_named_property(env, result, "address", Address(env, managed));
  napi_set_named_property(env, result, "data", Address(env, tensor.data));
  SetNumber(env, result, "device", tensor.device.device_type);
  SetNumber(env, result, "deviceId", tensor.device.device_id);
  SetNumber(env, result, "ndim", tensor.ndim);
  SetNumber(env, result, "code", tensor.dtype.code);
  SetNumber(env, result, "bits", tensor.dtype.bits);
  SetNumber(env, result, "lanes", tensor.dtype.lanes);
  SetNumber(env, result, "byteOffset", static_cast<double>(tensor.byte_offset));
  SetNumber(env, result, "hasDeleter", managed->deleter != nullptr);
  SetIntegers(env, result, "shape", tensor.shape, tensor.ndim);
  SetIntegers(env, result, "strides", tensor.strides, tensor.ndim);
  return result;
}

napi_value ReadVersioned(napi_env env, napi_callback_info info) {
  return Describe(env, static_cast<DLManagedTensorVersioned*>(Pointer(env, Argument(env, info))));
}

napi_value ReadLegacy(napi_env env, napi_callback_info info) {
  return Describe(env, static_cast<DLManagedTensor*>(Pointer(env, Argument(env, info))));
}

// Takes the tensor out of an external and returns its description; null when the external has no tensor.
napi_value TakeExternal(napi_env env, napi_callback_info info) {
  DLManagedTensorVersioned* managed = nullptr;
  if (dlpack_napi_take(env, Argument(env, info), &managed) != napi_ok || managed == nullptr) {
    napi_value null;
    napi_get_null(env, &null);
    return null;
  }
  return Describe(env, managed);
}

napi_value IsExternal(napi_env env, napi_callback_info info) {
  bool ours = false;
  dlpack_napi_check(env, Argument(env, info), &ours);
  napi_value result;
  napi_get_boolean(env, ours, &result);
  return result;
}

napi_value DeleteVersioned(napi_env env, napi_callback_info info) {
  auto* managed = static_cast<DLManagedTensorVersioned*>(Pointer(env, Argument(env, info)));
  managed->deleter(managed);
  return nullptr;
}

napi_value DeleteLegacy(napi_env env, napi_callback_info info) {
  auto* managed = static_cast<DLManagedTensor*>(Pointer(env, Argument(env, info)));
  managed->deleter(managed);
  return nullptr;
}

std::vector<std::thread> threads;

// deleteOnThreads(addresses: BigUint64Array, threadCount): calls each deleter on one of `threadCount` threads. The
// threads continue after this call returns.
napi_value DeleteOnThreads(napi_env env, napi_callback_info info) {
  napi_value second;
  napi_value array = Argument(env, info, &second);
  void* data = nullptr;
  size_t length = 0;
  napi_typedarray_type type;
  napi_get_typedarray_info(env, array, &type, &length, &data, nullptr, nullptr);
  double count = 1;
  napi_get_value_double(env, second, &count);
  const size_t thread_count = static_cast<size_t>(count);
  for (size_t t = 0; t < thread_count; ++t) {
    std::vector<uint64_t> mine;
    for (size_t i = t; i < length; i += thread_count) mine.push_back(static_cast<uint64_t*>(data)[i]);
    threads.emplace_back([mine] {
      for (uint64_t address : mine) {
        auto* managed = reinterpret_cast<DLManagedTensorVersioned*>(address);
        // A consumer reads until it releases the tensor.
        volatile char first = managed->dl_tensor.data == nullptr ? 0 : *static_cast<char*>(managed->dl_tensor.data);
        (void)first;
        managed->deleter(managed);
      }
    });
  }
  return nullptr;
}

// leaveThreads(): detaches the threads, which continue even while the process ends.
napi_value LeaveThreads(napi_env, napi_callback_info) {
  for (std::thread& thread : threads) thread.detach();
  threads.clear();
  return nullptr;
}

napi_value JoinThreads(napi_env, napi_callback_info) {
  for (std::thread& thread : threads) thread.join();
  threads.clear();
  return nullptr;
}

napi_value Deletions(napi_env env, napi_callback_info) {
  napi_value result;
  napi_create_double(env, static_cast<double>(deletions.load()), &result);
  return result;
}

// deletedDType(): the dtype in the struct of the last tensor, when its deleter ran.
napi_value DeletedDType(napi_env env, napi_callback_info) {
  napi_value result;
  napi_create_uint32(env, deleted_dtype.load(), &result);
  return result;
}

napi_value PeekByte(napi_env env, napi_callback_info info) {
  napi_value result;
  napi_create_uint32(env, *static_cast<uint8_t*>(Pointer(env, Argument(env, info))), &result);
  return result;
}

napi_value PokeByte(napi_env env, napi_callback_info info) {
  napi_value second;
  uint32_t value = 0;
  void* pointer = Pointer(env, Argument(env, info, &second));
  napi_get_value_uint32(env, second, &value);
  *static_cast<uint8_t*>(pointer) = static_cast<uint8_t>(value);
  return nullptr;
}

// Sets tensor.data of an exported struct, as a consumer that breaks the rules might.
napi_value MoveData(napi_env env, napi_callback_info info) {
  napi_value second;
  auto* managed = static_cast<DLManagedTensorVersioned*>(Pointer(env, Argument(env, info, &second)));
  managed->dl_tensor.data = Pointer(env, second);
  return nullptr;
}

// allocate(apiAddress, { shape, code, bits, lanes, device }): allocates through a DLPackExchangeAPI table. Returns the
// address of the tensor, or the error that the table set.
napi_value Allocate(napi_env env, napi_callback_info info) {
  napi_value options;
  auto* api = static_cast<DLPackExchangeAPI*>(Pointer(env, Argument(env, info, &options)));
  std::vector<int64_t> shape;
  GetIntegers(env, options, "shape", &shape);
  DLTensor prototype = {};
  prototype.device.device_type = static_cast<DLDeviceType>(GetNumber(env, options, "device", kDLCPU));
  prototype.ndim = static_cast<int32_t>(shape.size());
  prototype.shape = shape.data();
  prototype.dtype.code = static_cast<uint8_t>(GetNumber(env, options, "code", kDLFloat));
  prototype.dtype.bits = static_cast<uint8_t>(GetNumber(env, options, "bits", 32));
  prototype.dtype.lanes = static_cast<uint16_t>(GetNumber(env, options, "lanes", 1));
  DLManagedTensorVersioned* managed = nullptr;
  std::string error;
  const int code = api->managed_tensor_allocator(
      &prototype, &managed, &error, [](void* context, const char* kind, const char* message) {
        *static_cast<std::string*>(context) = std::string(kind) + ": " + message;
      });
  if (code == 0) return Address(env, managed);
  napi_value result;
  napi_create_string_utf8(env, error.c_str(), error.size(), &result);
  return result;
}

napi_value ReadExchangeApi(napi_env env, napi_callback_info info) {
  auto* api = static_cast<DLPackExchangeAPI*>(Pointer(env, Argument(env, info)));
  void* stream = &api;
  napi_value result;
  napi_create_object(env, &result);
  SetNumber(env, result, "major", api->header.version.major);
  SetNumber(env, result, "minor", api->header.version.minor);
  SetNumber(env, result, "previous", api->header.prev_api != nullptr);
  SetNumber(env, result, "complete",
            api->managed_tensor_allocator != nullptr && api->managed_tensor_from_py_object_no_sync != nullptr &&
                api->managed_tensor_to_py_object_no_sync != nullptr && api->current_work_stream != nullptr);
  SetNumber(env, result, "stream", api->current_work_stream(kDLCPU, 0, &stream) == 0 && stream == nullptr);
  return result;
}

// An external ArrayBuffer as an addon makes it with the fewest steps, to compare `.data` with.
napi_value MakeBuffer(napi_env env, napi_callback_info) {
  static float elements[6];
  napi_value result = nullptr;
  napi_create_external_arraybuffer(env, elements, sizeof(elements), [](napi_env, void*, void*) {}, nullptr, &result);
  return result;
}

napi_value DetachBuffer(napi_env env, napi_callback_info info) {
  napi_detach_arraybuffer(env, Argument(env, info));
  return nullptr;
}

struct Export {
  const char* name;
  napi_callback function;
};

const Export kExports[] = {
    {"makeBuffer", MakeBuffer},
    {"detachBuffer", DetachBuffer},
    {"makeVersioned", MakeVersioned},
    {"makeLegacy", MakeLegacy},
    {"makeExternal", MakeExternal},
    {"makeLean", MakeLean},
    {"makeBlock", MakeBlock},
    {"deleteAll", DeleteAll},
    {"makeCalling", MakeCalling},
    {"makeForeignExternal", MakeForeignExternal},
    {"readVersioned", ReadVersioned},
    {"readLegacy", ReadLegacy},
    {"takeExternal", TakeExternal},
    {"isExternal", IsExternal},
    {"deleteVersioned", DeleteVersioned},
    {"deleteLegacy", DeleteLegacy},
    {"deleteOnThreads", DeleteOnThreads},
    {"joinThreads", JoinThreads},
    {"leaveThreads", LeaveThreads},
    {"deletions", Deletions},
    {"deletedDType", DeletedDType},
    {"peekByte", PeekByte},
    {"pokeByte", PokeByte},
    {"moveData", MoveData},
    {"allocate", Allocate},
    {"readExchangeApi", ReadExchangeApi},
};

}  // namespace

NAPI_MODULE_INIT() {
  for (const Export& entry : kExports) {
    napi_value function;
    napi_create_function(env, entry.name, NAPI_AUTO_LENGTH, entry.function, nullptr, &function);
    napi_set_named_property(env, exports, entry.name, function);
  }
  return exports;
}
