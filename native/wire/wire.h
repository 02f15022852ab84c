// The wire: one block of memory for each instance that JavaScript and C++ both see, so that a call carries a whole
// tensor without a Node-API value for each field. It is a stack of words: every request has its own slot, and code that
// runs in the middle of a request uses slots above it. src/native/wire/wire.ts is the JavaScript side. JavaScript
// thread only.
#pragma once

#include <string.h>

#include <utility>

#include "../exchange/descriptor.h"
#include "../exports.h"
#include "../instance.h"

namespace dlpack {

inline WireHeader* HeaderOf(const Instance* self) { return reinterpret_cast<WireHeader*>(self->words); }

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
  return MessageAt<Message>(words, slot);
}
template <class Message>
inline Message* MessageOf(const Instance* self) {
  return MessageIn<Message>(self->words);
}

// The callback of a function that gets its state and its message, or its state alone, and perhaps the environment and
// the arguments of the call, each as its own type (exports.h). The call returns what the function returns; other
// results are in the message.
template <auto kFunction>
struct Binding;

template <class Result, class State, class Message, class... Values, Result (*kFunction)(State*, Message*, Values...)>
struct Binding<kFunction> {
  static napi_value Call(napi_env env, napi_callback_info info) {
    if constexpr (!kHasMessage) {
      return CallPlain<Values...>(env, info, std::make_index_sequence<sizeof...(Values)>());
    } else if constexpr (sizeof...(Values) == 0) {
      State* self = DataOf<State>(env, info);
      return Return(env, [&] { return kFunction(self, MessageOf<Message>(self)); });
    } else {
      return CallWithMessage<Values...>(env, info, std::make_index_sequence<sizeof...(Values) - 1>());
    }
  }

 private:
  static constexpr bool kHasMessage = !__is_same(Message*, napi_env);

  template <class Function>
  static inline napi_value Return([[maybe_unused]] napi_env env, Function call) {
    if constexpr (!__is_same(Result, void)) {
      return ValueOf(env, call());
    } else {
      call();
      return nullptr;
    }
  }

  template <class... Types, size_t... kIndices>
  static inline napi_value CallPlain(napi_env env, napi_callback_info info, std::index_sequence<kIndices...>) {
    [[maybe_unused]] napi_value values[sizeof...(Types) + 1];
    State* self = DataOf<State>(env, info, sizeof...(Types) == 0 ? nullptr : values, sizeof...(Types));
    return Return(env, [&] { return kFunction(self, env, Argument<Types>::Of(env, values[kIndices])...); });
  }

