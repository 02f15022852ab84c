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
  Trace* trace;       // NULL unless JavaScript asked to know where exports are made
  size_t block_size;  // of the block; nothing that a consumer can write says how many axes there were
  int64_t dims[];
};

template <class Managed>
static void FreeExported(Exported<Managed>* exported, ThreadCache* cache) {
  if (exported->trace != nullptr) EndTrace(exported->trace);
  if (exported->block_size == kLargeBlock) {
    GiveBlockBack(cache, kLargeBlock, exported);
  } else {
    free(exported);
  }
  Count(cache, counts.exports, -1);
}

// Any thread, any time: no JavaScript is involved.
template <class Managed>
static void DeleteExported(Managed* self) {
  Exported<Managed>* exported = reinterpret_cast<Exported<Managed>*>(self);
  Storage* storage = exported->storage;
  ThreadCache* cache = this_thread;
  FreeExported(exported, cache);
  ReleaseStorage(storage, cache);
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
    case 1:
    case 2:
    case 3:
    case 10:
    case 11:
    case 13:
    case 14: return true;
    default: return false;
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

// The bytes that a tensor touches, from `low` (zero or less) to `high`, relative to its first element. False when they
// do not fit into what JavaScript can count.
static inline bool SpanOf(int32_t ndim, const int64_t* shape, const int64_t* strides, DLDataType dtype, uint64_t flags,
                          int64_t* low, int64_t* high) {
  const int64_t item_bits = int64_t{dtype.bits} * dtype.lanes;
  const bool padded = (flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) != 0;
  const int64_t stride_bits = padded ? (item_bits + 7) / 8 * 8 : item_bits;
  // In elements first, so that what can overflow is multiplied once.
  int64_t first = 0;
  int64_t last = 0;
  bool overflow = false;
  for (int32_t i = 0; i < ndim; ++i) {
    if (shape[i] == 0) {
      *low = *high = 0;
      return true;
    }
    int64_t reach;
    overflow |= __builtin_mul_overflow(shape[i] - 1, strides[i], &reach);
    overflow |= __builtin_add_overflow(first, reach < 0 ? reach : 0, &first);
    overflow |= __builtin_add_overflow(last, reach < 0 ? 0 : reach, &last);
  }
  overflow |= __builtin_mul_overflow(first, stride_bits, &first);
  overflow |= __builtin_mul_overflow(last, stride_bits, &last);
  overflow |= __builtin_add_overflow(last, item_bits, &last);
  if (overflow || first < -kMaxSafe * 8 || last > kMaxSafe * 8) return false;
  *low = -((-first + 7) >> 3);
  *high = (last + 7) >> 3;
  return *high - *low <= kMaxSafe;
}

// Shape and strides of the frame as integers, if they are such and the tensor lies inside so many bytes.
static inline Status ReadFrame(const Frame& frame, uint64_t nbytes, int64_t* shape, int64_t* strides, bool* empty) {
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
Managed* ExportManaged(const Frame& frame, Storage* storage, Status* status, ThreadCache* cache) {
  const int32_t ndim = frame.ndim;
  *status = ndim < 0 || ndim > kMaxNdim ? kNdim : kOk;
  if (*status != kOk) return nullptr;
  const size_t size = sizeof(Exported<Managed>) + sizeof(int64_t) * 2 * static_cast<size_t>(ndim);
  void* block = size <= kLargeBlock ? AllocateBlock(cache, kLargeBlock) : malloc(size);
  *status = block == nullptr ? kOutOfMemory : kOk;
  if (block == nullptr) return nullptr;
  Exported<Managed>* exported = static_cast<Exported<Managed>*>(block);
  exported->block_size = size <= kLargeBlock ? kLargeBlock : size;
  exported->trace = nullptr;
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
  if (frame.trace != 0) exported->trace = BeginTrace(frame.trace);

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

// What a tensor's elements touch, from the first one on.
struct Reach {
  int64_t low;
  int64_t high;
  bool is_empty;
};

// Checks the shape of a foreign tensor and describes it.
static Status DescribeShape(const DLTensor& tensor, uint64_t flags, Frame* frame, Reach* reach) {
  *reach = Reach{0, 0, false};
  if (tensor.ndim < 0 || tensor.ndim > kMaxNdim) return kNdim;
  if (tensor.dtype.lanes == 0 || tensor.dtype.bits == 0) return kDType;
  if (tensor.ndim > 0 && tensor.shape == nullptr) return kNullShape;
  int64_t shape[kMaxNdim];
  int64_t count = 1;
  for (int32_t i = 0; i < tensor.ndim; ++i) {
    shape[i] = tensor.shape[i];
    frame->shape[i] = static_cast<double>(shape[i]);
    if (shape[i] < 0) return kNegativeShape;
    if (shape[i] > kMaxSafe) return kTooLarge;
    if (shape[i] == 0) reach->is_empty = true;
    if (__builtin_mul_overflow(count, shape[i] == 0 ? int64_t{1} : shape[i], &count) || count > kMaxSafe) {
      return kTooLarge;
    }
  }
  int64_t strides[kMaxNdim];
  if (!FillStrides(tensor.ndim, shape, tensor.strides, reach->is_empty, strides)) return kTooLarge;
  for (int32_t i = 0; i < tensor.ndim; ++i) frame->strides[i] = static_cast<double>(strides[i]);
  return SpanOf(tensor.ndim, shape, strides, tensor.dtype, flags, &reach->low, &reach->high) ? kOk : kTooLarge;
}

// Whether the memory of a foreign tensor can be what its shape reaches.
static inline Status CheckMemory(const DLTensor& tensor, bool is_addressable, const Reach& reach) {
  if (reach.is_empty) return kOk;
  if (tensor.data == nullptr) return kNullData;
  if (tensor.byte_offset > static_cast<uint64_t>(kMaxSafe)) return kTooLarge;
  const uint64_t before = static_cast<uint64_t>(-reach.low);
  if (!is_addressable) return tensor.byte_offset < before ? kTooLarge : kOk;
  uint64_t first;
  if (__builtin_add_overflow(reinterpret_cast<uint64_t>(tensor.data), tensor.byte_offset, &first)) return kTooLarge;
  if (first < before) return kTooLarge;
  if (first + static_cast<uint64_t>(reach.high) < first) return kTooLarge;
  // A typed array cannot start between its elements. Wider scalars are shown as bytes.
  const uint64_t part = (tensor.dtype.code == kDLComplex ? tensor.dtype.bits / 2 : tensor.dtype.bits) / 8;
  const bool is_aligned = part <= 1 || part > 8 || ((part & (part - 1)) == 0 ? first & (part - 1) : first % part) == 0;
  return is_aligned ? kOk : kMisaligned;
}

// Whether the tensor is of this kind. Its shape is read once, and what was read is what the kind holds.
static inline bool IsOfKind(const DLTensor& tensor, uint64_t flags, const Kind& kind) {
  if (!kind.is_comparable || tensor.ndim != kind.ndim || flags != kind.flags || tensor.dtype.code != kind.dtype.code ||
      tensor.dtype.bits != kind.dtype.bits || tensor.dtype.lanes != kind.dtype.lanes ||
      tensor.device.device_type != kind.device.device_type || tensor.device.device_id != kind.device.device_id ||
      (tensor.strides != nullptr) != kind.has_strides || (tensor.shape == nullptr && kind.ndim > 0)) {
    return false;
  }
  for (int32_t i = 0; i < kind.ndim; ++i) {
    if (tensor.shape[i] != kind.shape[i] || (kind.has_strides && tensor.strides[i] != kind.strides[i])) return false;
  }
  return true;
}

// Remembers what the frame describes as a new kind. The strides are those the producer gave: absent ones stay absent.
static void BecomeKind(const DLTensor& tensor, uint64_t flags, const Frame& frame, const Reach& reach, Kind* kind) {
  if (++kind->number == 0) kind->number = 1;
  kind->ndim = tensor.ndim;
  kind->dtype = tensor.dtype;
  kind->device = tensor.device;
  kind->flags = flags;
  kind->has_strides = tensor.strides != nullptr;
  kind->is_empty = reach.is_empty;
  kind->low = reach.low;
  kind->high = reach.high;
  kind->is_comparable = tensor.ndim <= kMaxKindNdim;
  if (!kind->is_comparable) return;
  for (int32_t i = 0; i < tensor.ndim; ++i) {
    kind->shape[i] = static_cast<int64_t>(frame.shape[i]);
    kind->strides[i] = static_cast<int64_t>(frame.strides[i]);
  }
}

// Checks a foreign tensor and describes it. `tensor` is a copy, read from the producer once: another thread cannot
// change what was checked. With a kind that JavaScript remembers and that fits, the frame's shape and strides stay as
// they are.
static inline Status Describe(const DLTensor& tensor, uint64_t flags, Frame* frame, Kind* kind, Reach* reach) {
  frame->ndim = tensor.ndim;
  frame->dtype_code = tensor.dtype.code;
  frame->dtype_bits = tensor.dtype.bits;
  frame->dtype_lanes = tensor.dtype.lanes;
  frame->device_type = tensor.device.device_type;
  frame->device_id = tensor.device.device_id;
  frame->flags = static_cast<uint32_t>(flags);
  frame->addressable = IsAddressable(tensor.device.device_type);
  frame->kind = 0;
  if (kind != nullptr && kind->number != 0 && frame->known == kind->number && IsOfKind(tensor, flags, *kind)) {
    frame->kind = kind->number;
    *reach = Reach{kind->low, kind->high, kind->is_empty};
    const Status status = CheckMemory(tensor, frame->addressable, *reach);
    if (status != kOk) {
      Reach again;
      DescribeShape(tensor, flags, frame, &again);  // for the message
    }
    return status;
  }
  Status status = DescribeShape(tensor, flags, frame, reach);
  if (status == kOk) status = CheckMemory(tensor, frame->addressable, *reach);
  if (status == kOk && kind != nullptr) {
    BecomeKind(tensor, flags, *frame, *reach, kind);
    frame->kind = kind->number;
  }
  return status;
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
  ThreadCache* cache = this_thread;
  Storage* storage = WrapStorage(data, static_cast<uint64_t>(nbytes), destroy, owner, 0, cache);
  if (storage != nullptr) Count(cache, counts.imports, 1);
  return storage;
}

template <class Managed>
static void DestroyImported(Storage* self) {
  Managed* managed = static_cast<Managed*>(self->owner);
  FreeStorage(self);
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
  FreeExported(exported, this_thread);
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
Storage* ImportManaged(Managed* managed, Frame* frame, Kind* kind) {
  const uint64_t flags = ReadVersion(managed, frame);
  // Another major version has another layout: nothing but the deleter may be touched.
  if (!IsVersionSupported(managed)) return Refuse(managed, kVersion, frame);
  const DLTensor tensor = managed->dl_tensor;
  Reach reach;
  const Status status = Describe(tensor, flags, frame, kind, &reach);
  if (status != kOk) return Refuse(managed, status, frame);
  const int64_t low = reach.low;
  int64_t nbytes = reach.high - reach.low;
  frame->status = kOk;
  Storage* own = Unwrap(managed, tensor, low, nbytes, frame);
  if (own != nullptr) return own;

  Storage* storage = WrapDescribed(tensor, low, nbytes, frame, DestroyImported<Managed>, managed);
  return storage == nullptr ? Refuse(managed, kOutOfMemory, frame) : storage;
}

Storage* WrapTensor(const DLTensor& tensor, uint64_t flags, Frame* frame, Kind* kind, void (*destroy)(Storage*),
                    void* owner) {
  Reach reach;
  frame->status = Describe(tensor, flags, frame, kind, &reach);
  if (frame->status != kOk) return nullptr;
  Storage* storage = WrapDescribed(tensor, reach.low, reach.high - reach.low, frame, destroy, owner);
  if (storage == nullptr) frame->status = kOutOfMemory;
  return storage;
}

template DLManagedTensor* ExportManaged(const Frame&, Storage*, Status*, ThreadCache*);
template DLManagedTensorVersioned* ExportManaged(const Frame&, Storage*, Status*, ThreadCache*);
template Storage* ImportManaged(DLManagedTensor*, Frame*, Kind*);
template Storage* ImportManaged(DLManagedTensorVersioned*, Frame*, Kind*);

}  // namespace dlpack
