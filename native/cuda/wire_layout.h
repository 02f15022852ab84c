// Messages in slots of the wire. Written by "npm run wire" from scripts/wire/messages.mjs; change it there.
#pragma once

#include "../wire_layout.h"

namespace dlpack::cuda {

// New device memory, or host memory that devices can access, for work on a stream.
struct alignas(8) DeviceAllocation {
  // the CUresult, written by native code
  int32_t status;
  // the number of the device that the request is for
  int32_t device;
  // a storage in the table of the instance
  uint32_t handle;
  // a DLDeviceType
  int32_t device_type;
  // 1: device memory that other processes can open
  uint32_t is_shareable;
  // the number of bytes
  double nbytes;
  // the driver's handle of a stream
  uint64_t stream;
};
static_assert(offsetof(DeviceAllocation, status) == 0);
static_assert(offsetof(DeviceAllocation, device) == 4);
static_assert(offsetof(DeviceAllocation, handle) == 8);
static_assert(offsetof(DeviceAllocation, device_type) == 12);
static_assert(offsetof(DeviceAllocation, is_shareable) == 16);
static_assert(offsetof(DeviceAllocation, nbytes) == 24);
static_assert(offsetof(DeviceAllocation, stream) == 32);
static_assert(sizeof(DeviceAllocation) == 40);

// A storage and a stream. The stream clears it, may use it from now on, or waits until its data is ready.
struct alignas(8) StorageRequest {
  // the CUresult, written by native code
  int32_t status;
  // the number of the device that the request is for
  int32_t device;
  // a storage in the table of the instance
  uint32_t handle;
  // the driver's handle of a stream
  uint64_t stream;
  // how many of the last bytes the stream clears
  double cleared;
};
static_assert(offsetof(StorageRequest, status) == 0);
static_assert(offsetof(StorageRequest, device) == 4);
static_assert(offsetof(StorageRequest, handle) == 8);
static_assert(offsetof(StorageRequest, stream) == 16);
static_assert(offsetof(StorageRequest, cleared) == 24);
static_assert(sizeof(StorageRequest) == 32);

// A step of a copy (src/cuda/plan-copy.ts). A side without a handle is a typed array.
struct alignas(8) CopyStep {
  // the CUresult, written by native code
  int32_t status;
  // the number of the device that the request is for
  int32_t device;
  // the storage that is read; 0: a typed array
  uint32_t from_handle;
  // the storage that is written; 0: a typed array
  uint32_t to_handle;
  // the DLDeviceType of the memory that is read
  int32_t from_type;
  // the DLDeviceType of the memory that is written
  int32_t to_type;
  // the driver's handle of a stream
  uint64_t stream;
  // bytes from the start to the first item that is read
  double from_offset;
  // bytes from the start to the first item that is written
  double to_offset;
  // bytes of an item
  double item_bytes;
  // the number of axes
  int32_t ndim;
  // lengths of the axes
  double shape[64];
  // bytes from one item to the next in the source
  double from_steps[64];
  // bytes from one item to the next in the target
  double to_steps[64];
};
static_assert(offsetof(CopyStep, status) == 0);
static_assert(offsetof(CopyStep, device) == 4);
static_assert(offsetof(CopyStep, from_handle) == 8);
static_assert(offsetof(CopyStep, to_handle) == 12);
static_assert(offsetof(CopyStep, from_type) == 16);
static_assert(offsetof(CopyStep, to_type) == 20);
static_assert(offsetof(CopyStep, stream) == 24);
static_assert(offsetof(CopyStep, from_offset) == 32);
static_assert(offsetof(CopyStep, to_offset) == 40);
static_assert(offsetof(CopyStep, item_bytes) == 48);
static_assert(offsetof(CopyStep, ndim) == 56);
static_assert(offsetof(CopyStep, shape) == 64);
static_assert(offsetof(CopyStep, from_steps) == 576);
static_assert(offsetof(CopyStep, to_steps) == 1088);
static_assert(sizeof(CopyStep) == 1600);

// An upload (native/cuda/upload.cc). A typed array has its parts.
struct alignas(8) UploadStep {
  // the CUresult, written by native code
  int32_t status;
  // the number of the device that the request is for
  int32_t device;
  // the storage that is read, in plain host memory
  uint32_t from_handle;
  // how many threads may fill blocks
  int32_t threads;
  // the driver's handle of a stream
  uint64_t stream;
  // bytes from the start of the storage to the first byte that is read
  double from_offset;
  // how many bytes are read
  double nbytes;
};
static_assert(offsetof(UploadStep, status) == 0);
static_assert(offsetof(UploadStep, device) == 4);
static_assert(offsetof(UploadStep, from_handle) == 8);
static_assert(offsetof(UploadStep, threads) == 12);
static_assert(offsetof(UploadStep, stream) == 16);
static_assert(offsetof(UploadStep, from_offset) == 24);
static_assert(offsetof(UploadStep, nbytes) == 32);
static_assert(sizeof(UploadStep) == 40);

// A cast of contiguous elements on a device (native/cuda/cast.cc).
struct alignas(8) CastStep {
  // the CUresult, written by native code
  int32_t status;
  // the number of the device that the request is for
  int32_t device;
  // the storage that is read
  uint32_t from_handle;
  // the storage that is written
  uint32_t to_handle;
  // the driver's handle of a stream
  uint64_t stream;
  // bytes from the start to the first element that is read
  double from_offset;
  // bytes from the start to the first element that is written
  double to_offset;
  // the number of elements
  double count;
  // a CastType
  uint32_t from_type;
  // a CastType
  uint32_t to_type;
  // bytes of an element that is written
  uint32_t target_bytes;
  // for a float8 target: 23 minus the bits of its mantissa
  uint32_t shift;
  // for a float8 target: its smallest normal number, as float32
  uint32_t normal;
  // for a float8 target: the code after its largest number, as float32
  uint32_t last;
  // for a float8 target: the code of NaN
  uint32_t nan;
  // for a float8 target: 1 when zero has no sign
  uint32_t is_fnuz;
  // for a float8 target: the code after its largest number, at the position of the exponent in float32
  uint32_t limit;
  // for a float8 target and a source of two bytes: the power of two between their exponents
  double scale;
  // for a source of one byte: the result for each code
  uint32_t table[256];
};
static_assert(offsetof(CastStep, status) == 0);
static_assert(offsetof(CastStep, device) == 4);
static_assert(offsetof(CastStep, from_handle) == 8);
static_assert(offsetof(CastStep, to_handle) == 12);
static_assert(offsetof(CastStep, stream) == 16);
static_assert(offsetof(CastStep, from_offset) == 24);
static_assert(offsetof(CastStep, to_offset) == 32);
static_assert(offsetof(CastStep, count) == 40);
static_assert(offsetof(CastStep, from_type) == 48);
static_assert(offsetof(CastStep, to_type) == 52);
static_assert(offsetof(CastStep, target_bytes) == 56);
static_assert(offsetof(CastStep, shift) == 60);
static_assert(offsetof(CastStep, normal) == 64);
static_assert(offsetof(CastStep, last) == 68);
static_assert(offsetof(CastStep, nan) == 72);
static_assert(offsetof(CastStep, is_fnuz) == 76);
static_assert(offsetof(CastStep, limit) == 80);
static_assert(offsetof(CastStep, scale) == 88);
static_assert(offsetof(CastStep, table) == 96);
static_assert(sizeof(CastStep) == 1120);

// A storage over foreign memory, if the memory lies inside one allocation.
struct alignas(8) AdmitRequest {
  // the CUresult, written by native code
  int32_t status;
  // a storage in the table of the instance
  uint32_t handle;
  // the DLDeviceType of the memory, written by native code; 0: the driver does not know it
  int32_t device_type;
  // the number of its device, written by native code
  int32_t device_id;
  // 1 on success, written by native code
  uint32_t is_admitted;
  // of the first element
  uint64_t address;
  // the producer's stream, which our stream waits for; 0: no wait
  uint64_t stream;
  // bytes from the first element to the lowest byte; zero or less
  double low;
  // bytes from the first element to the end
  double high;
  // where the allocation starts, written by native code
  uint64_t range_start;
  // the size of the allocation in bytes, written by native code
  uint64_t range_size;
};
static_assert(offsetof(AdmitRequest, status) == 0);
static_assert(offsetof(AdmitRequest, handle) == 4);
static_assert(offsetof(AdmitRequest, device_type) == 8);
static_assert(offsetof(AdmitRequest, device_id) == 12);
static_assert(offsetof(AdmitRequest, is_admitted) == 16);
static_assert(offsetof(AdmitRequest, address) == 24);
static_assert(offsetof(AdmitRequest, stream) == 32);
static_assert(offsetof(AdmitRequest, low) == 40);
static_assert(offsetof(AdmitRequest, high) == 48);
static_assert(offsetof(AdmitRequest, range_start) == 56);
static_assert(offsetof(AdmitRequest, range_size) == 64);
static_assert(sizeof(AdmitRequest) == 72);

// The driver's attributes of an address. Native code writes all fields except the address.
struct alignas(8) PointerRequest {
  // the CUresult, written by native code
  int32_t status;
  // the number of the device
  int32_t device;
  // a CUmemorytype; 0: the driver does not know the address
  uint32_t memory_type;
  // 1 for managed memory
  uint32_t is_managed;
  // the address
  uint64_t address;
  // the CUcontext that owns the memory
  uint64_t context;
  // the address for code on the device
  uint64_t device_pointer;
  // the address for code on the CPU; 0: none
  uint64_t host_pointer;
  // where the allocation starts
  uint64_t range_start;
  // the size of the allocation in bytes
  uint64_t range_size;
};
static_assert(offsetof(PointerRequest, status) == 0);
static_assert(offsetof(PointerRequest, device) == 4);
static_assert(offsetof(PointerRequest, memory_type) == 8);
static_assert(offsetof(PointerRequest, is_managed) == 12);
static_assert(offsetof(PointerRequest, address) == 16);
static_assert(offsetof(PointerRequest, context) == 24);
static_assert(offsetof(PointerRequest, device_pointer) == 32);
static_assert(offsetof(PointerRequest, host_pointer) == 40);
static_assert(offsetof(PointerRequest, range_start) == 48);
static_assert(offsetof(PointerRequest, range_size) == 56);
static_assert(sizeof(PointerRequest) == 64);

// The data with which another process opens the allocation around a storage.
struct alignas(8) ShareRequest {
  // the CUresult, written by native code
  int32_t status;
  // the number of the device that the request is for
  int32_t device;
  // a storage in the table of the instance
  uint32_t handle;
  // 1 when native code has written the fields below
  uint32_t is_shareable;
  // the number of the device of the allocation
  int32_t ordinal;
  // the process that allocated it
  uint64_t process;
  // the size of the allocation in bytes
  double size;
  // bytes from its start to the storage
  double offset;
  // the driver's handle for other processes
  uint64_t ipc_handle[8];
};
static_assert(offsetof(ShareRequest, status) == 0);
static_assert(offsetof(ShareRequest, device) == 4);
static_assert(offsetof(ShareRequest, handle) == 8);
static_assert(offsetof(ShareRequest, is_shareable) == 12);
static_assert(offsetof(ShareRequest, ordinal) == 16);
static_assert(offsetof(ShareRequest, process) == 24);
static_assert(offsetof(ShareRequest, size) == 32);
static_assert(offsetof(ShareRequest, offset) == 40);
static_assert(offsetof(ShareRequest, ipc_handle) == 48);
static_assert(sizeof(ShareRequest) == 112);

// A storage over a part of another process's memory.
struct alignas(8) OpenRequest {
  // the CUresult, written by native code
  int32_t status;
  // the number of the device that the request is for
  int32_t device;
  // a storage in the table of the instance
  uint32_t handle;
  // 1: success; 0: the memory is too small; 2: the memory belongs to this process. Written by native code
  uint32_t outcome;
  // the process that allocated it
  uint64_t process;
  // bytes from the start of the allocation
  double offset;
  // the number of bytes to open
  double nbytes;
  // the driver's handle for other processes
  uint64_t ipc_handle[8];
};
static_assert(offsetof(OpenRequest, status) == 0);
static_assert(offsetof(OpenRequest, device) == 4);
static_assert(offsetof(OpenRequest, handle) == 8);
static_assert(offsetof(OpenRequest, outcome) == 12);
static_assert(offsetof(OpenRequest, process) == 16);
static_assert(offsetof(OpenRequest, offset) == 24);
static_assert(offsetof(OpenRequest, nbytes) == 32);
static_assert(offsetof(OpenRequest, ipc_handle) == 40);
static_assert(sizeof(OpenRequest) == 104);

// The handle of an event for other processes.
struct alignas(8) ShareEventRequest {
  // the CUresult, written by native code
  int32_t status;
  // the number of the device that the request is for
  int32_t device;
  // the driver's handle of an event
  uint64_t event;
  // the driver's handle for other processes
  uint64_t ipc_handle[8];
};
static_assert(offsetof(ShareEventRequest, status) == 0);
static_assert(offsetof(ShareEventRequest, device) == 4);
static_assert(offsetof(ShareEventRequest, event) == 8);
static_assert(offsetof(ShareEventRequest, ipc_handle) == 16);
static_assert(sizeof(ShareEventRequest) == 80);

// Makes a stream wait for another process's event before it uses a storage.
struct alignas(8) FollowEventRequest {
  // the CUresult, written by native code
  int32_t status;
  // the number of the device that the request is for
  int32_t device;
  // a storage in the table of the instance
  uint32_t handle;
  // the driver's handle of a stream
  uint64_t stream;
  // the driver's handle for other processes
  uint64_t ipc_handle[8];
};
static_assert(offsetof(FollowEventRequest, status) == 0);
static_assert(offsetof(FollowEventRequest, device) == 4);
static_assert(offsetof(FollowEventRequest, handle) == 8);
static_assert(offsetof(FollowEventRequest, stream) == 16);
static_assert(offsetof(FollowEventRequest, ipc_handle) == 24);
static_assert(sizeof(FollowEventRequest) == 88);

// A new stream.
struct alignas(8) CreateStreamRequest {
  // the CUresult, written by native code
  int32_t status;
  // the number of the device that the request is for
  int32_t device;
  // 1: not ordered with the legacy default stream
  uint32_t is_non_blocking;
  // lower numbers run first
  int32_t priority;
  // a stream or an event in the table of those that JavaScript made
  uint32_t owner;
  // the driver's handle of a stream
  uint64_t stream;
};
static_assert(offsetof(CreateStreamRequest, status) == 0);
static_assert(offsetof(CreateStreamRequest, device) == 4);
static_assert(offsetof(CreateStreamRequest, is_non_blocking) == 8);
static_assert(offsetof(CreateStreamRequest, priority) == 12);
static_assert(offsetof(CreateStreamRequest, owner) == 16);
static_assert(offsetof(CreateStreamRequest, stream) == 24);
static_assert(sizeof(CreateStreamRequest) == 32);

// A new event.
struct alignas(8) CreateEventRequest {
  // the CUresult, written by native code
  int32_t status;
  // the number of the device that the request is for
  int32_t device;
  // CU_EVENT_*
  uint32_t flags;
  // a stream or an event in the table of those that JavaScript made
  uint32_t owner;
  // the driver's handle of an event
  uint64_t event;
};
static_assert(offsetof(CreateEventRequest, status) == 0);
static_assert(offsetof(CreateEventRequest, device) == 4);
static_assert(offsetof(CreateEventRequest, flags) == 8);
static_assert(offsetof(CreateEventRequest, owner) == 12);
static_assert(offsetof(CreateEventRequest, event) == 16);
static_assert(sizeof(CreateEventRequest) == 24);

// Sets the current stream of a device on this thread.
struct alignas(8) CurrentRequest {
  // the CUresult, written by native code
  int32_t status;
  // the number of the device that the request is for
  int32_t device;
  // the driver's handle of a stream
  uint64_t stream;
  // the previous current stream, written by native code
  uint64_t before;
};
static_assert(offsetof(CurrentRequest, status) == 0);
static_assert(offsetof(CurrentRequest, device) == 4);
static_assert(offsetof(CurrentRequest, stream) == 8);
static_assert(offsetof(CurrentRequest, before) == 16);
static_assert(sizeof(CurrentRequest) == 24);

// Whether a stream is being captured into a graph.
struct alignas(8) CaptureRequest {
  // the CUresult, written by native code
  int32_t status;
  // the number of the device that the request is for
  int32_t device;
  // 1 when it is, written by native code
  uint32_t is_capturing;
  // the driver's handle of a stream
  uint64_t stream;
};
static_assert(offsetof(CaptureRequest, status) == 0);
static_assert(offsetof(CaptureRequest, device) == 4);
static_assert(offsetof(CaptureRequest, is_capturing) == 8);
static_assert(offsetof(CaptureRequest, stream) == 16);
static_assert(sizeof(CaptureRequest) == 24);

// A stream or an event to wait for or to query, or both: one is recorded on, or waits for, the other.
struct alignas(8) MarkRequest {
  // the CUresult, written by native code
  int32_t status;
  // the number of the device that the request is for
  int32_t device;
  // the driver's handle of a stream
  uint64_t stream;
  // the driver's handle of an event
  uint64_t event;
};
static_assert(offsetof(MarkRequest, status) == 0);
static_assert(offsetof(MarkRequest, device) == 4);
static_assert(offsetof(MarkRequest, stream) == 8);
static_assert(offsetof(MarkRequest, event) == 16);
static_assert(sizeof(MarkRequest) == 24);

// Makes a stream wait for the work that another stream has now.
struct alignas(8) OrderRequest {
  // the CUresult, written by native code
  int32_t status;
  // the number of the device that the request is for
  int32_t device;
  // the number of the device of the other stream
  int32_t awaited_device;
  // the driver's handle of a stream
  uint64_t stream;
  // the driver's handle of the other stream
  uint64_t awaited;
};
static_assert(offsetof(OrderRequest, status) == 0);
static_assert(offsetof(OrderRequest, device) == 4);
static_assert(offsetof(OrderRequest, awaited_device) == 8);
static_assert(offsetof(OrderRequest, stream) == 16);
static_assert(offsetof(OrderRequest, awaited) == 24);
static_assert(sizeof(OrderRequest) == 32);

// The time between two events.
struct alignas(8) ElapsedRequest {
  // the CUresult, written by native code
  int32_t status;
  // the number of the device that the request is for
  int32_t device;
  // the driver's handle of the earlier event
  uint64_t since;
  // the driver's handle of an event
  uint64_t event;
  // written by native code
  double milliseconds;
};
static_assert(offsetof(ElapsedRequest, status) == 0);
static_assert(offsetof(ElapsedRequest, device) == 4);
static_assert(offsetof(ElapsedRequest, since) == 8);
static_assert(offsetof(ElapsedRequest, event) == 16);
static_assert(offsetof(ElapsedRequest, milliseconds) == 24);
static_assert(sizeof(ElapsedRequest) == 32);

// Calls JavaScript when the work that an event marks, or that a stream has now, is over.
struct alignas(8) WatchRequest {
  // the CUresult, written by native code
  int32_t status;
  // the number of the device that the request is for
  int32_t device;
  // the number that onRelease gets when the work has finished
  double pin;
  // the event in the table of those that JavaScript made; 0: the stream
  uint32_t owner;
  // the driver's handle of a stream
  uint64_t stream;
};
static_assert(offsetof(WatchRequest, status) == 0);
static_assert(offsetof(WatchRequest, device) == 4);
static_assert(offsetof(WatchRequest, pin) == 8);
static_assert(offsetof(WatchRequest, owner) == 16);
static_assert(offsetof(WatchRequest, stream) == 24);
static_assert(sizeof(WatchRequest) == 32);

// A device to wait for, to query, or to trim.
struct alignas(8) DeviceRequest {
  // the CUresult, written by native code
  int32_t status;
  // the number of the device that the request is for
  int32_t device;
};
static_assert(offsetof(DeviceRequest, status) == 0);
static_assert(offsetof(DeviceRequest, device) == 4);
static_assert(sizeof(DeviceRequest) == 8);

// The memory of a device.
struct alignas(8) MemoryInfo {
  // the CUresult, written by native code
  int32_t status;
  // the number of the device that the request is for
  int32_t device;
  // free bytes
  double free;
  // all bytes
  double total;
};
static_assert(offsetof(MemoryInfo, status) == 0);
static_assert(offsetof(MemoryInfo, device) == 4);
static_assert(offsetof(MemoryInfo, free) == 8);
static_assert(offsetof(MemoryInfo, total) == 16);
static_assert(sizeof(MemoryInfo) == 24);

// The driver's description of a device.
struct alignas(8) DeviceDescription {
  // the CUresult, written by native code
  int32_t status;
  // the number of the device that the request is for
  int32_t device;
  // bytes
  double total_memory;
  // the major version of its compute capability
  int32_t compute_major;
  // the minor version
  int32_t compute_minor;
  // the number of multiprocessors
  int32_t multiprocessors;
  // 1: managed memory works
  int32_t has_managed_memory;
  // 1: the CPU may access managed memory while the device uses it
  int32_t has_concurrent_managed_access;
  // 1: allocation is ordered with a stream
  int32_t has_memory_pool;
  // its 16 bytes
  uint64_t uuid[2];
};
static_assert(offsetof(DeviceDescription, status) == 0);
static_assert(offsetof(DeviceDescription, device) == 4);
static_assert(offsetof(DeviceDescription, total_memory) == 8);
static_assert(offsetof(DeviceDescription, compute_major) == 16);
static_assert(offsetof(DeviceDescription, compute_minor) == 20);
static_assert(offsetof(DeviceDescription, multiprocessors) == 24);
static_assert(offsetof(DeviceDescription, has_managed_memory) == 28);
static_assert(offsetof(DeviceDescription, has_concurrent_managed_access) == 32);
static_assert(offsetof(DeviceDescription, has_memory_pool) == 36);
static_assert(offsetof(DeviceDescription, uuid) == 40);
static_assert(sizeof(DeviceDescription) == 56);

}  // namespace dlpack::cuda
