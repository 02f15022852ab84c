// The wire: one block of memory for each instance that JavaScript and C++ both see, so that a call carries a whole
// tensor without a Node-API value for each field. It is a stack of words: every request has its own slot, and code that
// runs in the middle of a request uses slots above it. src/native/wire.ts is the JavaScript side. JavaScript thread
// only.
#pragma once

#include <string.h>

#include <utility>

#include "descriptor.h"
#include "exports.h"
#include "instance.h"

namespace dlpack {

inline WireHeader* HeaderOf(const Instance* self) { return reinterpret_cast<WireHeader*>(self->words); }

// Whether JavaScript is writing a request. Numbers that it releases meanwhile may be in the request already, and must
// not refer to something else when native code reads them.
inline bool IsPreparing(const Instance* self) { return HeaderOf(self)->preparing != 0; }

// The message of a request, by the index of its slot. An index outside the wire means the last slot.
template <class Message>
inline Message* MessageAt(uint64_t* words, uint32_t slot) {
  static const uint32_t kLast = kWireWords - sizeof(Message) / sizeof(uint64_t);
  return reinterpret_cast<Message*>(words + (slot <= kLast ? slot : kLast));
}
template <class Message>
inline Message* MessageAt(const Instance* self, uint32_t slot) {
  return MessageAt<Message>(self->words, slot);
}

// The message of the current call. Must be called first in the call, because the header names another slot once
// JavaScript runs again. The message itself stays valid.
template <class Message>
inline Message* MessageIn(uint64_t* words) {
  const uint32_t slot = reinterpret_cast<const WireHeader*>(words)->slot;
  // Most requests are in the first slot. With a branch the processor reads the message without waiting for the slot
  // number.
  if (__builtin_expect(slot == kFirstSlot, 1)) return reinterpret_cast<Message*>(words + kFirstSlot);
  return MessageAt<Message>(words, slot);
}
template <class Message>
inline Message* MessageOf(const Instance* self) {
  return MessageIn<Message>(self->words);
}

// The callback of a function that gets its state and its message, or its state alone, and perhaps the environment and
// the arguments of the call. The call returns the value that the function returns; other results are in the message.
template <auto kFunction>
struct Binding;

template <class Result, class State, class Message, class... Values, Result (*kFunction)(State*, Message*, Values...)>
struct Binding<kFunction> {
  static napi_value Call(napi_env env, napi_callback_info info) {
    return CallWith(env, info, std::make_index_sequence<sizeof...(Values) - (kHasMessage && sizeof...(Values) > 0)>());
  }

 private:
  static constexpr bool kHasMessage = !__is_same(Message*, napi_env);