  template <class, class... Types, size_t... kIndices>
  static inline napi_value CallWithMessage(napi_env env, napi_callback_info info, std::index_sequence<kIndices...>) {
    [[maybe_unused]] napi_value values[sizeof...(Types) + 1];
    State* self = DataOf<State>(env, info, sizeof...(Types) == 0 ? nullptr : values, sizeof...(Types));
    Message* message = MessageOf<Message>(self);
    return Return(env, [&] { return kFunction(self, message, env, Argument<Types>::Of(env, values[kIndices])...); });
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

// Reads a layout that JavaScript wrote, without trusting it: returns an error for a field that is not an integer in its
// range, or does not lie inside the wire. `layout` has room for all axes.
inline Status ReadLayout(const Instance* self, const WireTensor& wire, Layout* layout) {
  const int32_t ndim = Alone(wire.ndim);
  const double* dims = reinterpret_cast<const double*>(&wire + 1);
  const double* end = reinterpret_cast<const double*>(self->words + kWireWords);
  layout->number = 0;
  layout->ndim = ndim;
  if (ndim < 0 || ndim > kMaxNdim || ptrdiff_t{2} * ndim > end - dims) return kNdim;
  memcpy(&layout->dtype, &wire.dtype, sizeof(layout->dtype));
  layout->device = DLDevice{Alone(wire.device_type), Alone(wire.device_id)};
  layout->flags = Alone(wire.flags);
  if (layout->dtype.lanes == 0 || layout->dtype.bits == 0) return kDtype;
  // Comparisons are false for NaN, too. Signs and fractions are collected and checked once, which takes less than a
  // branch each.
  const double most = static_cast<double>(kMaxSafe);
  uint64_t fractions = 0;
  int64_t signs = 0;
  for (int32_t i = 0; i < ndim; ++i) {
    if (!(__builtin_fabs(dims[i]) <= most && __builtin_fabs(dims[ndim + i]) <= most)) return kTooLarge;
    const int64_t length = static_cast<int64_t>(dims[i]);
    const int64_t stride = static_cast<int64_t>(dims[ndim + i]);
    layout->shape[i] = length;
    layout->strides[i] = stride;
    signs |= length;
    fractions |= FractionBits(dims[i], length) | FractionBits(dims[ndim + i], stride);
  }
  return fractions == 0 && signs >= 0 && Measure(layout) ? kOk : kTooLarge;
}

// Reads a tensor that JavaScript wrote, and checks that it lies inside `nbytes` bytes. `room` is for a layout without a
// number. The descriptor is valid until the request ends.
inline Status ReadTensor(const Instance* self, const WireTensor& wire, uint64_t nbytes, LayoutRoom* room,
                         Descriptor* tensor) {
  const uint32_t number = Alone(wire.layout);
  tensor->layout = number == 0 ? room : self->layouts.Get(number);
  if (tensor->layout == nullptr) return kUnknownLayout;
  if (number == 0) {
    const Status status = ReadLayout(self, wire, room);
    if (status != kOk) return status;
  }
  if (!IsSize(wire.byte_offset)) return kTooLarge;
  const int64_t offset = static_cast<int64_t>(wire.byte_offset);
  tensor->byte_offset = static_cast<uint64_t>(offset);
  tensor->trace = wire.trace;
  return FractionBits(wire.byte_offset, offset) == 0 && IsInside(*tensor, nbytes) ? kOk : kTooLarge;
}

// Writes a layout without a number. `wire` has room for all axes.
inline void WriteLayout(const Layout& layout, WireTensor* wire) {
  const int32_t ndim = layout.ndim;
  memcpy(&wire->dtype, &layout.dtype, sizeof(wire->dtype));
  wire->ndim = ndim;
  wire->flags = layout.flags;
  wire->device_type = layout.device.device_type;
  wire->device_id = layout.device.device_id;
  double* dims = reinterpret_cast<double*>(wire + 1);
  // A foreign tensor that was refused for its number of axes has no shape that could be written.
  for (int32_t i = 0; i < ndim && ndim <= kMaxNdim; ++i) {
    dims[i] = static_cast<double>(layout.shape[i]);
    dims[ndim + i] = static_cast<double>(layout.strides[i]);
  }
}

// Puts the caller's reference into the table of the instance and describes the tensor in `wire`. Without a storage the
// tensor was refused, and the description is for the error message. Returns the status, or kOutOfMemory.
inline Status GiveTensor(Instance* self, Storage* storage, Status status, const Imported& imported, WireTensor* wire) {
  const Layout& layout = *imported.tensor.layout;
  uint64_t nbytes = 0;
  uint32_t handle = 0;
  uint32_t number = 0;
  if (storage != nullptr) {
    nbytes = storage->nbytes;
    handle = Hold(self, storage, IsHostAccessible(layout.device.device_type));
    status = handle == 0 ? kOutOfMemory : kOk;
    number = layout.number != 0 ? layout.number : self->layouts.NumberOf(layout);
  }
  wire->handle = handle;
  wire->layout = number;
  wire->byte_offset = static_cast<double>(imported.tensor.byte_offset);
  wire->nbytes = static_cast<double>(nbytes);
  if (number != 0) return status;
  WriteLayout(layout, wire);
  wire->version_major = imported.version.major;
  wire->version_minor = imported.version.minor;
  return status;
}

}  // namespace dlpack
