#include "managed_tensor.h"

#include <stdlib.h>

#include "trace.h"

namespace dlpack {

// One allocation: the struct, the reference it holds, shape and strides.
template <class Managed>
struct Exported {
  Managed managed;  // must be first, because the deleter gets its address
  Storage* storage;
  uint32_t trace;     // 0 unless JavaScript records where exports are made
  size_t block_size;  // stored here, because a consumer could overwrite the number of axes
  int64_t dims[];
};

template <class Managed>
static void FreeExported(Exported<Managed>* exported, ThreadCache* cache) {
  if (exported->trace != 0) EndTrace(exported->trace);
  if (exported->block_size == kLargeBlock) {
    GiveBlockBack(cache, kLargeBlock, exported);
  } else {
    free(exported);
  }
  Count(cache, counts.exports, -1);
}

// Any thread, at any time. Runs no JavaScript.
template <class Managed>
static void DeleteExported(Managed* self) {
  Exported<Managed>* exported = reinterpret_cast<Exported<Managed>*>(self);
  Storage* storage = exported->storage;
  ThreadCache* cache = this_thread;
  FreeExported(exported, cache);
  ReleaseStorage(storage, cache);
}

template <class Managed>
static constexpr bool kIsVersioned = __is_same(Managed, DLManagedTensorVersioned);

// Copies the given strides. Uses row-major strides if none are given, or for an axis whose stride is out of range but
// never used.
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

template <class Managed>
Managed* ExportChecked(const Descriptor& descriptor, Storage* storage, ThreadCache* cache) {
  const size_t size = sizeof(Exported<Managed>) + sizeof(int64_t) * 2 * static_cast<size_t>(descriptor.ndim);
  void* block = size <= kLargeBlock ? AllocateBlock(cache, kLargeBlock) : malloc(size);
  if (block == nullptr) return nullptr;
  Exported<Managed>* exported = static_cast<Exported<Managed>*>(block);
  exported->block_size = size <= kLargeBlock ? kLargeBlock : size;
  exported->trace = descriptor.trace == 0 ? 0 : BeginTrace(descriptor.trace);
  exported->storage = storage;
  Managed* managed = &exported->managed;
  if constexpr (kIsVersioned<Managed>) {
    managed->version = DLPackVersion{DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    managed->flags = descriptor.flags;
  }
  managed->manager_ctx = exported;
  managed->deleter = DeleteExported<Managed>;
  managed->dl_tensor = TensorOver(descriptor, storage->data, exported->dims);
  Count(cache, counts.exports, 1);
  return managed;
}

template <class Managed>
Managed* ExportManaged(const Descriptor& descriptor, Storage* storage, Status* status) {
  *status = CheckInside(descriptor, storage->nbytes);
  Managed* managed = *status == kOk ? ExportChecked<Managed>(descriptor, storage, this_thread) : nullptr;
  if (managed != nullptr) {
    RetainStorage(storage);
  } else if (*status == kOk) {
    *status = kOutOfMemory;
  }
  return managed;
}

Status DescribeLayout(const DLTensor& tensor, uint64_t flags, Descriptor* descriptor, Reach* reach) {
  const int32_t ndim = tensor.ndim;
  *reach = Reach{0, 0, false};
  descriptor->dtype = tensor.dtype;
  descriptor->device = tensor.device;
  descriptor->ndim = ndim;
  descriptor->flags = static_cast<uint32_t>(flags);
  if (ndim < 0 || ndim > kMaxNdim) return kNdim;
  const bool has_shape = ndim == 0 || tensor.shape != nullptr;
  for (int32_t i = 0; i < ndim; ++i) {
    descriptor->shape[i] = has_shape ? tensor.shape[i] : 0;
    descriptor->strides[i] = 0;
  }
  if (tensor.dtype.lanes == 0 || tensor.dtype.bits == 0) return kDtype;
  if (!has_shape) return kNullShape;
  int64_t count = 1;
  for (int32_t i = 0; i < ndim; ++i) {
    const int64_t length = descriptor->shape[i];
    if (length < 0) return kNegativeShape;
    if (length > kMaxSafe) return kTooLarge;
    if (length == 0) reach->is_empty = true;
    if (__builtin_mul_overflow(count, length == 0 ? int64_t{1} : length, &count) || count > kMaxSafe) return kTooLarge;
  }
  if (!FillStrides(ndim, descriptor->shape, tensor.strides, reach->is_empty, descriptor->strides)) return kTooLarge;
  return SpanOf(*descriptor, &reach->low, &reach->high) ? kOk : kTooLarge;
}

// A typed array must start at a multiple of its element size. Wider scalars are shown as bytes.
static inline bool IsAligned(DLDataType dtype, uint64_t first) {
  const uint64_t part = (dtype.code == kDLComplex ? dtype.bits / 2 : dtype.bits) / 8;
  return part <= 1 || part > 8 || ((part & (part - 1)) == 0 ? first & (part - 1) : first % part) == 0;
}

bool IsMisaligned(const DLTensor& tensor) {
  return IsAddressable(tensor.device.device_type) && tensor.data != nullptr &&
         !IsAligned(tensor.dtype, reinterpret_cast<uint64_t>(tensor.data) + tensor.byte_offset);
}

// Checks the pointer and the offset of a foreign tensor against the bytes that its shape reaches.
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
  return IsAligned(tensor.dtype, first) ? kOk : kMisaligned;
}

static const int32_t kMaxSignatureNdim = 8;

// Whether the tensor has this signature. The tensor's shape is read only once; on a match the values in the signature
// are used.
static inline bool HasSignature(const DLTensor& tensor, uint64_t flags, const TensorSignature& last) {
  if (!last.is_comparable || tensor.ndim != last.ndim || flags != last.flags || tensor.dtype.code != last.dtype.code ||
      tensor.dtype.bits != last.dtype.bits || tensor.dtype.lanes != last.dtype.lanes ||
      tensor.device.device_type != last.device.device_type || tensor.device.device_id != last.device.device_id ||
      (tensor.strides != nullptr) != last.has_strides || (tensor.shape == nullptr && last.ndim > 0)) {
    return false;
  }
  for (int32_t i = 0; i < last.ndim; ++i) {
    if (tensor.shape[i] != last.axes[i].length) return false;
    if (last.has_strides && tensor.strides[i] != last.axes[i].stride) return false;
  }
  return true;
}

// Describes a tensor with this signature, except its dims. The caller sets the version.
static inline void CopyFields(const TensorSignature& from, Descriptor* to) {
  to->dtype = from.dtype;
  to->device = from.device;
  to->ndim = from.ndim;
  to->flags = static_cast<uint32_t>(from.flags);
  to->signature = from.number;
}

// One by one, because most tensors have few axes, and the compiler would make long vector code.
static inline void CopyDims(const TensorSignature& from, Descriptor* to) {
  for (int32_t i = 0; i < from.ndim; ++i) {
    to->shape[i] = Alone(from.axes[i].length);
    to->strides[i] = Alone(from.axes[i].stride);
  }
}

static void Remember(const DLTensor& tensor, uint64_t flags, const Reach& reach, Descriptor* descriptor,
                     TensorSignature* last) {
  if (++last->number == 0) last->number = 1;
  descriptor->signature = last->number;
  last->flags = flags;
  last->has_strides = tensor.strides != nullptr;
  last->reach = reach;
  last->is_comparable = tensor.ndim <= kMaxSignatureNdim;
  if (!last->is_comparable) return;
  last->dtype = descriptor->dtype;
  last->device = descriptor->device;
  last->ndim = descriptor->ndim;
  for (int32_t i = 0; i < descriptor->ndim; ++i) {
    last->axes[i] = {Alone(descriptor->shape[i]), Alone(descriptor->strides[i])};
  }
}

// Checks a foreign tensor and describes it. `tensor` is a copy of the producer's struct, so that another thread cannot
// change it after the check.
static inline Status Describe(const DLTensor& tensor, uint64_t flags, Descriptor* descriptor, Reach* reach,
                              TensorSignature* last, uint32_t known) {
  if (last != nullptr && HasSignature(tensor, flags, *last)) {
    CopyFields(*last, descriptor);
    *reach = last->reach;
    if (last->number != known) CopyDims(*last, descriptor);
  } else {
    const Status status = DescribeLayout(tensor, flags, descriptor, reach);
    if (status != kOk) return status;
    if (last != nullptr) Remember(tensor, flags, *reach, descriptor, last);
  }
  return CheckMemory(tensor, IsAddressable(tensor.device.device_type), *reach);
}

// A Storage over the bytes that a described tensor touches; NULL when out of memory.
static Storage* WrapDescribed(const DLTensor& tensor, const Reach& reach, Descriptor* descriptor,
                              void (*destroy)(Storage*), void* owner, ThreadCache* cache) {
  char* data = nullptr;
  int64_t nbytes = reach.high - reach.low;
  if (nbytes > 0) {
    data = static_cast<char*>(tensor.data);
    if (IsAddressable(tensor.device.device_type)) {
      // The storage begins at the lowest byte that the elements touch.
      data += tensor.byte_offset + static_cast<uint64_t>(reach.low);
      descriptor->byte_offset = static_cast<uint64_t>(-reach.low);
    } else {
      nbytes += reach.low + static_cast<int64_t>(tensor.byte_offset);
      descriptor->byte_offset = tensor.byte_offset;
    }
  }
  Storage* storage = WrapStorage(data, static_cast<uint64_t>(nbytes), destroy, owner, 0, cache);
  if (storage == nullptr) return nullptr;
  storage->is_import = true;
  Count(cache, counts.imports, 1);
  return storage;
}

template <class Managed>
static void DestroyImported(Storage* self) {
  Managed* managed = static_cast<Managed*>(self->owner);
  FreeStorage(self);
  Count(counts.imports, -1);
  DeleteManaged(managed);
}

// Imports one of our own exports: takes back its reference to the storage and frees the struct. NULL when the export is
// not ours, or when a consumer has changed its pointer to other memory.
template <class Managed>
static Storage* Unwrap(Managed* managed, const DLTensor& tensor, const Reach& reach, Descriptor* descriptor) {
  if (managed->deleter != DeleteExported<Managed>) return nullptr;
  Exported<Managed>* exported = reinterpret_cast<Exported<Managed>*>(managed);
  Storage* storage = exported->storage;
  uint64_t offset = 0;
  const uint64_t nbytes = static_cast<uint64_t>(reach.high - reach.low);
  if (nbytes > 0) {
    offset = tensor.byte_offset;
    if (IsAddressable(tensor.device.device_type)) {
      offset += static_cast<char*>(tensor.data) - static_cast<char*>(storage->data);
    } else if (tensor.data != storage->data) {
      return nullptr;
    }
    const uint64_t first = offset + static_cast<uint64_t>(reach.low);  // wraps around when it lies before the storage
    if (first > storage->nbytes || nbytes > storage->nbytes - first) return nullptr;
  }
  descriptor->byte_offset = offset;
  FreeExported(exported, this_thread);
  return storage;
}

template <class Managed>
static Storage* Refuse(Managed* managed, Status reason, Status* status) {
  *status = reason;
  DeleteManaged(managed);
  return nullptr;
}

template <class Managed>
Storage* ImportManaged(Managed* managed, Descriptor* descriptor, Status* status, TensorSignature* last,
                       uint32_t known) {
  Clear(descriptor);
  uint64_t flags = 0;
  if constexpr (kIsVersioned<Managed>) {
    descriptor->version = managed->version;
    // Another major version has another layout, so only the deleter may be used.
    if (managed->version.major != DLPACK_MAJOR_VERSION) return Refuse(managed, kVersion, status);
    flags = managed->flags;
  }
  const DLTensor tensor = managed->dl_tensor;
  Reach reach;
  *status = Describe(tensor, flags, descriptor, &reach, last, known);
  if (*status != kOk) {
    if (known != 0 && descriptor->signature == known) CopyDims(*last, descriptor);
    return Refuse(managed, *status, status);
  }
  Storage* own = Unwrap(managed, tensor, reach, descriptor);
  if (own != nullptr) return own;
  Storage* storage = WrapDescribed(tensor, reach, descriptor, DestroyImported<Managed>, managed, this_thread);
  return storage == nullptr ? Refuse(managed, kOutOfMemory, status) : storage;
}

Storage* WrapTensor(const DLTensor& tensor, uint64_t flags, Descriptor* descriptor, Status* status,
                    TensorSignature* last, void (*destroy)(Storage*), void* owner, ThreadCache* cache) {
  Reach reach;
  Clear(descriptor);
  *status = Describe(tensor, flags, descriptor, &reach, last, 0);
  if (*status != kOk) return nullptr;
  Storage* storage = WrapDescribed(tensor, reach, descriptor, destroy, owner, cache);
  if (storage == nullptr) *status = kOutOfMemory;
  return storage;
}

template DLManagedTensor* ExportManaged(const Descriptor&, Storage*, Status*);
template DLManagedTensorVersioned* ExportManaged(const Descriptor&, Storage*, Status*);
template DLManagedTensor* ExportChecked(const Descriptor&, Storage*, ThreadCache*);
template DLManagedTensorVersioned* ExportChecked(const Descriptor&, Storage*, ThreadCache*);
template Storage* ImportManaged(DLManagedTensor*, Descriptor*, Status*, TensorSignature*, uint32_t);
template Storage* ImportManaged(DLManagedTensorVersioned*, Descriptor*, Status*, TensorSignature*, uint32_t);

}  // namespace dlpack
