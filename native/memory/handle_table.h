// HandleTable: values that JavaScript holds by a number. 0 is never used. One thread at a time.
#pragma once

#include <stdint.h>
#include <stdlib.h>

namespace dlpack {

// Zeroed memory is an empty table.
template <class T>
struct HandleTable {
  static_assert(__is_trivially_copyable(T), "the table moves its entries when it grows");

  // 0 when out of memory.
  uint32_t Add(const T& value) {
    if (free_slot == 0 && !Grow()) return 0;
    const uint32_t handle = free_slot;
    free_slot = entries[handle].next;
    entries[handle] = Entry{value, kHeld};
    return handle;
  }

  // NULL for a number that is not held. Valid until the table changes.
  T* Find(uint32_t handle) {
    return handle < capacity && entries[handle].next == kHeld ? &entries[handle].value : nullptr;
  }

  // Removes the value; false for a number that is not held.
  bool Remove(uint32_t handle, T* value) {
    if (Find(handle) == nullptr) return false;
    *value = entries[handle].value;
    entries[handle].next = free_slot;
    free_slot = handle;
    return true;
  }

  // Calls `release(value)` for every value and frees the table.
  template <class Release>
  void Clear(Release release) {
    for (uint32_t i = 1; i < capacity; ++i) {
      T value;
      if (Remove(i, &value)) release(value);
    }
    free(entries);
    *this = HandleTable();
  }

  static const uint32_t kHeld = UINT32_MAX;
  struct Entry {
    T value;
    uint32_t next;  // kHeld, or the next free slot, 0 at the end
  };
  Entry* entries;
  uint32_t capacity;
  uint32_t free_slot;

 private:
  bool Grow() {
    const uint32_t grown = capacity == 0 ? 256 : capacity * 2;
    if (grown <= capacity) return false;
    Entry* table = static_cast<Entry*>(realloc(entries, sizeof(Entry) * grown));
    if (table == nullptr) return false;
    const uint32_t first = capacity == 0 ? 1 : capacity;
    table[0].next = 0;
    for (uint32_t i = first; i < grown; ++i) table[i].next = i + 1 == grown ? 0 : i + 1;
    entries = table;
    free_slot = first;
    capacity = grown;
    return true;
  }
};

}  // namespace dlpack
