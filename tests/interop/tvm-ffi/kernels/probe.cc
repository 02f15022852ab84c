// Functions that show tests the native side of a call: retained arguments, threads, streams, both kinds of tensor.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/rvalue_ref.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace ffi = tvm::ffi;

static ffi::Any kept;
static void Keep(ffi::Any value) { kept = std::move(value); }
static ffi::Any Kept() { return kept; }
static void Forget() { kept = ffi::Any(); }
static void ForgetOnThread() {
  std::thread([] { kept = ffi::Any(); }).join();
}

// The error message of a call on another thread.
static ffi::String CallOnThread(ffi::Function function) {
  std::string message = "no error";
  std::thread([&] {
    try {
      function(1);
    } catch (const ffi::Error& error) {
      message = std::string(error.kind()) + ": " + std::string(error.message());
    }
  }).join();
  return message;
}

// How often the custom allocator of the process is asked for an object while the function runs.
static TVMFFICustomAllocator* replaced;
static std::atomic<int64_t> asked;
static int64_t CountAllocations(ffi::Function function) {
  static TVMFFICustomAllocator counting = {[](size_t size, size_t alignment, int32_t type_index, void*) {
                                             ++asked;
                                             return replaced->allocate(size, alignment, type_index, replaced->context);
                                           },
                                           nullptr};
  replaced = TVMFFIGetCustomAllocator();
  asked = 0;
  TVMFFISetCustomAllocator(&counting);
  try {
    function();
  } catch (...) {
    TVMFFISetCustomAllocator(replaced);
    throw;
  }
  TVMFFISetCustomAllocator(replaced);
  return asked;
}
static TVMFFIObjectAllocHeader* HeaderOf(void* object) { return static_cast<TVMFFIObjectAllocHeader*>(object) - 1; }
static void AskAllocator() {
  const TVMFFICustomAllocator* allocator = TVMFFIGetCustomAllocator();
  void* object = allocator->allocate(sizeof(TVMFFIObject), alignof(TVMFFIObject), kTVMFFIObject, allocator->context);
  HeaderOf(object)->delete_space(object);
}
// Whether the header before an object of this package leaves its memory to the object's own deleter.
static bool HasEmptyHeader(ffi::AnyView value) {
  return HeaderOf(value.CopyToTVMFFIAny().v_obj)->delete_space == nullptr;
}

static double SumOwned(ffi::Tensor x) {
  double sum = 0;
  for (int64_t i = 0; i < x.numel(); ++i) sum += static_cast<const float*>(x.data_ptr())[i];
  return sum;
}
static double SumView(ffi::TensorView x) {
  double sum = 0;
  for (int64_t i = 0; i < x.numel(); ++i) sum += static_cast<const float*>(x.data_ptr())[i];
  return sum;
}

// Everything that a callee can read from a view.
static ffi::Array<ffi::Any> Describe(ffi::TensorView x) {
  return {x.ndim(),
          x.numel(),
          static_cast<int64_t>(x.byte_offset()),
          x.dtype(),
          x.device(),
          ffi::Shape(x.shape()),
          ffi::Shape(x.strides()),
          x.data_ptr()};
}

// Calls a JavaScript function, then returns its argument.
static ffi::Tensor CallThenReturn(ffi::Function function, ffi::Tensor x) {
  function();
  return x;
}

static int64_t TypeOf(ffi::AnyView value) { return value.type_index(); }
static int64_t StreamOf(ffi::TensorView x) {
  return reinterpret_cast<int64_t>(TVMFFIEnvGetStream(x.device().device_type, x.device().device_id));
}
static int64_t StreamThenFail(ffi::TensorView x) {
  TVM_FFI_THROW(RuntimeError) << "on stream " << StreamOf(x);
  return 0;
}

// For benchmarks: many callbacks in one call, so that the cost of the call does not count.
static void InvokeTimes(ffi::Function function, int64_t count, ffi::AnyView a, ffi::AnyView b, ffi::AnyView c) {
  for (int64_t i = 0; i < count; ++i) function(a, b, c);
}

