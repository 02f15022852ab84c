// Compares native/cuda/driver.h with a real cuda.h: every function, value and struct. Compiling checks types and
// layouts; running compares the symbols and prints how many were compared.
#include <cuda.h>
#include <stdio.h>
#include <string.h>

#include <type_traits>

#include "../../../native/cuda/driver.h"

namespace ours = dlpack::cuda;

namespace {

template <class T, class = void>
struct IsComplete : std::false_type {};
template <class T>
struct IsComplete<T, std::void_t<decltype(sizeof(T))>> : std::true_type {};

// Whether a caller may pass our type where the real type is declared. Handles are opaque on both sides.
template <class Ours, class Real>
constexpr bool Agrees() {
  if constexpr (std::is_pointer<Ours>::value && std::is_pointer<Real>::value) {
    using A = typename std::remove_pointer<Ours>::type;
    using B = typename std::remove_pointer<Real>::type;
    if constexpr (std::is_const<A>::value != std::is_const<B>::value) {
      return false;
    } else if constexpr (std::is_void<A>::value) {
      return std::is_void<B>::value || !IsComplete<B>::value;
    } else {
      return Agrees<typename std::remove_const<A>::type, typename std::remove_const<B>::type>();
    }
  } else if constexpr (std::is_class<Ours>::value && std::is_class<Real>::value) {
    return sizeof(Ours) == sizeof(Real) && alignof(Ours) == alignof(Real);
  } else if constexpr (std::is_enum<Ours>::value || std::is_enum<Real>::value) {
    return !std::is_pointer<Ours>::value && !std::is_pointer<Real>::value && sizeof(Ours) == sizeof(Real);
  } else if constexpr (std::is_arithmetic<Ours>::value && std::is_arithmetic<Real>::value) {
    return sizeof(Ours) == sizeof(Real) && std::is_signed<Ours>::value == std::is_signed<Real>::value &&
           std::is_floating_point<Ours>::value == std::is_floating_point<Real>::value;
  } else {
    return false;
  }
}

template <class Ours, class Real>
struct SameFunction : std::false_type {};
template <class R, class... Ours, class... Real>
struct SameFunction<R (*)(Ours...), CUresult (*)(Real...)> {
  template <class A, class B>
  struct Check : std::false_type {};
  template <class... A, class... B>
  struct Check<void(A...), void(B...)> : std::bool_constant<(Agrees<A, B>() && ...)> {};
  static constexpr bool Value() {
    if constexpr (sizeof...(Ours) == sizeof...(Real)) {
      return sizeof(R) == sizeof(CUresult) && Check<void(Ours...), void(Real...)>::value;
    } else {
      return false;
    }
  }
  static constexpr bool value = Value();
};

// The macros in cuda.h map each name to the version that has these parameters.
#define SAME_FUNCTION(name, symbol, parameters) \
  static_assert(SameFunction<decltype(ours::DriverTable::name), decltype(&cu##name)>::value, symbol);
DLPACK_CUDA_FUNCTIONS(SAME_FUNCTION)
DLPACK_CUDA_NEWER_FUNCTIONS(SAME_FUNCTION)

static_assert(Agrees<ours::Result, CUresult>() && Agrees<ours::Ordinal, CUdevice>(), "codes and ordinals");
static_assert(Agrees<ours::Address, CUdeviceptr>(), "addresses");
static_assert(Agrees<ours::Context, CUcontext>() && Agrees<ours::StreamHandle, CUstream>(), "handles");
static_assert(Agrees<ours::EventHandle, CUevent>() && Agrees<ours::Module, CUmodule>(), "handles");
static_assert(Agrees<ours::Function, CUfunction>() && Agrees<ours::MemoryPool, CUmemoryPool>(), "handles");

#define SAME_VALUE(a, b) static_assert(static_cast<long long>(ours::a) == static_cast<long long>(b), #a)
SAME_VALUE(kSuccess, CUDA_SUCCESS);
SAME_VALUE(kInvalidValue, CUDA_ERROR_INVALID_VALUE);
SAME_VALUE(kOutOfDeviceMemory, CUDA_ERROR_OUT_OF_MEMORY);
SAME_VALUE(kNotInitialized, CUDA_ERROR_NOT_INITIALIZED);
SAME_VALUE(kDeinitialized, CUDA_ERROR_DEINITIALIZED);
SAME_VALUE(kNoDevice, CUDA_ERROR_NO_DEVICE);
SAME_VALUE(kInvalidDevice, CUDA_ERROR_INVALID_DEVICE);
SAME_VALUE(kInvalidContext, CUDA_ERROR_INVALID_CONTEXT);
SAME_VALUE(kInvalidHandle, CUDA_ERROR_INVALID_HANDLE);
SAME_VALUE(kNotFound, CUDA_ERROR_NOT_FOUND);
SAME_VALUE(kNotReady, CUDA_ERROR_NOT_READY);
SAME_VALUE(kNotSupported, CUDA_ERROR_NOT_SUPPORTED);
SAME_VALUE(kStreamDefault, CU_STREAM_DEFAULT);
SAME_VALUE(kStreamNonBlocking, CU_STREAM_NON_BLOCKING);
SAME_VALUE(kEventDefault, CU_EVENT_DEFAULT);
SAME_VALUE(kEventBlockingSync, CU_EVENT_BLOCKING_SYNC);
SAME_VALUE(kEventDisableTiming, CU_EVENT_DISABLE_TIMING);
SAME_VALUE(kEventInterprocess, CU_EVENT_INTERPROCESS);
SAME_VALUE(kIpcLazyPeerAccess, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
SAME_VALUE(kHostPortable, CU_MEMHOSTALLOC_PORTABLE);
SAME_VALUE(kAttachGlobal, CU_MEM_ATTACH_GLOBAL);
SAME_VALUE(kCaptureGlobal, CU_STREAM_CAPTURE_MODE_GLOBAL);
SAME_VALUE(kCaptureThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
SAME_VALUE(kCaptureRelaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
SAME_VALUE(kCaptureNone, CU_STREAM_CAPTURE_STATUS_NONE);
SAME_VALUE(kCaptureActive, CU_STREAM_CAPTURE_STATUS_ACTIVE);
SAME_VALUE(kCaptureInvalidated, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
SAME_VALUE(kMultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME_VALUE(kUnifiedAddressing, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
SAME_VALUE(kComputeMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME_VALUE(kComputeMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME_VALUE(kManagedMemory, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY);
SAME_VALUE(kConcurrentManagedAccess, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS);
SAME_VALUE(kMemoryPoolsSupported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
SAME_VALUE(kPointerContext, CU_POINTER_ATTRIBUTE_CONTEXT);
SAME_VALUE(kPointerMemoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
SAME_VALUE(kPointerDevice, CU_POINTER_ATTRIBUTE_DEVICE_POINTER);
SAME_VALUE(kPointerHost, CU_POINTER_ATTRIBUTE_HOST_POINTER);
SAME_VALUE(kPointerIsManaged, CU_POINTER_ATTRIBUTE_IS_MANAGED);
SAME_VALUE(kPointerDeviceOrdinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
SAME_VALUE(kPointerIsIpcCapable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE);
SAME_VALUE(kPointerRangeStart, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR);
SAME_VALUE(kPointerRangeSize, CU_POINTER_ATTRIBUTE_RANGE_SIZE);
SAME_VALUE(kMemoryHost, CU_MEMORYTYPE_HOST);
SAME_VALUE(kMemoryDevice, CU_MEMORYTYPE_DEVICE);
SAME_VALUE(kMemoryArray, CU_MEMORYTYPE_ARRAY);
SAME_VALUE(kMemoryUnified, CU_MEMORYTYPE_UNIFIED);
SAME_VALUE(kPoolReleaseThreshold, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
// Numbers in the comments of PoolProperties.
static_assert(CU_MEM_ALLOCATION_TYPE_PINNED == 1 && CU_MEM_HANDLE_TYPE_NONE == 0 && CU_MEM_LOCATION_TYPE_DEVICE == 1,
              "");

#define SAME_FIELD(A, a, B, b) \
  static_assert(offsetof(ours::A, a) == offsetof(B, b) && sizeof(ours::A::a) == sizeof(B::b), #A "." #a)
#define COPY_FIELD(a, b) SAME_FIELD(Copy2D, a, CUDA_MEMCPY2D, b)
COPY_FIELD(source_x, srcXInBytes);
COPY_FIELD(source_y, srcY);
COPY_FIELD(source_type, srcMemoryType);
COPY_FIELD(source_host, srcHost);
COPY_FIELD(source_device, srcDevice);
COPY_FIELD(source_array, srcArray);
COPY_FIELD(source_pitch, srcPitch);
COPY_FIELD(target_x, dstXInBytes);
COPY_FIELD(target_y, dstY);
COPY_FIELD(target_type, dstMemoryType);
COPY_FIELD(target_host, dstHost);
COPY_FIELD(target_device, dstDevice);
COPY_FIELD(target_array, dstArray);
COPY_FIELD(target_pitch, dstPitch);
COPY_FIELD(width, WidthInBytes);
COPY_FIELD(height, Height);
static_assert(sizeof(ours::Copy2D) == sizeof(CUDA_MEMCPY2D), "Copy2D");
#define POOL_FIELD(a, b) SAME_FIELD(PoolProperties, a, CUmemPoolProps, b)
POOL_FIELD(allocation_type, allocType);
POOL_FIELD(handle_types, handleTypes);
POOL_FIELD(location_type, location.type);
POOL_FIELD(location_id, location.id);
POOL_FIELD(security, win32SecurityAttributes);
POOL_FIELD(max_size, maxSize);
POOL_FIELD(usage, usage);
POOL_FIELD(reserved, reserved);
static_assert(sizeof(ours::PoolProperties) == sizeof(CUmemPoolProps), "PoolProperties");

#define TEXT_OF(x) #x
#define EXPANDED(x) TEXT_OF(x)

struct Symbol {
  const char* name;
  const char* ours;
  const char* real;
};
const Symbol kSymbols[] = {
#define SYMBOL(name, symbol, parameters) {#name, symbol, EXPANDED(cu##name)},
    DLPACK_CUDA_FUNCTIONS(SYMBOL)};

// Loaded by an older name with the same parameters, which drivers before CUDA 13 have too.
const char* const kOlder[] = {"cuEventElapsedTime"};

bool IsOlder(const char* symbol) {
  for (const char* older : kOlder) {
    if (strcmp(symbol, older) == 0) return true;
  }
  return false;
}

}  // namespace

int main() {
  int wrong = 0;
  for (const Symbol& symbol : kSymbols) {
    if (strcmp(symbol.ours, symbol.real) == 0 || IsOlder(symbol.ours)) continue;
    printf("%s is asked for as %s, and cuda.h says %s\n", symbol.name, symbol.ours, symbol.real);
    ++wrong;
  }
  if (ours::kLegacyStream != static_cast<void*>(CU_STREAM_LEGACY) ||
      ours::kPerThreadStream != static_cast<void*>(CU_STREAM_PER_THREAD)) {
    printf("the handles of the default streams differ\n");
    ++wrong;
  }
  printf("%zu functions of CUDA %d\n", sizeof kSymbols / sizeof kSymbols[0], CUDA_VERSION);
  return wrong == 0 ? 0 : 1;
}
