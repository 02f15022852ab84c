#include "environment.h"

#include <stdlib.h>
#include <string.h>

namespace dlpack {

static const int64_t kReportStep = 64 * 1024;

void Report(Environment* self, int64_t delta) {
  self->reported += delta;
  self->unreported += delta;
  if (self->unreported > -kReportStep && self->unreported < kReportStep) return;
  int64_t total;
  napi_adjust_external_memory(self->env, self->unreported, &total);
  self->unreported = 0;
}

static bool Grow(Environment* self) {
  const uint32_t capacity = self->capacity == 0 ? 256 : self->capacity * 2;
  if (capacity <= self->capacity) return false;
  Held* table = static_cast<Held*>(realloc(self->table, sizeof(Held) * capacity));
  if (table == nullptr) return false;
  const uint32_t first = self->capacity == 0 ? 1 : self->capacity;
  if (self->capacity == 0) table[0] = Held{nullptr, 0, false, false};
  for (uint32_t i = first; i < capacity; ++i) table[i] = Held{nullptr, i + 1 == capacity ? 0 : i + 1, false, false};
  self->table = table;
  self->free_slot = first;
  self->capacity = capacity;
  return true;
}

// Makes this thread the home of a storage that has none, and counts one more hold where it is the home. A thread gives
// up being the home with its last hold, so while it is one the storage stays alive without a look at `refs`.
static bool EnterHome(Environment* self, Storage* storage) {
  ThreadCache* home = storage->home.load(std::memory_order_acquire);
  if (home == nullptr) {
    // With the only reference in hand there is no other thread that could want the same.
    if (storage->refs.load(std::memory_order_acquire) == 1) {
      storage->home.store(self->thread, std::memory_order_relaxed);
      home = self->thread;
    } else if (storage->home.compare_exchange_strong(home, self->thread, std::memory_order_acq_rel)) {
      home = self->thread;
    }
  }
  if (home != self->thread) return false;
  ++storage->holds;
  return true;
}

// Gives back the reference of one hold.
static void LeaveHome(Storage* storage) {
  if (--storage->holds > 0) {
    ++storage->spares;
    return;
  }
  const uint32_t count = 1 + storage->spares;
  storage->spares = 0;
  storage->home.store(nullptr, std::memory_order_release);
  DropReferences(storage, count);
}

static bool BecomeReporter(Storage* storage) {
  if (storage->is_reported.load(std::memory_order_relaxed)) return false;
  if (storage->refs.load(std::memory_order_acquire) != 1) {
    return !storage->is_reported.exchange(true, std::memory_order_relaxed);
  }
  storage->is_reported.store(true, std::memory_order_relaxed);
  return true;
}

uint32_t Hold(Environment* self, Storage* storage, bool report) {
  if (self->free_slot == 0 && !Grow(self)) {
    ReleaseStorage(storage);
    return 0;
  }
  const uint32_t handle = self->free_slot;
  Held* held = &self->table[handle];
  self->free_slot = held->next;
  held->storage = storage;
  held->is_reporter = report && BecomeReporter(storage);
  held->is_at_home = EnterHome(self, storage);
  if (held->is_reporter) Report(self, static_cast<int64_t>(storage->nbytes));
  return handle;
}

void TakeReportBack(Environment* self, uint32_t handle) {
  Held* held = &self->table[handle];
  if (!held->is_reporter) return;
  held->is_reporter = false;
  held->storage->is_reported.store(false, std::memory_order_relaxed);
  Report(self, -static_cast<int64_t>(held->storage->nbytes));
}

// Last in everything that calls it: a foreign deleter may come back into this addon.
static void GiveBack(Storage* storage, bool is_at_home) {
  if (is_at_home) {
    LeaveHome(storage);
  } else {
    ReleaseStorage(storage);
  }
}

void Drop(Environment* self, uint32_t handle) {
  Storage* storage = GetHeld(self, handle);
  if (storage == nullptr) return;
  TakeReportBack(self, handle);
  Held* held = &self->table[handle];
  held->storage = nullptr;
  uint32_t* list = self->readers == 0 ? &self->free_slot : &self->resting_slot;
  held->next = *list;
  *list = handle;
  GiveBack(storage, held->is_at_home);
}

void EndReading(Environment* self) {
  if (--self->readers != 0 || self->resting_slot == 0) return;
  uint32_t last = self->resting_slot;
  while (self->table[last].next != 0) last = self->table[last].next;
  self->table[last].next = self->free_slot;
  self->free_slot = self->resting_slot;
  self->resting_slot = 0;
}

// The environment ends: JavaScript will not release what it still holds.
static void Destroy(void* data) {
  Environment* self = static_cast<Environment*>(data);
  for (uint32_t i = 1; i < self->capacity; ++i) {
    Storage* storage = self->table[i].storage;
    self->table[i].storage = nullptr;
    if (storage != nullptr) GiveBack(storage, self->table[i].is_at_home);
  }
  CloseThreadCache(self->thread);
  free(self->table);
  free(self);
}

Environment* InitEnvironment(napi_env env) {
  Environment* self = static_cast<Environment*>(calloc(1, sizeof(Environment)));
  if (self == nullptr) return nullptr;
  self->env = env;
  self->thread = OpenThreadCache();
  // As in runtimes that keep their heap in a cage. The variable lets that path be tested everywhere.
  self->forbids_external_buffers = getenv("DLPACK_NO_EXTERNAL_BUFFERS") != nullptr;
  if (self->thread == nullptr || napi_add_env_cleanup_hook(env, Destroy, self) != napi_ok) {
    if (self->thread != nullptr) CloseThreadCache(self->thread);
    free(self);
    return nullptr;
  }
  return self;
}

}  // namespace dlpack