// Passes a callback a tensor that lives only as long as the call.
static ffi::Any WithView(ffi::Function function, ffi::TensorView x) { return function(x); }

static ffi::Tensor Allocate(ffi::Shape shape, DLDataType dtype) {
  return ffi::Tensor::FromEnvAlloc(TVMFFIEnvTensorAlloc, shape, dtype, DLDevice{kDLCPU, 0});
}

static ffi::Tensor AllocateLike(ffi::TensorView x) {
  return ffi::Tensor::FromEnvAlloc(TVMFFIEnvTensorAlloc, ffi::Shape(x.shape()), x.dtype(), x.device());
}
// The address of the allocator that a kernel would use.
static int64_t Allocator(ffi::AnyView) { return reinterpret_cast<int64_t>(TVMFFIEnvGetDLPackManagedTensorAllocator()); }
// Calls the function with the tensor, and returns the allocator afterwards.
static int64_t AllocatorAfter(ffi::Function function, ffi::AnyView x) {
  function(x);
  return Allocator(x);
}
static int64_t StreamAt(int64_t type, int64_t id) {
  return reinterpret_cast<int64_t>(TVMFFIEnvGetStream(static_cast<int32_t>(type), static_cast<int32_t>(id)));
}
// Identifies the copy of libtvm_ffi that this library is linked to.
static int64_t LibraryAddress() { return reinterpret_cast<int64_t>(&TVMFFIGetVersion); }

// A tensor whose memory belongs to this library.
static int64_t live_blocks = 0;
struct BlockAlloc {
  void AllocData(DLTensor* tensor) {
    tensor->data = ::operator new(ffi::GetDataSize(*tensor));
    ++live_blocks;
  }
  void FreeData(DLTensor* tensor) {
    ::operator delete(tensor->data);
    --live_blocks;
  }
};
static ffi::Tensor MakeTensor(int64_t length) {
  ffi::Tensor tensor =
      ffi::Tensor::FromNDAlloc(BlockAlloc(), ffi::Shape({length}), DLDataType{kDLFloat, 32, 1}, DLDevice{kDLCPU, 0});
  for (int64_t i = 0; i < length; ++i) static_cast<float*>(tensor.data_ptr())[i] = static_cast<float>(i);
  return tensor;
}
static int64_t LiveBlocks() { return live_blocks; }

// Takes over its argument, as C++ callers pass a value that they no longer need.
static int64_t Unique(ffi::Tensor x) { return x.use_count(); }
static int64_t UniqueArray(ffi::RValueRef<ffi::Array<ffi::Any>> x) {
  const ffi::Array<ffi::Any> array = *std::move(x);
  return array.use_count();
}
static void FailWithCause(ffi::String inner, ffi::String outer) {
  ffi::Error cause("KeyError", std::string(inner), "");
  throw ffi::Error("ValueError", std::string(outer), "", cause, std::nullopt);
}
static ffi::String Repeat(ffi::String text, int64_t times) {
  std::string result;
  result.reserve(text.size() * times);
  for (int64_t i = 0; i < times; ++i) result.append(text.data(), text.size());
  return result;
}

// The error that a function throws.
static ffi::Error ErrorOf(ffi::Function function) {
  try {
    function();
  } catch (const ffi::Error& error) {
    return error;
  }
  return ffi::Error("InternalError", "nothing was thrown", "");
}

static ffi::String BacktraceOf(ffi::Function function) {
  const ffi::Error error = ErrorOf(function);
  return ffi::String(error.get()->backtrace.data, error.get()->backtrace.size);
}

// The kinds and messages of the error that a function raises, and of its causes.
static ffi::Array<ffi::String> CausesOf(ffi::Function function) {
  ffi::Array<ffi::String> texts;
  try {
    function();
  } catch (const ffi::Error& error) {
    const ffi::ErrorObj* at = error.get();
    while (at != nullptr) {
      texts.push_back(std::string(at->kind.data, at->kind.size) + ": " +
                      std::string(at->message.data, at->message.size));
      if (at->cause_chain == nullptr) break;
      const auto* cell = reinterpret_cast<const TVMFFIErrorCell*>(static_cast<TVMFFIObject*>(at->cause_chain) + 1);
      at = static_cast<const ffi::ErrorObj*>(cell);
    }
  }
  return texts;
}