  template <size_t... kIndices>
  static inline napi_value CallWith(napi_env env, napi_callback_info info, std::index_sequence<kIndices...>) {
    constexpr size_t kCount = sizeof...(kIndices);
    [[maybe_unused]] napi_value values[kCount + 1];
    State* self = DataOf<State>(env, info, kCount == 0 ? nullptr : values, kCount);
    const auto call = [&]() -> Result {
      if constexpr (!kHasMessage) {
        return kFunction(self, env, values[kIndices]...);
      } else if constexpr (sizeof...(Values) == 0) {
        return kFunction(self, MessageOf<Message>(self));
      } else {
        return kFunction(self, MessageOf<Message>(self), env, values[kIndices]...);
      }
    };
    if constexpr (!__is_same(Result, void)) return call();
    call();
    return nullptr;
  }
};

// A message above all slots in use, with up to half of the wire as `room` after it. JavaScript frees it after reading
// it. NULL when the wire is full.
template <class Message>
inline Message* PushMessage(const Instance* self, uint32_t room = 0) {
  WireHeader* header = HeaderOf(self);
  static const uint32_t kSize = (sizeof(Message) + 15) / 16 * 2;
  const uint32_t slot = header->top;
  if (slot > kWireWords - kSize - room) return nullptr;
  header->top = slot + kSize + room;
  return reinterpret_cast<Message*>(self->words + slot);
}

// A number of bytes that JavaScript can count; false for NaN, too.
inline bool IsSize(double nbytes) { return nbytes >= 0 && nbytes <= static_cast<double>(kMaxSafe); }

// A number that JavaScript can count exactly, of either sign; false for NaN, too.
inline bool IsCountable(double number) { return __builtin_fabs(number) <= static_cast<double>(kMaxSafe); }

// Reads numbers that JavaScript wrote; false when one of them is too large.
inline bool ReadNumbers(const double* numbers, int32_t count, int64_t* out) {
  for (int32_t i = 0; i < count; ++i) {
    if (!IsCountable(numbers[i])) return false;
    out[i] = static_cast<int64_t>(numbers[i]);
  }
  return true;
}

// Zero when the number equals the integer.
inline uint64_t FractionBits(double number, int64_t integer) {
  const double fraction = static_cast<double>(integer) - number;  // this order never gives -0, not even for -0
  uint64_t bits;
  memcpy(&bits, &fraction, sizeof(bits));
  return bits;
}

// Reads the tensor that JavaScript wrote, without trusting it: returns an error for a field that is not an integer in
// its range, or does not lie inside the wire. CheckInside checks whether the tensor lies inside its storage.
inline Status ReadWire(const Instance* self, const WireTensor& wire, Descriptor* descriptor) {
  const int32_t ndim = Alone(wire.ndim);
  const double* dims = reinterpret_cast<const double*>(&wire + 1);
  const double* end = reinterpret_cast<const double*>(self->words + kWireWords);
  descriptor->ndim = ndim;
  if (ndim < 0 || ndim > kMaxNdim || 2 * ndim > end - dims) return kNdim;
  memcpy(&descriptor->dtype, &wire.dtype, sizeof(descriptor->dtype));
  descriptor->device = DLDevice{Alone(wire.device_type), Alone(wire.device_id)};
  descriptor->flags = Alone(wire.flags);
  descriptor->version = DLPackVersion{0, 0};
  descriptor->signature = 0;
  descriptor->trace = wire.trace;
  if (descriptor->dtype.lanes == 0 || descriptor->dtype.bits == 0) return kDtype;
  // Comparisons are false for NaN, too. Signs and fractions are collected and checked once, which takes less than a
  // branch each.
  const double most = static_cast<double>(kMaxSafe);
  if (!IsSize(wire.byte_offset)) return kTooLarge;
  const int64_t offset = static_cast<int64_t>(wire.byte_offset);
  descriptor->byte_offset = static_cast<uint64_t>(offset);
  uint64_t fractions = FractionBits(wire.byte_offset, offset);
  int64_t signs = 0;
  for (int32_t i = 0; i < ndim; ++i) {
    if (!(__builtin_fabs(dims[i]) <= most && __builtin_fabs(dims[ndim + i]) <= most)) return kTooLarge;
    const int64_t length = static_cast<int64_t>(dims[i]);
    const int64_t stride = static_cast<int64_t>(dims[ndim + i]);
    descriptor->shape[i] = length;
    descriptor->strides[i] = stride;
    signs |= length;
    fractions |= FractionBits(dims[i], length) | FractionBits(dims[ndim + i], stride);
  }
  return fractions == 0 && signs >= 0 ? kOk : kTooLarge;
}

// Writes what a signature holds. `wire` has room for all axes.
inline void WriteLayout(const Descriptor& descriptor, WireTensor* wire) {
  const int32_t ndim = descriptor.ndim;
  memcpy(&wire->dtype, &descriptor.dtype, sizeof(wire->dtype));
  wire->ndim = ndim;
  wire->flags = descriptor.flags;
  wire->device_type = descriptor.device.device_type;
  wire->device_id = descriptor.device.device_id;
  double* dims = reinterpret_cast<double*>(wire + 1);
  // A foreign tensor that was refused for its number of axes has no shape that could be written.
  for (int32_t i = 0; i < ndim && ndim <= kMaxNdim; ++i) {
    dims[i] = static_cast<double>(descriptor.shape[i]);
    dims[ndim + i] = static_cast<double>(descriptor.strides[i]);
  }
}

// Reads the tensor of a message with room for its layout, and checks that it lies inside `nbytes` bytes. JavaScript may
// have left out a layout that was checked before. The descriptor is valid until the next such call.
inline Status ReadInside(Instance* self, WireTensor* wire, uint64_t nbytes, const Descriptor** descriptor) {
  const uint32_t number = Alone(wire->layout);
  CheckedLayout& checked = self->layouts[number % kKeptLayouts];
  uint32_t* known = &HeaderOf(self)->checked_layouts[number % kKeptLayouts];
  *descriptor = &checked.descriptor;
  const bool is_known = number != 0 && number == checked.number;
  if (is_known) {
    const double* dims = reinterpret_cast<const double*>(wire + 1);
    const double* end = reinterpret_cast<const double*>(self->words + kWireWords);
    if (2 * checked.descriptor.ndim > end - dims) return kNdim;  // a caller writes the layout there
    if (!IsSize(wire->byte_offset)) return kTooLarge;
    const int64_t offset = static_cast<int64_t>(wire->byte_offset);
    if (FractionBits(wire->byte_offset, offset) != 0) return kTooLarge;
    checked.descriptor.byte_offset = static_cast<uint64_t>(offset);
    checked.descriptor.trace = wire->trace;
  } else {
    checked.number = *known = 0;
    const Status status = ReadWire(self, *wire, &checked.descriptor);
    if (status != kOk) return status;
    if (!SpanOf(checked.descriptor, &checked.reach.low, &checked.reach.high)) return kTooLarge;
    checked.number = *known = number;
  }
  if (IsInside(checked.reach.low, checked.reach.high, checked.descriptor.byte_offset, nbytes)) return kOk;
  if (is_known) WriteLayout(checked.descriptor, wire);  // for the error message
  return kTooLarge;
}

// Puts the caller's reference into the table of the instance and describes the tensor in `wire`. Without a storage the
// tensor was refused, and the description is for the error message. Returns the status, or kOutOfMemory. Writes nothing
// before the reference is held, so a request that ends with this call need not own its slot. `is_last` says that no
// other JavaScript can run before the caller reads the message. Only then the layout may be left out, because other
// JavaScript may import a tensor and change the known signature.
inline Status GiveTensor(Instance* self, Storage* storage, Status status, const Descriptor& descriptor,
                         WireTensor* wire, bool is_last) {
  uint64_t nbytes = 0;
  uint32_t handle = 0;
  if (storage != nullptr) {
    nbytes = storage->nbytes;
    handle = Hold(self, storage, IsHostAccessible(descriptor.device.device_type));
    status = handle == 0 ? kOutOfMemory : kOk;
  }
  wire->handle = handle;
  wire->nbytes = static_cast<double>(nbytes);
  wire->version_major = descriptor.version.major;
  wire->version_minor = descriptor.version.minor;
  wire->signature = descriptor.signature;
  wire->byte_offset = static_cast<double>(descriptor.byte_offset);
  const bool is_known = is_last && descriptor.signature != 0 && descriptor.signature == HeaderOf(self)->known_signature;
  // JavaScript reads the layout of a refused tensor for the message, but not when memory ran out.
  if (!is_known || (status != kOk && status != kOutOfMemory)) WriteLayout(descriptor, wire);
  return status;
}

}  // namespace dlpack
