// Messages in slots of the wire. Written by "npm run wire" from scripts/wire/messages.mjs; change it there.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace dlpack {

// Words of eight bytes.
static const uint32_t kWireWords = 131072;

// Where the LayoutRequest is.
static const uint32_t kLayoutSlot = 4;

// Where other requests begin.
static const uint32_t kFirstSlot = 142;

// The number of layouts that an instance keeps, a power of two.
static const uint32_t kKeptLayouts = 1024;

// Added to the handle of a released storage whose ArrayBuffer JavaScript has detached.
static const uint32_t kDetached = 2147483648u;

static const int32_t kMaxNdim = 64;

// Outcomes of requests.
enum Status : int32_t {
  kOk = 0,
  kNullManaged = 1,
  kVersion = 2,
  kNdim = 3,
  kNullShape = 4,
  kNegativeShape = 5,
  kTooLarge = 6,
  kNullData = 7,
  kMisaligned = 8,
  kDtype = 9,
  kOutOfMemory = 10,
  kConsumed = 11,
  kNotExternal = 12,
  kNoExternalBuffers = 13,
  kUnknownTicket = 14,
  kNapi = 15,
  kUnknownLayout = 16,
};

// The first words of the wire.
struct alignas(8) WireHeader {
  // the slot of the request, written right before the call and read first in it
  uint32_t slot;
  // the first free word
  uint32_t top;
  // the storage that JavaScript releases, perhaps with the detached bit, read first in release and collect
  uint32_t released;
  // the storage that outlived its tick, read first in outlive
  uint32_t lasting;
  // arguments of the call from Python that JavaScript has taken over, counted by it
  uint32_t taken;
};
static_assert(offsetof(WireHeader, slot) == 0);
static_assert(offsetof(WireHeader, top) == 4);
static_assert(offsetof(WireHeader, released) == 8);
static_assert(offsetof(WireHeader, lasting) == 12);
static_assert(offsetof(WireHeader, taken) == 16);
static_assert(sizeof(WireHeader) == 24);

// A tensor. Without a number its layout follows: the fields from dtype on, lengths and strides as doubles.
struct alignas(8) WireTensor {
  // a storage in the table of the instance
  uint32_t handle;
  // the number of a layout that native code keeps; 0: the layout follows
  uint32_t layout;
  // bytes from the start of the storage to the first element
  double byte_offset;
  // bytes of the storage, written by native code
  double nbytes;
  // the number of the place where an export is made; 0: not recorded
  double trace;
  // code, bits and lanes, packed as in DLDataType
  uint32_t dtype;
  // the number of axes
  int32_t ndim;
  // DLPACK_FLAG_BITMASK_*
  uint32_t flags;
  // a DLDeviceType
  int32_t device_type;
  // the number of the device
  int32_t device_id;
  // of a managed tensor that was refused; 0: legacy, or no import
  uint32_t version_major;
  // the minor version
  uint32_t version_minor;
};
static_assert(offsetof(WireTensor, handle) == 0);
static_assert(offsetof(WireTensor, layout) == 4);
static_assert(offsetof(WireTensor, byte_offset) == 8);
static_assert(offsetof(WireTensor, nbytes) == 16);
static_assert(offsetof(WireTensor, trace) == 24);
static_assert(offsetof(WireTensor, dtype) == 32);
static_assert(offsetof(WireTensor, ndim) == 36);
static_assert(offsetof(WireTensor, flags) == 40);
static_assert(offsetof(WireTensor, device_type) == 44);
static_assert(offsetof(WireTensor, device_id) == 48);
static_assert(offsetof(WireTensor, version_major) == 52);
static_assert(offsetof(WireTensor, version_minor) == 56);
static_assert(sizeof(WireTensor) == 64);

// A layout that native code keeps from now on.
struct alignas(8) LayoutRequest {
  // a Status, written by native code
  int32_t status;
  // its number, which JavaScript chooses
  uint32_t number;
  // the layout, whole; nothing else of the tensor is used
  WireTensor tensor;
  // room for the shape and strides of the tensor
  double dims[128];
};
static_assert(offsetof(LayoutRequest, status) == 0);
static_assert(offsetof(LayoutRequest, number) == 4);
static_assert(offsetof(LayoutRequest, tensor) == 8);
static_assert(offsetof(LayoutRequest, dims) == 72);
static_assert(sizeof(LayoutRequest) == 1096);

// A tensor that native code describes, or the tensor of a ticket: the rest of the request is plain arguments.
struct alignas(8) TensorResult {
  // a Status, written by native code
  int32_t status;
  // the tensor; if it was refused, its known fields
  WireTensor tensor;
  // room for the shape and strides of the tensor
  double dims[128];
};
static_assert(offsetof(TensorResult, status) == 0);
static_assert(offsetof(TensorResult, tensor) == 8);
static_assert(offsetof(TensorResult, dims) == 72);
static_assert(sizeof(TensorResult) == 1096);

