#include "strided.h"

#include <string.h>

namespace dlpack {

struct Unit16 {
  uint64_t low, high;
};

template <class Unit>
static void GatherUnits(const uint8_t* memory, int64_t step, uint8_t* out, size_t count) {
  Unit* to = reinterpret_cast<Unit*>(out);
  if (step == 0) {
    const Unit value = *reinterpret_cast<const Unit*>(memory);
    for (size_t i = 0; i < count; ++i) to[i] = value;
    return;
  }
  for (size_t i = 0; i < count; ++i, memory += step) to[i] = *reinterpret_cast<const Unit*>(memory);
}

template <class Unit>
static void ScatterUnits(uint8_t* memory, int64_t step, const uint8_t* in, size_t count) {
  const Unit* from = reinterpret_cast<const Unit*>(in);
  for (size_t i = 0; i < count; ++i, memory += step) *reinterpret_cast<Unit*>(memory) = from[i];
}

// Reads the next byte only if the element reaches into it, because that byte may lie outside the memory.
static void GatherBits(const uint8_t* memory, int64_t bit, int64_t step, int64_t bits, uint8_t* out, size_t count) {
  const uint32_t mask = (1u << bits) - 1;
  for (size_t i = 0; i < count; ++i, bit += step) {
    const uint8_t* byte = memory + (bit >> 3);
    const int64_t shift = bit & 7;
    const uint32_t pair = byte[0] | (shift + bits > 8 ? static_cast<uint32_t>(byte[1]) << 8 : 0);
    out[i] = static_cast<uint8_t>((pair >> shift) & mask);
  }
}

// Does not change the bits of neighbouring elements.
static void ScatterBits(uint8_t* memory, int64_t bit, int64_t step, int64_t bits, const uint8_t* in, size_t count) {
  for (size_t i = 0; i < count; ++i, bit += step) {
    uint8_t* byte = memory + (bit >> 3);
    const int64_t shift = bit & 7;
    const uint32_t mask = ((1u << bits) - 1) << shift;
    const uint32_t value = (static_cast<uint32_t>(in[i]) << shift) & mask;
    byte[0] = static_cast<uint8_t>((byte[0] & ~mask) | value);
    if (shift + bits > 8) byte[1] = static_cast<uint8_t>((byte[1] & ~(mask >> 8)) | (value >> 8));
  }
}

// Packs eight elements at a time into `bits` whole bytes.
static size_t PackBytes(uint8_t* memory, int64_t bits, const uint8_t* in, size_t count) {
  const uint64_t mask = (1u << bits) - 1;
  size_t i = 0;
  for (; i + 8 <= count; i += 8, memory += bits) {
    uint64_t word = 0;
    for (int64_t k = 0; k < 8; ++k) word |= (in[i + static_cast<size_t>(k)] & mask) << (k * bits);
    for (int64_t k = 0; k < bits; ++k) memory[k] = static_cast<uint8_t>(word >> (k * 8));
  }
  return i;
}

// The reverse: unpacks `bits` whole bytes into eight elements.
static size_t UnpackBytes(const uint8_t* memory, int64_t bits, uint8_t* out, size_t count) {
  const uint64_t mask = (1u << bits) - 1;
  size_t i = 0;
  for (; i + 8 <= count; i += 8, memory += bits) {
    uint64_t word = 0;
    for (int64_t k = 0; k < bits; ++k) word |= static_cast<uint64_t>(memory[k]) << (k * 8);
    for (int64_t k = 0; k < 8; ++k) out[i + static_cast<size_t>(k)] = static_cast<uint8_t>(word >> (k * bits) & mask);
  }
  return i;
}

// Elements that take a byte each and use its lowest bits.
static size_t FillBytes(uint8_t* memory, int64_t bits, const uint8_t* in, size_t count) {
  const uint8_t mask = static_cast<uint8_t>((1u << bits) - 1);
  for (size_t i = 0; i < count; ++i) memory[i] = static_cast<uint8_t>((memory[i] & ~mask) | (in[i] & mask));
  return count;
}

// Calls `action` with a value of the type that has this many bits.
template <class Action>
static void WithUnit(int64_t bits, Action action) {
  switch (bits) {
    case 8: return action(uint8_t{});
    case 16: return action(uint16_t{});
    case 32: return action(uint32_t{});
    case 64: return action(uint64_t{});
    default: return action(Unit16{});
  }
}

void Gather(const uint8_t* memory, int64_t bit, int64_t step, int64_t bits, uint8_t* out, size_t count) {
  if (bits < 8) {
    const size_t packed = step == bits && bit % 8 == 0 ? UnpackBytes(memory + bit / 8, bits, out, count) : 0;
    const int64_t done = static_cast<int64_t>(packed);
    return GatherBits(memory, bit + done * step, step, bits, out + packed, count - packed);
  }
  WithUnit(bits, [&](auto unit) { GatherUnits<decltype(unit)>(memory + bit / 8, step / 8, out, count); });
}

void Scatter(uint8_t* memory, int64_t bit, int64_t step, int64_t bits, const uint8_t* in, size_t count) {
  if (bits < 8) {
    size_t whole = 0;
    if (step == bits && bit % 8 == 0) whole = PackBytes(memory + bit / 8, bits, in, count);
    if (step == 8 && bit % 8 == 0) whole = FillBytes(memory + bit / 8, bits, in, count);
    const int64_t done = static_cast<int64_t>(whole);
    return ScatterBits(memory, bit + done * step, step, bits, in + whole, count - whole);
  }
  WithUnit(bits, [&](auto unit) { ScatterUnits<decltype(unit)>(memory + bit / 8, step / 8, in, count); });
}

}  // namespace dlpack
