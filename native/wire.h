// The wire: one block of memory for each instance that JavaScript and C++ both see, so that a call carries a whole
// tensor without a Node-API value for each field. A stack of words: every request has a slot of its own, and whatever
// runs in the middle of a request works above it. src/native/wire.ts is its twin. JavaScript thread only.
#ifndef DLPACK_NODE_WIRE_H_
#define DLPACK_NODE_WIRE_H_

#include "descriptor.h"
#include "instance.h"

namespace dlpack {

// The message of a request, by the index of its slot; one that lies outside of the wire is taken for the last slot.
template <class Message>
inline Message* MessageAt(const Instance* self, uint32_t slot) {
  static const uint32_t kLast = kWireWords - sizeof(Message) / sizeof(uint64_t);
  return reinterpret_cast<Message*>(self->words + (slot <= kLast ? slot : kLast));
}

// The message of the call that has just begun. To be called first in it: the header names another slot once JavaScript
// runs again. The message itself stays.
template <class Message>
inline Message* MessageOf(const Instance* self) {
  return MessageAt<Message>(self, reinterpret_cast<const WireHeader*>(self->words)->slot);
}

// A message above all slots in use, which JavaScript frees when it has read it. NULL when the wire is full.
template <class Message>
inline Message* PushMessage(const Instance* self) {
  WireHeader* header = reinterpret_cast<WireHeader*>(self->words);
  static const uint32_t kSize = (sizeof(Message) + 15) / 16 * 2;
  const uint32_t slot = header->top;
  if (slot > kWireWords - kSize) return nullptr;
  header->top = slot + kSize;
  return reinterpret_cast<Message*>(self->words + slot);
}

// A number of bytes that JavaScript can count; false for NaN, too.
inline bool IsSize(double nbytes) { return nbytes >= 0 && nbytes <= static_cast<double>(kMaxSafe); }

// The tensor that JavaScript wrote. Nothing of it is trusted: an error for everything that is not a whole number in its
// range, or does not lie inside the wire. Whether it lies inside its storage is for CheckInside.
Status ReadWire(const Instance* self, const WireTensor& wire, Descriptor* descriptor);

// Describes a tensor to JavaScript, all but its handle and the bytes of its storage. `wire` has room for all axes.
void WriteWire(const Descriptor& descriptor, WireTensor* wire);

// Puts the caller's reference into the table of the instance and the tensor over it into `wire`. Without a storage the
// tensor was refused: it is described for the error. Returns the status, or kOutOfMemory.
Status GiveTensor(Instance* self, Storage* storage, Status status, const Descriptor& descriptor, WireTensor* wire);

}  // namespace dlpack

#endif  // DLPACK_NODE_WIRE_H_