// An import of the managed tensor at an address.
struct alignas(8) ImportRequest {
  // a Status, written by native code
  int32_t status;
  // of the managed tensor
  uint64_t address;
  // the result
  WireTensor tensor;
  // room for the shape and strides of the tensor
  double dims[128];
};
static_assert(offsetof(ImportRequest, status) == 0);
static_assert(offsetof(ImportRequest, address) == 8);
static_assert(offsetof(ImportRequest, tensor) == 16);
static_assert(offsetof(ImportRequest, dims) == 80);
static_assert(sizeof(ImportRequest) == 1104);

// An export of a tensor.
struct alignas(8) ExportRequest {
  // a Status, written by native code
  int32_t status;
  // of the new managed tensor
  uint64_t address;
  // the tensor to export
  WireTensor tensor;
};
static_assert(offsetof(ExportRequest, status) == 0);
static_assert(offsetof(ExportRequest, address) == 8);
static_assert(offsetof(ExportRequest, tensor) == 16);
static_assert(sizeof(ExportRequest) == 80);

// New host memory.
struct alignas(8) AllocateRequest {
  // a Status, written by native code
  int32_t status;
  // a storage in the table of the instance
  uint32_t handle;
  // the number of bytes
  double nbytes;
  // how many of the last bytes are zero
  double cleared;
};
static_assert(offsetof(AllocateRequest, status) == 0);
static_assert(offsetof(AllocateRequest, handle) == 4);
static_assert(offsetof(AllocateRequest, nbytes) == 8);
static_assert(offsetof(AllocateRequest, cleared) == 16);
static_assert(sizeof(AllocateRequest) == 24);

// Bytes for a storage. They follow the message.
struct alignas(8) StageRequest {
  // a Status, written by native code
  int32_t status;
  // the storage; 0: a new one, whose handle native code writes
  uint32_t handle;
  // the size of a new storage
  double nbytes;
  // the offset in the storage
  double offset;
  // the number of bytes
  double count;
};
static_assert(offsetof(StageRequest, status) == 0);
static_assert(offsetof(StageRequest, handle) == 4);
static_assert(offsetof(StageRequest, nbytes) == 8);
static_assert(offsetof(StageRequest, offset) == 16);
static_assert(offsetof(StageRequest, count) == 24);
static_assert(sizeof(StageRequest) == 32);

// New memory with the elements of a tensor, row-major and converted.
struct alignas(8) CopyRequest {
  // a Status, written by native code
  int32_t status;
  // a storage in the table of the instance
  uint32_t handle;
  // the packed dtype that is written
  uint32_t to_type;
  // the largest number of threads
  int32_t threads;
  // the tensor that is read; the handle 0 means a typed array
  WireTensor tensor;
};
static_assert(offsetof(CopyRequest, status) == 0);
static_assert(offsetof(CopyRequest, handle) == 4);
static_assert(offsetof(CopyRequest, to_type) == 8);
static_assert(offsetof(CopyRequest, threads) == 12);
static_assert(offsetof(CopyRequest, tensor) == 16);
static_assert(sizeof(CopyRequest) == 80);

// A pass of src/values/pass.ts, which copies or casts elements.
struct alignas(8) ConvertRequest {
  // 1 when the pass ran, written by native code
  uint32_t is_done;
  // the storage that is read; 0: a typed array
  uint32_t from_handle;
  // the storage that is written; 0: a typed array
  uint32_t to_handle;
  // the packed dtype that is read
  uint32_t from_type;
  // the packed dtype that is written
  uint32_t to_type;
  // the number of axes
  int32_t ndim;
  // the largest number of threads
  int32_t threads;
  // the axis along which scale and offset change; -1: they are the same everywhere
  int32_t scaled_axis;
  // 1: the numbers are scaled
  uint32_t is_scaled;
  // bits from the start to the first element that is read
  double from_bit;
  // bits from the start to the first element that is written
  double to_bit;
  // lengths of the axes
  double shape[66];
  // bits from one element to the next in the source
  double from_steps[66];
  // bits from one element to the next in the target
  double to_steps[66];
};
static_assert(offsetof(ConvertRequest, is_done) == 0);
static_assert(offsetof(ConvertRequest, from_handle) == 4);
static_assert(offsetof(ConvertRequest, to_handle) == 8);
static_assert(offsetof(ConvertRequest, from_type) == 12);
static_assert(offsetof(ConvertRequest, to_type) == 16);
static_assert(offsetof(ConvertRequest, ndim) == 20);
static_assert(offsetof(ConvertRequest, threads) == 24);
static_assert(offsetof(ConvertRequest, scaled_axis) == 28);
static_assert(offsetof(ConvertRequest, is_scaled) == 32);
static_assert(offsetof(ConvertRequest, from_bit) == 40);
static_assert(offsetof(ConvertRequest, to_bit) == 48);
static_assert(offsetof(ConvertRequest, shape) == 56);
static_assert(offsetof(ConvertRequest, from_steps) == 584);
static_assert(offsetof(ConvertRequest, to_steps) == 1112);
static_assert(sizeof(ConvertRequest) == 1640);

}  // namespace dlpack
