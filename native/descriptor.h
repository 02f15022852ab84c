// Descriptor: one tensor's dtype, device, layout and flags, and where in a storage it lies. The tensor type of this
// addon: what JavaScript wrote is a Descriptor before anything is done with it. Any thread.
#ifndef DLPACK_NODE_DESCRIPTOR_H_
#define DLPACK_NODE_DESCRIPTOR_H_

#include "abi/dlpack_abi.h"
#include "wire_layout.h"

namespace dlpack {

// Number.MAX_SAFE_INTEGER: what a JavaScript number holds exactly.
static const int64_t kMaxSafe = (int64_t{1} << 53) - 1;

struct Descriptor {
  DLDataType dtype;
  DLDevice device;
  int32_t ndim;
  uint32_t flags;         // DLPACK_FLAG_BITMASK_*
  uint64_t byte_offset;   // from the start of the storage to the first element
  DLPackVersion version;  // of the managed tensor that was imported; 0.0: legacy, or no import
  double trace;           // the place an export is made at, see trace.h; 0: not recorded
  // The first `ndim` of each are set. Strides are in elements.
  int64_t shape[kMaxNdim];
  int64_t strides[kMaxNdim];
};

// Everything but shape and strides, which have no meaning without axes.
inline void Clear(Descriptor* descriptor) {
  descriptor->dtype = DLDataType{0, 0, 0};
  descriptor->device = DLDevice{0, 0};
  descriptor->ndim = 0;
  descriptor->flags = 0;
  descriptor->byte_offset = 0;
  descriptor->version = DLPackVersion{0, 0};
  descriptor->trace = 0;
}

// Device types whose `data` is an address: the same list as in src/device.ts.
inline bool IsAddressable(int32_t device_type) {
  switch (device_type) {
    case kDLCPU:
    case kDLCUDA:
    case kDLCUDAHost:
    case kDLROCM:
    case kDLROCMHost:
    case kDLCUDAManaged:
    case kDLOneAPI: return true;
    default: return false;
  }
}

inline bool IsEmpty(const Descriptor& descriptor) {
  for (int32_t i = 0; i < descriptor.ndim; ++i) {
    if (descriptor.shape[i] == 0) return true;
  }
  return false;
}

// The bytes that a tensor touches, from `low` (zero or less) to `high`, relative to its first element. False when they
// do not fit into what JavaScript can count.
bool SpanOf(const Descriptor& descriptor, int64_t* low, int64_t* high);

// Whether the tensor lies inside so many bytes. A mistake of whoever described it must not become a pointer.
Status CheckInside(const Descriptor& descriptor, uint64_t nbytes);

// The tensor over a storage that begins at `data`, as consumers want it: shape and strides are `dims`, filled here.
DLTensor TensorOver(const Descriptor& descriptor, void* data, int64_t* dims);

}  // namespace dlpack

#endif  // DLPACK_NODE_DESCRIPTOR_H_