// Passes arguments that exist only for the length of a call: a C string, bytes by address, a tensor by address, an
// rvalue.
static ffi::Any CallWithBorrowed(ffi::Function function, ffi::TensorView x) {
  static const char kBytes[] = {0, 1, 2, 3};
  TVMFFIByteArray bytes{kBytes, sizeof(kBytes)};
  ffi::Array<ffi::Any> array{1, ffi::String("two")};
  return function("a C string", &bytes, x, ffi::RValueRef(std::move(array)));
}

static int64_t HostAllocator(ffi::Function function) {
  static DLPackManagedTensorAllocator host = [](DLTensor*, DLManagedTensorVersioned**, void*,
                                                void (*)(void*, const char*, const char*)) { return -1; };
  DLPackManagedTensorAllocator before = nullptr;
  TVMFFIEnvSetDLPackManagedTensorAllocator(host, 0, &before);
  function();
  const bool is_kept = TVMFFIEnvGetDLPackManagedTensorAllocator() == host;
  TVMFFIEnvSetDLPackManagedTensorAllocator(before, 0, nullptr);
  return is_kept;
}

static DLDataType DTypeOf(int64_t code, int64_t bits, int64_t lanes) {
  return DLDataType{static_cast<uint8_t>(code), static_cast<uint8_t>(bits), static_cast<uint16_t>(lanes)};
}
static DLDevice DeviceOf(int64_t type, int64_t id) {
  return DLDevice{static_cast<DLDeviceType>(type), static_cast<int32_t>(id)};
}

// Calls a function with `count` arguments: 0, 1, 2 and so on.
static ffi::Any CallWithMany(ffi::Function function, int64_t count) {
  std::vector<ffi::AnyView> args(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) args[static_cast<size_t>(i)] = i;
  ffi::Any result;
  function.CallPacked(ffi::PackedArgs(args.data(), static_cast<int32_t>(count)), &result);
  return result;
}

// Calls the thread's allocator for a tensor with too many axes, without an error function.
static int64_t AllocateWithoutErrors() {
  int64_t shape[65] = {};
  DLTensor prototype = {};
  prototype.device = DLDevice{kDLCPU, 0};
  prototype.ndim = 65;
  prototype.dtype = DLDataType{kDLFloat, 32, 1};
  prototype.shape = shape;
  DLManagedTensorVersioned* out = nullptr;
  return TVMFFIEnvGetDLPackManagedTensorAllocator()(&prototype, &out, nullptr, nullptr);
}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(dtype_of, DTypeOf);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(device_of, DeviceOf);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(call_with_many, CallWithMany);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(allocate_without_errors, AllocateWithoutErrors);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(keep, Keep);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(kept, Kept);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(forget, Forget);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(forget_on_thread, ForgetOnThread);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(call_on_thread, CallOnThread);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(count_allocations, CountAllocations);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(ask_allocator, AskAllocator);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(has_empty_header, HasEmptyHeader);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(sum_owned, SumOwned);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(sum_view, SumView);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(describe, Describe);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(type_of, TypeOf);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(stream_of, StreamOf);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(stream_then_fail, StreamThenFail);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(with_view, WithView);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(allocate, Allocate);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_tensor, MakeTensor);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(live_blocks, LiveBlocks);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(unique, Unique);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(unique_array, UniqueArray);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(fail_with_cause, FailWithCause);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(host_allocator, HostAllocator);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(allocate_like, AllocateLike);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(allocator, Allocator);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(allocator_after, AllocatorAfter);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(stream_at, StreamAt);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(library_address, LibraryAddress);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(call_then_return, CallThenReturn);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(invoke_times, InvokeTimes);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(repeat, Repeat);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(causes_of, CausesOf);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(backtrace_of, BacktraceOf);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(error_of, ErrorOf);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(call_with_borrowed, CallWithBorrowed);
