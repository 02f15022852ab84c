#include "managed_tensor.h"

#include <stdlib.h>

#include <atomic>

#include "../platform/platform.h"
#include "../trace.h"

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
  Count(cache, Counter::kExports, -1);
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
  const size_t ndim = static_cast<size_t>(descriptor.layout->ndim);
  const size_t size = sizeof(Exported<Managed>) + sizeof(int64_t) * 2 * ndim;
  void* block = size <= kLargeBlock ? AllocateBlock(cache, kLargeBlock) : malloc(size);
  if (block == nullptr) return nullptr;
  Exported<Managed>* exported = static_cast<Exported<Managed>*>(block);
  exported->block_size = size <= kLargeBlock ? kLargeBlock : size;
  exported->trace = descriptor.trace == 0 ? 0 : BeginTrace(descriptor.trace);
  exported->storage = storage;
  Managed* managed = &exported->managed;
  if constexpr (kIsVersioned<Managed>) {
    managed->version = DLPackVersion{DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    managed->flags = descriptor.layout->flags;
  }
  managed->manager_ctx = exported;
  managed->deleter = DeleteExported<Managed>;
  managed->dl_tensor = TensorOver(descriptor, storage->data, exported->dims);
  Count(cache, Counter::kExports, 1);
  return managed;
}

template <class Managed>
Managed* ExportManaged(const Descriptor& descriptor, Storage* storage, Status* status) {
  *status = IsInside(descriptor, storage->nbytes) ? kOk : kTooLarge;
  Managed* managed = *status == kOk ? ExportChecked<Managed>(descriptor, storage, this_thread) : nullptr;
  if (managed != nullptr) {
    RetainStorage(storage);
  } else if (*status == kOk) {
    *status = kOutOfMemory;
  }
  return managed;
}

Status DescribeLayout(const DLTensor& tensor, uint64_t flags, Layout* layout) {
  const int32_t ndim = tensor.ndim;
  layout->number = 0;
  layout->reach = Reach{0, 0};
  layout->dtype = tensor.dtype;
  layout->device = tensor.device;
  layout->ndim = ndim;
  layout->flags = static_cast<uint32_t>(flags);
  if (ndim < 0 || ndim > kMaxNdim) return kNdim;
  const bool has_shape = ndim == 0 || tensor.shape != nullptr;
  for (int32_t i = 0; i < ndim; ++i) {
    layout->shape[i] = has_shape ? tensor.shape[i] : 0;
    layout->strides[i] = 0;
  }
  if (tensor.dtype.lanes == 0 || tensor.dtype.bits == 0) return kDtype;
  if (!has_shape) return kNullShape;
  int64_t count = 1;
  bool is_empty = false;
  for (int32_t i = 0; i < ndim; ++i) {
    const int64_t length = layout->shape[i];
    if (length < 0) return kNegativeShape;
    if (length > kMaxSafe) return kTooLarge;
    if (length == 0) is_empty = true;
    if (__builtin_mul_overflow(count, length == 0 ? int64_t{1} : length, &count) || count > kMaxSafe) return kTooLarge;
  }
  if (!FillStrides(ndim, layout->shape, tensor.strides, is_empty, layout->strides)) return kTooLarge;
  return Measure(layout) ? kOk : kTooLarge;
}

// A typed array must start at a multiple of its element size. Wider scalars are shown as bytes.
static inline bool IsAligned(DLDataType dtype, uint64_t first) {
  const bool has_parts = dtype.code == kDLComplex || dtype.code == kDLBcomplex;
  const uint64_t part = (has_parts ? dtype.bits / 2 : dtype.bits) / 8;
  return part <= 1 || part > 8 || ((part & (part - 1)) == 0 ? first & (part - 1) : first % part) == 0;
}

// False also for a tensor whose shape cannot be read, which a later check refuses.
static bool HasElements(const DLTensor& tensor) {
  if (tensor.ndim < 0 || tensor.ndim > kMaxNdim || (tensor.ndim > 0 && tensor.shape == nullptr)) return false;
  for (int32_t i = 0; i < tensor.ndim; ++i) {
    if (tensor.shape[i] == 0) return false;
  }
  return true;
}

bool IsMisaligned(const DLTensor& tensor) {
  return HasElements(tensor) && IsAddressable(tensor.device.device_type) && tensor.data != nullptr &&
         !IsAligned(tensor.dtype, reinterpret_cast<uint64_t>(tensor.data) + tensor.byte_offset);
}

