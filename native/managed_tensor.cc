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

template <class Managed>
Managed* ExportManaged(const Frame& frame, Storage* storage) {
  const int32_t ndim = frame.ndim;
  void* block = malloc(sizeof(Exported<Managed>) + sizeof(int64_t) * 2 * static_cast<size_t>(ndim));
  if (block == nullptr) return nullptr;
  Exported<Managed>* exported = static_cast<Exported<Managed>*>(block);
  Managed* managed = &exported->managed;
  SetVersion(managed, frame);
  managed->manager_ctx = exported;
  managed->deleter = DeleteExported<Managed>;
  exported->storage = storage;
  exported->trace = frame.trace == 0 ? nullptr : BeginTrace(frame.trace);

  DLTensor& tensor = managed->dl_tensor;
  bool empty = false;
  for (int32_t i = 0; i < ndim; ++i) {
    exported->dims[i] = static_cast<int64_t>(frame.shape[i]);
    exported->dims[ndim + i] = static_cast<int64_t>(frame.strides[i]);
    if (exported->dims[i] == 0) empty = true;
  }
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
  RetainStorage(storage);
  Count(counts.exports, 1);
  return managed;
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

// Row-major strides for the axes whose stride is absent or, for an axis that is never stepped along, meaningless.
static bool FillStrides(const DLTensor& tensor, bool empty, Frame* frame) {
  int64_t step = 1;
  for (int32_t i = tensor.ndim - 1; i >= 0; --i) {
    const int64_t length = tensor.shape[i];
    int64_t stride = tensor.strides == nullptr ? step : tensor.strides[i];
    if (stride > kMaxSafe || stride < -kMaxSafe) {
      if (length > 1 && !empty) return false;
      stride = step;
    }
    frame->strides[i] = static_cast<double>(stride);
    if (__builtin_mul_overflow(step, length == 0 ? int64_t{1} : length, &step) || step > kMaxSafe) return false;
  }
  return true;
}

// Checks a foreign tensor and describes it. On success `*low` and `*nbytes` are the bytes it touches, from the first
// element on. Reads every field once: another thread cannot change what was checked.
static Status Describe(const DLTensor& source, uint64_t flags, Frame* frame, int64_t* low, int64_t* nbytes) {
  DLTensor tensor = source;
  frame->ndim = tensor.ndim;
  frame->dtype_code = tensor.dtype.code;
  frame->dtype_bits = tensor.dtype.bits;
  frame->dtype_lanes = tensor.dtype.lanes;
  frame->device_type = tensor.device.device_type;
  frame->device_id = tensor.device.device_id;
  frame->flags = static_cast<uint32_t>(flags);
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
  tensor.shape = shape;
  if (!FillStrides(tensor, empty, frame)) return kTooLarge;

  const int64_t item_bits = int64_t{tensor.dtype.bits} * tensor.dtype.lanes;
  const bool padded = (flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) != 0;
  const int64_t stride_bits = padded ? (item_bits + 7) / 8 * 8 : item_bits;
  int64_t low_bits = 0;
  int64_t high_bits = empty ? 0 : item_bits;
  for (int32_t i = 0; i < tensor.ndim && !empty; ++i) {
    int64_t reach;
    if (__builtin_mul_overflow(shape[i] - 1, static_cast<int64_t>(frame->strides[i]), &reach) ||
        __builtin_mul_overflow(reach, stride_bits, &reach) ||
        __builtin_add_overflow(reach < 0 ? low_bits : high_bits, reach, reach < 0 ? &low_bits : &high_bits)) {
      return kTooLarge;
    }
  }
  const int64_t low_bytes = low_bits >= 0 ? 0 : -((-low_bits + 7) / 8);
  const int64_t high_bytes = high_bits / 8 + (high_bits % 8 != 0);
  if (high_bytes - low_bytes > kMaxSafe) return kTooLarge;
  *low = low_bytes;
  *nbytes = high_bytes - low_bytes;

  frame->addressable = IsAddressable(tensor.device.device_type);
  if (empty) return kOk;
  if (tensor.data == nullptr) return kNullData;
  if (tensor.byte_offset > static_cast<uint64_t>(kMaxSafe)) return kTooLarge;
  if (frame->addressable) {
    uint64_t first;
    if (__builtin_add_overflow(reinterpret_cast<uint64_t>(tensor.data), tensor.byte_offset, &first)) return kTooLarge;
    if (low_bytes < 0 && first < static_cast<uint64_t>(-low_bytes)) return kTooLarge;
    if (first + static_cast<uint64_t>(high_bytes) < first) return kTooLarge;
    // A typed array cannot start between its elements. Wider scalars are shown as bytes.
    const uint64_t part = (tensor.dtype.code == kDLComplex ? tensor.dtype.bits / 2 : tensor.dtype.bits) / 8;
    if (part > 1 && part <= 8 && first % part != 0) return kMisaligned;
  } else if (low_bytes < 0 && tensor.byte_offset < static_cast<uint64_t>(-low_bytes)) {
    return kTooLarge;
  }
  return kOk;
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
static Storage* Unwrap(Managed* managed, int64_t low, int64_t nbytes, Frame* frame) {
  if (managed->deleter != DeleteExported<Managed>) return nullptr;
  Exported<Managed>* exported = reinterpret_cast<Exported<Managed>*>(managed);
  Storage* storage = exported->storage;
  const DLTensor& tensor = managed->dl_tensor;
  uint64_t offset = 0;
  if (tensor.data != nullptr) {
    offset = tensor.byte_offset;
    if (frame->addressable) offset += static_cast<char*>(tensor.data) - static_cast<char*>(storage->data);
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

template <class Managed>
Storage* ImportManaged(Managed* managed, Frame* frame) {
  const uint64_t flags = ReadVersion(managed, frame);
  if (!IsVersionSupported(managed)) {
    // Another layout: nothing but the deleter may be touched.
    frame->status = kVersion;
    DeleteManaged(managed);
    return nullptr;
  }
  int64_t low = 0;
  int64_t nbytes = 0;
  frame->status = Describe(managed->dl_tensor, flags, frame, &low, &nbytes);
  if (frame->status != kOk) {
    DeleteManaged(managed);
    return nullptr;
  }
  Storage* own = Unwrap(managed, low, nbytes, frame);
  if (own != nullptr) return own;

  const DLTensor& tensor = managed->dl_tensor;
  char* data = static_cast<char*>(tensor.data);
  if (data != nullptr && frame->addressable) {
    data += tensor.byte_offset + static_cast<uint64_t>(low);
    frame->byte_offset = static_cast<double>(-low);
  } else {
    frame->byte_offset = static_cast<double>(data == nullptr ? 0 : tensor.byte_offset);
    if (data != nullptr) nbytes += low + static_cast<int64_t>(tensor.byte_offset);
  }
  frame->nbytes = static_cast<double>(nbytes);
  Storage* storage =
      WrapStorage(data, static_cast<uint64_t>(nbytes), DestroyImported<Managed>, managed, 0);
  if (storage == nullptr) {
    frame->status = kOutOfMemory;
    DeleteManaged(managed);
    return nullptr;
  }
  Count(counts.imports, 1);
  return storage;
}

template DLManagedTensor* ExportManaged(const Frame&, Storage*);
template DLManagedTensorVersioned* ExportManaged(const Frame&, Storage*);
template Storage* ImportManaged(DLManagedTensor*, Frame*);
template Storage* ImportManaged(DLManagedTensorVersioned*, Frame*);

}  // namespace dlpack
