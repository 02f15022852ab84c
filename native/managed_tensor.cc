#include "managed_tensor.h"

#include <stdlib.h>

#include "trace.h"

namespace dlpack {

// Number.MAX_SAFE_INTEGER: what a JavaScript number holds exactly.
static const int64_t kMaxSafe = (int64_t{1} << 53) - 1;

// One allocation: the struct, the reference it holds, shape and strides.
template <class Managed>
struct Exported {
  Managed managed;  // first: the deleter gets its address
  Storage* storage;
  Trace* trace;  // NULL unless JavaScript asked to know where exports are made
  int64_t dims[];
};

// Any thread, any time: no JavaScript is involved.
template <class Managed>
static void DeleteExported(Managed* self) {
  Exported<Managed>* exported = reinterpret_cast<Exported<Managed>*>(self);
  Storage* storage = exported->storage;
  EndTrace(exported->trace);
  free(exported);
  Count(counts.exports, -1);
  ReleaseStorage(storage);
}

static void SetVersion(DLManagedTensor*, const Frame&) {}
static void SetVersion(DLManagedTensorVersioned* managed, const Frame& frame) {
  managed->version.major = DLPACK_MAJOR_VERSION;
  managed->version.minor = DLPACK_MINOR_VERSION;
  managed->flags = frame.flags;
}

static uint64_t ReadVersion(const DLManagedTensor*, Frame*) { return 0; }
static uint64_t ReadVersion(const DLManagedTensorVersioned* managed, Frame* frame) {
  frame->version_major = managed->version.major;
  frame->version_minor = managed->version.minor;
  return managed->flags;
}

static bool IsVersionSupported(const DLManagedTensor*) { return true; }
static bool IsVersionSupported(const DLManagedTensorVersioned* managed) {
  return managed->version.major == DLPACK_MAJOR_VERSION;
}

// Device types whose `data` is an address: the same list as in src/device.ts.
static bool IsAddressable(int32_t device_type) {
  switch (device_type) {
    case 1: case 2: case 3: case 10: case 11: case 13: case 14:
      return true;
    default:
      return false;
  }
}

// Strides as they are; row-major ones where they are absent or, for an axis that is never stepped along, meaningless.
static bool FillStrides(int32_t ndim, const int64_t* shape, const int64_t* given, bool empty, int64_t* strides) {
  int64_t step = 1;
  for (int32_t i = ndim - 1; i >= 0; --i) {
    strides[i] = given == nullptr ? step : given[i];
    if (strides[i] > kMaxSafe || strides[i] < -kMaxSafe) {
      if (shape[i] > 1 && !empty) return false;
      strides[i] = step;
    }
    if (__builtin_mul_overflow(step, shape[i] == 0 ? int64_t{1} : shape[i], &step) || step > kMaxSafe) return false;
  }
  return true;
}

// The bytes that a tensor touches, from `low` (zero or less) to `high`, relative to its first element. False when they do
// not fit into what JavaScript can count.
static bool SpanOf(int32_t ndim, const int64_t* shape, const int64_t* strides, DLDataType dtype, uint64_t flags,
                   int64_t* low, int64_t* high) {
  const int64_t item_bits = int64_t{dtype.bits} * dtype.lanes;
  const bool padded = (flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) != 0;
  const int64_t stride_bits = padded ? (item_bits + 7) / 8 * 8 : item_bits;
  int64_t low_bits = 0;
  int64_t high_bits = item_bits;
  for (int32_t i = 0; i < ndim; ++i) {
    if (shape[i] == 0) {
      *low = *high = 0;
      return true;
    }
    int64_t reach;
    if (__builtin_mul_overflow(shape[i] - 1, strides[i], &reach) ||
        __builtin_mul_overflow(reach, stride_bits, &reach) ||
        __builtin_add_overflow(reach < 0 ? low_bits : high_bits, reach, reach < 0 ? &low_bits : &high_bits)) {
      return false;
    }
  }
  if (low_bits < -kMaxSafe * 8 || high_bits > kMaxSafe * 8) return false;
  *low = low_bits >= 0 ? 0 : -((-low_bits + 7) / 8);
  *high = high_bits / 8 + (high_bits % 8 != 0);
  return *high - *low <= kMaxSafe;
}

// Shape and strides of the frame as integers, if they are such and the tensor lies inside so many bytes.
static Status ReadFrame(const Frame& frame, uint64_t nbytes, int64_t* shape, int64_t* strides, bool* empty) {
  const double most = static_cast<double>(kMaxSafe);
  if (frame.dtype_lanes == 0 || frame.dtype_bits == 0) return kDType;
  *empty = false;
  for (int32_t i = 0; i < frame.ndim; ++i) {
    // The comparisons are false for NaN, too.
    if (!(frame.shape[i] >= 0 && frame.shape[i] <= most)) return kTooLarge;
    if (!(frame.strides[i] >= -most && frame.strides[i] <= most)) return kTooLarge;
    shape[i] = static_cast<int64_t>(frame.shape[i]);
    strides[i] = static_cast<int64_t>(frame.strides[i]);
    if (shape[i] == 0) *empty = true;
  }
  if (!(frame.byte_offset >= 0 && frame.byte_offset <= most)) return kTooLarge;
  if (*empty) return kOk;
  int64_t low;
  int64_t high;
  const DLDataType dtype = {frame.dtype_code, frame.dtype_bits, frame.dtype_lanes};
  if (!SpanOf(frame.ndim, shape, strides, dtype, frame.flags, &low, &high)) return kTooLarge;
  const int64_t offset = static_cast<int64_t>(frame.byte_offset);
  return offset + low >= 0 && static_cast<uint64_t>(offset + high) <= nbytes ? kOk : kTooLarge;
}

Status CheckFrame(const Frame& frame, uint64_t nbytes) {
  if (frame.ndim < 0 || frame.ndim > kMaxNdim) return kNdim;
  int64_t shape[kMaxNdim];
  int64_t strides[kMaxNdim];
  bool empty;
  return ReadFrame(frame, nbytes, shape, strides, &empty);
}

template <class Managed>
Managed* ExportManaged(const Frame& frame, Storage* storage, Status* status) {
  const int32_t ndim = frame.ndim;
  *status = ndim < 0 || ndim > kMaxNdim ? kNdim : kOk;
  if (*status != kOk) return nullptr;
  void* block = malloc(sizeof(Exported<Managed>) + sizeof(int64_t) * 2 * static_cast<size_t>(ndim));
  *status = block == nullptr ? kOutOfMemory : kOk;
  if (block == nullptr) return nullptr;
  Exported<Managed>* exported = static_cast<Exported<Managed>*>(block);
  bool empty;
  *status = ReadFrame(frame, storage->nbytes, exported->dims, exported->dims + ndim, &empty);
  if (*status != kOk) {
    free(block);
    return nullptr;
  }
  Managed* managed = &exported->managed;
  SetVersion(managed, frame);
  managed->manager_ctx = exported;
  managed->deleter = DeleteExported<Managed>;
  exported->storage = storage;
  exported->trace = frame.trace == 0 ? nullptr : BeginTrace(frame.trace);

  DLTensor& tensor = managed->dl_tensor;
  // The offset goes into the pointer wherever it can: several consumers ignore byte_offset.
  const uint64_t offset = static_cast<uint64_t>(frame.byte_offset);
  tensor.data = empty ? nullptr : static_cast<char*>(storage->data) + (frame.addressable ? offset : 0);
  tensor.byte_offset = empty || frame.addressable ? 0 : offset;
  tensor.device.device_type = frame.device_type;
  tensor.device.device_id = frame.device_id;
  tensor.ndim = ndim;
  tensor.dtype.code = frame.dtype_code;
  tensor.dtype.bits = frame.dtype_bits;
  tensor.dtype.lanes = frame.dtype_lanes;
  tensor.shape = exported->dims;
  tensor.strides = exported->dims + ndim;
  return managed;
}

// Checks a foreign tensor and describes it. `tensor` is a copy, read from the producer once: another thread cannot change
// what was checked. On success `*low` and `*nbytes` are the bytes it touches, from the first element on.
static Status Describe(const DLTensor& tensor, uint64_t flags, Frame* frame, int64_t* low, int64_t* nbytes) {
  frame->ndim = tensor.ndim;
  frame->dtype_code = tensor.dtype.code;
  frame->dtype_bits = tensor.dtype.bits;
  frame->dtype_lanes = tensor.dtype.lanes;
  frame->device_type = tensor.device.device_type;
  frame->device_id = tensor.device.device_id;
  frame->flags = static_cast<uint32_t>(flags);
  frame->addressable = IsAddressable(tensor.device.device_type);
  *low = *nbytes = 0;
  if (tensor.ndim < 0 || tensor.ndim > kMaxNdim) return kNdim;
  if (tensor.dtype.lanes == 0 || tensor.dtype.bits == 0) return kDType;
  if (tensor.ndim > 0 && tensor.shape == nullptr) return kNullShape;

  int64_t shape[kMaxNdim];
  bool empty = false;
  int64_t count = 1;
  for (int32_t i = 0; i < tensor.ndim; ++i) {
    shape[i] = tensor.shape[i];
    frame->shape[i] = static_cast<double>(shape[i]);
    if (shape[i] < 0) return kNegativeShape;
    if (shape[i] > kMaxSafe) return kTooLarge;
    if (shape[i] == 0) empty = true;
    if (__builtin_mul_overflow(count, shape[i] == 0 ? int64_t{1} : shape[i], &count) || count > kMaxSafe) {
      return kTooLarge;
    }
  }
  int64_t strides[kMaxNdim];
  if (!FillStrides(tensor.ndim, shape, tensor.strides, empty, strides)) return kTooLarge;
  for (int32_t i = 0; i < tensor.ndim; ++i) frame->strides[i] = static_cast<double>(strides[i]);
  int64_t high;
  if (!SpanOf(tensor.ndim, shape, strides, tensor.dtype, flags, low, &high)) return kTooLarge;
  *nbytes = high - *low;

  if (empty) return kOk;
  if (tensor.data == nullptr) return kNullData;
  if (tensor.byte_offset > static_cast<uint64_t>(kMaxSafe)) return kTooLarge;
  if (frame->addressable) {
    uint64_t first;
    if (__builtin_add_overflow(reinterpret_cast<uint64_t>(tensor.data), tensor.byte_offset, &first)) return kTooLarge;
    if (*low < 0 && first < static_cast<uint64_t>(-*low)) return kTooLarge;
    if (first + static_cast<uint64_t>(high) < first) return kTooLarge;
    // A typed array cannot start between its elements. Wider scalars are shown as bytes.
    const uint64_t part = (tensor.dtype.code == kDLComplex ? tensor.dtype.bits / 2 : tensor.dtype.bits) / 8;
    if (part > 1 && part <= 8 && first % part != 0) return kMisaligned;
  } else if (*low < 0 && tensor.byte_offset < static_cast<uint64_t>(-*low)) {
    return kTooLarge;
  }
  return kOk;
}

// A Storage over the bytes that a described tensor touches; NULL when out of memory.
static Storage* WrapDescribed(const DLTensor& tensor, int64_t low, int64_t nbytes, Frame* frame,
                              void (*destroy)(Storage*), void* owner) {
  char* data = nullptr;
  frame->byte_offset = 0;
  if (nbytes > 0) {
    data = static_cast<char*>(tensor.data);
    if (frame->addressable) {
      // The storage begins at the lowest byte that the elements touch.
      data += tensor.byte_offset + static_cast<uint64_t>(low);
      frame->byte_offset = static_cast<double>(-low);
    } else {
      nbytes += low + static_cast<int64_t>(tensor.byte_offset);
      frame->byte_offset = static_cast<double>(tensor.byte_offset);
    }
  }
  frame->nbytes = static_cast<double>(nbytes);
  Storage* storage = WrapStorage(data, static_cast<uint64_t>(nbytes), destroy, owner, 0);
  if (storage != nullptr) Count(counts.imports, 1);
  return storage;
}

template <class Managed>
static void DestroyImported(Storage* self) {
  Managed* managed = static_cast<Managed*>(self->owner);
  free(self);
  Count(counts.imports, -1);
  DeleteManaged(managed);
}

// One of our own exports comes home: its reference to the storage is taken back, the struct is not needed any more.
// NULL when it is not ours, or when somebody pointed it at other memory meanwhile.
template <class Managed>
static Storage* Unwrap(Managed* managed, const DLTensor& tensor, int64_t low, int64_t nbytes, Frame* frame) {
  if (managed->deleter != DeleteExported<Managed>) return nullptr;
  Exported<Managed>* exported = reinterpret_cast<Exported<Managed>*>(managed);
  Storage* storage = exported->storage;
  uint64_t offset = 0;
  if (nbytes > 0) {
    offset = tensor.byte_offset;
    if (frame->addressable) {
      offset += static_cast<char*>(tensor.data) - static_cast<char*>(storage->data);
    } else if (tensor.data != storage->data) {
      return nullptr;
    }
    const uint64_t first = offset + static_cast<uint64_t>(low);  // wraps around when it lies before the storage
    if (first > storage->nbytes || static_cast<uint64_t>(nbytes) > storage->nbytes - first) return nullptr;
  }
  frame->byte_offset = static_cast<double>(offset);
  frame->nbytes = static_cast<double>(storage->nbytes);
  EndTrace(exported->trace);
  free(exported);
  Count(counts.exports, -1);
  return storage;
}

// Refuses a managed tensor. The status is written last: a deleter may come back into this addon and use the frame.
template <class Managed>
static Storage* Refuse(Managed* managed, Status status, Frame* frame) {
  const uint32_t major = frame->version_major;
  const uint32_t minor = frame->version_minor;
  DeleteManaged(managed);
  frame->version_major = major;
  frame->version_minor = minor;
  frame->status = status;
  return nullptr;
}

template <class Managed>
Storage* ImportManaged(Managed* managed, Frame* frame) {
  const uint64_t flags = ReadVersion(managed, frame);
  // Another major version has another layout: nothing but the deleter may be touched.
  if (!IsVersionSupported(managed)) return Refuse(managed, kVersion, frame);
  const DLTensor tensor = managed->dl_tensor;
  int64_t low;
  int64_t nbytes;
  const Status status = Describe(tensor, flags, frame, &low, &nbytes);
  if (status != kOk) return Refuse(managed, status, frame);
  frame->status = kOk;
  Storage* own = Unwrap(managed, tensor, low, nbytes, frame);
  if (own != nullptr) return own;

  Storage* storage = WrapDescribed(tensor, low, nbytes, frame, DestroyImported<Managed>, managed);
  return storage == nullptr ? Refuse(managed, kOutOfMemory, frame) : storage;
}

Storage* WrapTensor(const DLTensor& tensor, Frame* frame, void (*destroy)(Storage*), void* owner) {
  int64_t low;
  int64_t nbytes;
  frame->status = Describe(tensor, 0, frame, &low, &nbytes);
  if (frame->status != kOk) return nullptr;
  Storage* storage = WrapDescribed(tensor, low, nbytes, frame, destroy, owner);
  if (storage == nullptr) frame->status = kOutOfMemory;
  return storage;
}

template DLManagedTensor* ExportManaged(const Frame&, Storage*, Status*);
template DLManagedTensorVersioned* ExportManaged(const Frame&, Storage*, Status*);
template Storage* ImportManaged(DLManagedTensor*, Frame*);
template Storage* ImportManaged(DLManagedTensorVersioned*, Frame*);

}  // namespace dlpack
