// The CUDA driver, loaded with dlopen: our own declarations of its types, and its functions in one table. The build
// needs no CUDA; a test compares these declarations with cuda.h.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "../hidden.h"

namespace dlpack::cuda {

typedef int32_t Result;      // CUresult
typedef int32_t Ordinal;     // CUdevice
typedef uint64_t Address;    // CUdeviceptr
typedef void* Context;       // CUcontext
typedef void* StreamHandle;  // CUstream
typedef void* EventHandle;   // CUevent
typedef void* Module;        // CUmodule
typedef void* Function;      // CUfunction
typedef void* MemoryPool;    // CUmemoryPool

enum : Result {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfDeviceMemory = 2,
  kNotInitialized = 3,
  kDeinitialized = 4,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidContext = 201,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kNotSupported = 801,
  kStreamCaptureUnsupported = 900,
  kStreamCaptureIsolation = 905,
};

// The driver's handles of the streams that every device has.
static StreamHandle const kLegacyStream = reinterpret_cast<StreamHandle>(uintptr_t{1});     // CU_STREAM_LEGACY
static StreamHandle const kPerThreadStream = reinterpret_cast<StreamHandle>(uintptr_t{2});  // CU_STREAM_PER_THREAD

enum StreamFlag : uint32_t { kStreamDefault = 0, kStreamNonBlocking = 1 };
enum EventFlag : uint32_t {
  kEventDefault = 0,
  kEventBlockingSync = 1,
  kEventDisableTiming = 2,
  kEventInterprocess = 4
};
enum HostAllocFlag : uint32_t { kHostPortable = 1 };
enum ManagedFlag : uint32_t { kAttachGlobal = 1 };
enum IpcFlag : uint32_t { kIpcLazyPeerAccess = 1 };
enum CaptureMode : int32_t { kCaptureGlobal = 0, kCaptureThreadLocal = 1, kCaptureRelaxed = 2 };
enum CaptureStatus : int32_t { kCaptureNone = 0, kCaptureActive = 1, kCaptureInvalidated = 2 };

enum DeviceAttribute : int32_t {
  kMultiprocessorCount = 16,
  kUnifiedAddressing = 41,
  kComputeMajor = 75,
  kComputeMinor = 76,
  kManagedMemory = 83,
  kConcurrentManagedAccess = 89,
  kMemoryPoolsSupported = 115,
};

enum PointerAttribute : int32_t {
  kPointerContext = 1,
  kPointerMemoryType = 2,
  kPointerDevice = 3,
  kPointerHost = 4,
  kPointerIsManaged = 8,
  kPointerDeviceOrdinal = 9,
  kPointerIsIpcCapable = 10,
  kPointerRangeStart = 11,
  kPointerRangeSize = 12,
};

enum MemoryType : int32_t {
  kMemoryUnknown = 0,
  kMemoryHost = 1,
  kMemoryDevice = 2,
  kMemoryArray = 3,
  kMemoryUnified = 4
};

enum PoolAttribute : int32_t { kPoolReleaseThreshold = 4 };

// CUDA_MEMCPY2D_v2
struct Copy2D {
  size_t source_x;
  size_t source_y;
  MemoryType source_type;
  const void* source_host;
  Address source_device;
  void* source_array;
  size_t source_pitch;
  size_t target_x;
  size_t target_y;
  MemoryType target_type;
  void* target_host;
  Address target_device;
  void* target_array;
  size_t target_pitch;
  size_t width;
  size_t height;
};

// CUmemPoolProps_v1: pinned memory of one device, without handles for other processes.
struct PoolProperties {
  int32_t allocation_type;  // 1: pinned
  int32_t handle_types;     // 0: none
  int32_t location_type;    // 1: a device
  int32_t location_id;
  void* security;
  size_t max_size;
  uint16_t usage;
  uint8_t reserved[54];
};

// CUmemcpyAttributes: how the copies of a batch read their sources.
struct BatchAttributes {
  int32_t source_order;  // 1: in the order of the stream
  int32_t source_location_type;
  int32_t source_location_id;
  int32_t target_location_type;
  int32_t target_location_id;
  uint32_t flags;
};

// CUuuid
struct Uuid {
  char bytes[16];
};

// CUipcMemHandle and CUipcEventHandle: plain bytes that another process can open.
struct IpcHandle {
  char bytes[64];
};

// name, symbol, parameters. The symbol includes the version that has these parameters.
#define DLPACK_CUDA_FUNCTIONS(X)                                                                                       \
  X(Init, "cuInit", (uint32_t flags))                                                                                  \
  X(DriverGetVersion, "cuDriverGetVersion", (int32_t* version))                                                        \
  X(GetErrorName, "cuGetErrorName", (Result error, const char** text))                                                 \
  X(GetErrorString, "cuGetErrorString", (Result error, const char** text))                                             \
  X(DeviceGetCount, "cuDeviceGetCount", (int32_t* count))                                                              \
  X(DeviceGet, "cuDeviceGet", (Ordinal * device, int32_t index))                                                       \
  X(DeviceGetName, "cuDeviceGetName", (char* name, int32_t length, Ordinal device))                                    \
  X(DeviceTotalMem, "cuDeviceTotalMem_v2", (size_t* bytes, Ordinal device))                                            \
  X(DeviceGetAttribute, "cuDeviceGetAttribute", (int32_t* value, DeviceAttribute attribute, Ordinal device))           \
  X(DeviceGetUuid, "cuDeviceGetUuid_v2", (Uuid * uuid, Ordinal device))                                                \
  X(DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (Context * context, Ordinal device))                           \
  X(CtxGetCurrent, "cuCtxGetCurrent", (Context * context))                                                             \
  X(CtxPushCurrent, "cuCtxPushCurrent_v2", (Context context))                                                          \
  X(CtxPopCurrent, "cuCtxPopCurrent_v2", (Context * context))                                                          \
  X(CtxSynchronize, "cuCtxSynchronize", ())                                                                            \
  X(MemGetInfo, "cuMemGetInfo_v2", (size_t* free, size_t* total))                                                      \
  X(MemAlloc, "cuMemAlloc_v2", (Address * address, size_t bytes))                                                      \
  X(MemFree, "cuMemFree_v2", (Address address))                                                                        \
  X(MemAllocFromPoolAsync, "cuMemAllocFromPoolAsync",                                                                  \
    (Address * address, size_t bytes, MemoryPool pool, StreamHandle stream))                                           \
  X(MemFreeAsync, "cuMemFreeAsync", (Address address, StreamHandle stream))                                            \
  X(MemPoolCreate, "cuMemPoolCreate", (MemoryPool * pool, const PoolProperties* properties))                           \
  X(MemPoolSetAttribute, "cuMemPoolSetAttribute", (MemoryPool pool, PoolAttribute attribute, void* value))             \
  X(MemPoolTrimTo, "cuMemPoolTrimTo", (MemoryPool pool, size_t keep))                                                  \
  X(MemHostAlloc, "cuMemHostAlloc", (void** memory, size_t bytes, uint32_t flags))                                     \
  X(MemFreeHost, "cuMemFreeHost", (void* memory))                                                                      \
  X(MemAllocManaged, "cuMemAllocManaged", (Address * address, size_t bytes, uint32_t flags))                           \
  X(MemcpyAsync, "cuMemcpyAsync", (Address target, Address source, size_t bytes, StreamHandle stream))                 \
  X(Memcpy2DAsync, "cuMemcpy2DAsync_v2", (const Copy2D* copy, StreamHandle stream))                                    \
  X(MemsetD8Async, "cuMemsetD8Async", (Address target, uint8_t value, size_t bytes, StreamHandle stream))              \
  X(PointerGetAttributes, "cuPointerGetAttributes",                                                                    \
    (uint32_t count, PointerAttribute* attributes, void** values, Address address))                                    \
  X(StreamCreateWithPriority, "cuStreamCreateWithPriority", (StreamHandle * stream, uint32_t flags, int32_t priority)) \
  X(StreamDestroy, "cuStreamDestroy_v2", (StreamHandle stream))                                                        \
  X(StreamSynchronize, "cuStreamSynchronize", (StreamHandle stream))                                                   \
  X(StreamQuery, "cuStreamQuery", (StreamHandle stream))                                                               \
  X(StreamWaitEvent, "cuStreamWaitEvent", (StreamHandle stream, EventHandle event, uint32_t flags))                    \
  X(StreamGetFlags, "cuStreamGetFlags", (StreamHandle stream, uint32_t* flags))                                        \
  X(StreamIsCapturing, "cuStreamIsCapturing", (StreamHandle stream, CaptureStatus * status))                           \
  X(ThreadExchangeStreamCaptureMode, "cuThreadExchangeStreamCaptureMode", (CaptureMode * mode))                        \
  X(EventCreate, "cuEventCreate", (EventHandle * event, uint32_t flags))                                               \
  X(EventDestroy, "cuEventDestroy_v2", (EventHandle event))                                                            \
  X(EventRecord, "cuEventRecord", (EventHandle event, StreamHandle stream))                                            \
  X(EventQuery, "cuEventQuery", (EventHandle event))                                                                   \
  X(EventSynchronize, "cuEventSynchronize", (EventHandle event))                                                       \
  X(EventElapsedTime, "cuEventElapsedTime", (float* milliseconds, EventHandle start, EventHandle end))                 \
  X(IpcGetMemHandle, "cuIpcGetMemHandle", (IpcHandle * handle, Address address))                                       \
  X(IpcOpenMemHandle, "cuIpcOpenMemHandle_v2", (Address * address, IpcHandle handle, uint32_t flags))                  \
  X(IpcCloseMemHandle, "cuIpcCloseMemHandle", (Address address))                                                       \
  X(IpcGetEventHandle, "cuIpcGetEventHandle", (IpcHandle * handle, EventHandle event))                                 \
  X(IpcOpenEventHandle, "cuIpcOpenEventHandle", (EventHandle * event, IpcHandle handle))                               \
  X(ModuleLoadData, "cuModuleLoadData", (Module * module, const void* image))                                          \
  X(ModuleGetFunction, "cuModuleGetFunction", (Function * function, Module module, const char* name))                  \
  X(ModuleUnload, "cuModuleUnload", (Module module))                                                                   \
  X(LaunchKernel, "cuLaunchKernel",                                                                                    \
    (Function function, uint32_t grid_x, uint32_t grid_y, uint32_t grid_z, uint32_t block_x, uint32_t block_y,         \
     uint32_t block_z, uint32_t shared_bytes, StreamHandle stream, void** parameters, void** extra))

// Functions that older drivers do not have; NULL there.
#define DLPACK_CUDA_NEWER_FUNCTIONS(X)                                                               \
  X(MemcpyBatchAsync, "cuMemcpyBatchAsync_v2",                                                       \
    (Address * targets, Address * sources, size_t* bytes, size_t count, BatchAttributes* attributes, \
     size_t* attribute_starts, size_t attribute_count, StreamHandle stream))

struct DriverTable {
#define DLPACK_CUDA_MEMBER(name, symbol, parameters) Result(*name) parameters;
  DLPACK_CUDA_FUNCTIONS(DLPACK_CUDA_MEMBER)
  DLPACK_CUDA_NEWER_FUNCTIONS(DLPACK_CUDA_MEMBER)
#undef DLPACK_CUDA_MEMBER
};

// Filled once by LoadDriver. Read only while IsLoaded().
DLPACK_HIDDEN extern DriverTable driver;

// True when a driver with at least one device was loaded and initialised. Any thread.
bool IsLoaded();

// Loads the driver of the process from `path`, or the system's driver when the path is empty. Later calls keep the
// first driver, whatever their path. Returns NULL, or an error message that is valid until the next call. JavaScript
// threads.
const char* LoadDriver(const char* path);

// The path that the driver was loaded from; empty for the system's driver. Any thread, while IsLoaded().
const char* DriverPath();

}  // namespace dlpack::cuda