// Checks the pointer and the offset of a foreign tensor against the bytes that its shape reaches.
static inline Status CheckMemory(const DLTensor& tensor, bool is_addressable, const Reach& reach) {
  if (reach.low == reach.high) return kOk;  // no elements
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

// Checks a foreign tensor and describes it. `tensor` is a copy of the producer's struct, so that another thread cannot
// change it after the check. A layout that is kept was checked before.
static inline Status Describe(const DLTensor& tensor, uint64_t flags, const LayoutTable* layouts, Imported* imported) {
  const Layout* kept = layouts == nullptr ? nullptr : layouts->Find(tensor, flags);
  if (kept == nullptr) {
    const Status status = DescribeLayout(tensor, flags, &imported->room);
    if (status != kOk) return status;
  } else {
    imported->tensor.layout = kept;
  }
  const Status status = CheckMemory(tensor, IsAddressable(tensor.device.device_type), imported->tensor.layout->reach);
  // The caller deletes a refused tensor. Its deleter may run JavaScript, which may replace layouts of the table.
  if (status != kOk) imported->OwnLayout();
  return status;
}

// A Storage over the bytes that a described tensor touches; NULL when out of memory.
static Storage* WrapDescribed(const DLTensor& tensor, Descriptor* described, void (*destroy)(Storage*), void* owner,
                              ThreadCache* cache) {
  const Reach& reach = described->layout->reach;
  char* data = nullptr;
  int64_t nbytes = reach.high - reach.low;
  if (nbytes > 0) {
    data = static_cast<char*>(tensor.data);
    if (IsAddressable(tensor.device.device_type)) {
      // The storage begins at the lowest byte that the elements touch.
      data += tensor.byte_offset + static_cast<uint64_t>(reach.low);
      described->byte_offset = static_cast<uint64_t>(-reach.low);
    } else {
      nbytes += reach.low + static_cast<int64_t>(tensor.byte_offset);
      described->byte_offset = tensor.byte_offset;
    }
  }
  Storage* storage = WrapStorage(data, static_cast<uint64_t>(nbytes), destroy, owner, 0, cache);
  if (storage == nullptr) return nullptr;
  storage->is_import = true;
  Count(cache, Counter::kImports, 1);
  return storage;
}

template <class Managed>
static void DestroyImported(Storage* self) {
  Managed* managed = static_cast<Managed*>(self->owner);
  FreeStorage(self);
  Count(Counter::kImports, -1);
  DeleteManaged(managed);
}

// Imports one of our own exports: takes back its reference to the storage and frees the struct. NULL when the export is
// not ours, or when a consumer has changed its pointer to other memory.
template <class Managed>
static Storage* Unwrap(Managed* managed, const DLTensor& tensor, Descriptor* described) {
  if (managed->deleter != DeleteExported<Managed>) return nullptr;
  Exported<Managed>* exported = reinterpret_cast<Exported<Managed>*>(managed);
  Storage* storage = exported->storage;
  const Reach& reach = described->layout->reach;
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
  described->byte_offset = offset;
  FreeExported(exported, this_thread);
  return storage;
}

template <class Managed>
static Storage* Refuse(Managed* managed, Status reason, Status* status) {
  *status = reason;
  DeleteManaged(managed);
  return nullptr;
}

// Keeps the library of a deleter loaded: Node unloads an addon when the last worker that loaded it ends, and the tensor
// may live longer. A producer has few deleters, so most are found here again.
static void KeepDeleterLoaded(const void* deleter) {
  static const size_t kPlaces = 64;
  static std::atomic<const void*> kept[kPlaces];
  if (deleter == nullptr) return;
  std::atomic<const void*>& place = kept[reinterpret_cast<uintptr_t>(deleter) / 16 % kPlaces];
  if (place.load(std::memory_order_relaxed) == deleter) return;
  platform::KeepLoaded(deleter);
  place.store(deleter, std::memory_order_relaxed);
}

template <class Managed>
Storage* ImportManaged(Managed* managed, const LayoutTable* layouts, Imported* imported, Status* status,
                       const DLDataType* dtype) {
  uint64_t flags = 0;
  if constexpr (kIsVersioned<Managed>) {
    imported->version = managed->version;
    // Another major version has another layout, so only the deleter may be used.
    if (managed->version.major != DLPACK_MAJOR_VERSION) return Refuse(managed, kVersion, status);
    flags = managed->flags;
  }
  DLTensor tensor = managed->dl_tensor;
  if (dtype != nullptr) tensor.dtype = *dtype;
  *status = Describe(tensor, flags, layouts, imported);
  if (*status != kOk) return Refuse(managed, *status, status);
  Storage* own = Unwrap(managed, tensor, &imported->tensor);
  if (own != nullptr) return own;
  KeepDeleterLoaded(reinterpret_cast<const void*>(managed->deleter));
  Storage* storage = WrapDescribed(tensor, &imported->tensor, DestroyImported<Managed>, managed, this_thread);
  if (storage != nullptr) return storage;
  imported->OwnLayout();
  return Refuse(managed, kOutOfMemory, status);
}

Storage* WrapTensor(const DLTensor& tensor, uint64_t flags, const LayoutTable* layouts, Imported* imported,
                    Status* status, void (*destroy)(Storage*), void* owner, ThreadCache* cache) {
  *status = Describe(tensor, flags, layouts, imported);
  if (*status != kOk) return nullptr;
  Storage* storage = WrapDescribed(tensor, &imported->tensor, destroy, owner, cache);
  if (storage != nullptr) return storage;
  imported->OwnLayout();
  *status = kOutOfMemory;
  return nullptr;
}

template DLManagedTensor* ExportManaged(const Descriptor&, Storage*, Status*);
template DLManagedTensorVersioned* ExportManaged(const Descriptor&, Storage*, Status*);
template DLManagedTensor* ExportChecked(const Descriptor&, Storage*, ThreadCache*);
template DLManagedTensorVersioned* ExportChecked(const Descriptor&, Storage*, ThreadCache*);
template Storage* ImportManaged(DLManagedTensor*, const LayoutTable*, Imported*, Status*, const DLDataType*);
template Storage* ImportManaged(DLManagedTensorVersioned*, const LayoutTable*, Imported*, Status*, const DLDataType*);

}  // namespace dlpack
