#include "wire.h"

#include <string.h>

namespace dlpack {

// Whether a double is an integer that both sides count alike; false for NaN, too.
static inline bool ToInteger(double number, int64_t* integer) {
  if (!(number >= -static_cast<double>(kMaxSafe) && number <= static_cast<double>(kMaxSafe))) return false;
  *integer = static_cast<int64_t>(number);
  return static_cast<double>(*integer) == number;
}

Status ReadWire(const Instance* self, const WireTensor& wire, Descriptor* descriptor) {
  const int32_t ndim = wire.ndim;
  const double* dims = reinterpret_cast<const double*>(&wire + 1);
  const double* end = reinterpret_cast<const double*>(self->words + kWireWords);
  descriptor->ndim = ndim;
  if (ndim < 0 || ndim > kMaxNdim || 2 * ndim > end - dims) return kNdim;
  memcpy(&descriptor->dtype, &wire.dtype, sizeof(descriptor->dtype));
  descriptor->device = DLDevice{wire.device_type, wire.device_id};
  descriptor->flags = wire.flags;
  descriptor->version = DLPackVersion{0, 0};
  descriptor->trace = wire.trace;
  if (descriptor->dtype.lanes == 0 || descriptor->dtype.bits == 0) return kDtype;
  int64_t offset;
  bool good = ToInteger(wire.byte_offset, &offset) && offset >= 0;
  descriptor->byte_offset = static_cast<uint64_t>(offset);
  for (int32_t i = 0; good && i < ndim; ++i) {
    good = ToInteger(dims[i], &descriptor->shape[i]) && descriptor->shape[i] >= 0 &&
           ToInteger(dims[ndim + i], &descriptor->strides[i]);
  }
  return good ? kOk : kTooLarge;
}

void WriteWire(const Descriptor& descriptor, WireTensor* wire) {
  const int32_t ndim = descriptor.ndim;
  memcpy(&wire->dtype, &descriptor.dtype, sizeof(wire->dtype));
  wire->ndim = ndim;
  wire->flags = descriptor.flags;
  wire->device_type = descriptor.device.device_type;
  wire->device_id = descriptor.device.device_id;
  wire->version_major = descriptor.version.major;
  wire->version_minor = descriptor.version.minor;
  wire->byte_offset = static_cast<double>(descriptor.byte_offset);
  double* dims = reinterpret_cast<double*>(wire + 1);
  // A foreign tensor that was refused for the number of its axes has none that could be written.
  for (int32_t i = 0; i < ndim && ndim <= kMaxNdim; ++i) {
    dims[i] = static_cast<double>(descriptor.shape[i]);
    dims[ndim + i] = static_cast<double>(descriptor.strides[i]);
  }
}

Status GiveTensor(Instance* self, Storage* storage, Status status, const Descriptor& descriptor, WireTensor* wire) {
  WriteWire(descriptor, wire);
  wire->handle = 0;
  wire->nbytes = 0;
  if (storage == nullptr) return status;
  wire->nbytes = static_cast<double>(storage->nbytes);
  wire->handle = Hold(self, storage, IsHostAccessible(descriptor.device.device_type));
  return wire->handle == 0 ? kOutOfMemory : kOk;
}

}  // namespace dlpack
