// What the driver knows about a pointer.
#include <string.h>

#include "state.h"

using namespace fake;
using namespace dlpack::cuda;

FAKE_EXPORT(PointerGetAttributes, cuPointerGetAttributes)(uint32_t count, PointerAttribute* attributes, void** values,
                                                          Address address) {
  ENTER("cuPointerGetAttributes");
  if (attributes == nullptr || values == nullptr) return kInvalidValue;
  const Allocation* found = Find(address);
  if (found != nullptr && found->freed) found = nullptr;
  if (found == nullptr && machine().unknown_pointers_fail) return kInvalidValue;
  for (uint32_t i = 0; i < count; ++i) {
    uint64_t value = 0;
    size_t width = 8;
    switch (attributes[i]) {
      case kPointerContext:
        // Memory of a pool belongs to no context.
        if (found != nullptr && found->kind != Kind::kPool) {
          value = reinterpret_cast<uint64_t>(&machine().devices[found->device]->context);
        }
        break;
      case kPointerMemoryType:
        width = 4;
        if (found != nullptr) value = found->kind == Kind::kPinned ? kMemoryHost : kMemoryDevice;
        break;
      case kPointerDevice: value = found == nullptr ? 0 : address; break;
      // Memory that the driver does not know is host memory.
      case kPointerHost: value = found == nullptr || found->OnHost() ? address : 0; break;
      case kPointerIsManaged:
        width = 4;
        value = found != nullptr && found->kind == Kind::kManaged;
        break;
      case kPointerDeviceOrdinal:
        width = 4;
        value = static_cast<uint32_t>(found == nullptr ? -2 : found->device);
        break;
      case kPointerIsIpcCapable:
        width = 4;
        value = found != nullptr && found->kind == Kind::kDevice;
        break;
      case kPointerRangeStart:
        if (found == nullptr) width = 0;
        value = found == nullptr ? 0 : found->start;
        break;
      case kPointerRangeSize: value = found == nullptr ? 0 : found->bytes; break;
      default: return kInvalidValue;
    }
    memcpy(values[i], &value, width);
  }
  return kSuccess;
}
