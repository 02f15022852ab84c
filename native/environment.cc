#include "environment.h"

#include <stdlib.h>
#include <string.h>

#include "lock.h"

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

static Environment* environments;
static Lock environments_lock;

int64_t ExportsMade() {
  LockScope scope(&environments_lock);
  int64_t sum = 0;
  for (Environment* self = environments; self != nullptr; self = self->next) {
    sum += self->exports_made.load(std::memory_order_relaxed);
  }
  return sum;
}

static void Unlist(Environment* self) {
  LockScope scope(&environments_lock);
  Environment** at = &environments;
  while (*at != self) at = &(*at)->next;
  *at = self->next;
  Count(counts.exports, self->exports_made.load(std::memory_order_relaxed));
}

static bool Grow(Environment* self) {
  const uint32_t capacity = self->capacity == 0 ? 256 : self->capacity * 2;
  if (capacity <= self->capacity) return false;
  Held* table = static_cast<Held*>(realloc(self->table, sizeof(Held) * capacity));
  if (table == nullptr) return false;
  const uint32_t first = self->capacity == 0 ? 1 : self->capacity;
  if (self->capacity == 0) table[0] = Held{nullptr, 0, 0, false};
  for (uint32_t i = first; i < capacity; ++i) table[i] = Held{nullptr, i + 1 == capacity ? 0 : i + 1, 0, false};
  self->table = table;
  self->free_slot = first;
  self->capacity = capacity;
  return true;
}

// A storage with one owner is nobody else's to report: no locked instruction.
static bool BecomesReporter(Storage* storage) {
  if (storage->refs.load(std::memory_order_acquire) != 1) {
    return !storage->is_reported.exchange(true, std::memory_order_relaxed);
  }
  const bool was_reported = storage->is_reported.load(std::memory_order_relaxed);
  storage->is_reported.store(true, std::memory_order_relaxed);
  return !was_reported;
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
  held->spare = 0;
  held->is_reporter = report && BecomesReporter(storage);
  if (held->is_reporter) Report(self, static_cast<int64_t>(storage->nbytes));
  return handle;
}

Storage* TakeReference(Environment* self, uint32_t handle) {
  static const uint32_t kAdvance = 64;
  Held* held = &self->table[handle];
  if (held->spare == 0) {
    RetainStorage(held->storage, kAdvance);
    held->spare = kAdvance;
  }
  --held->spare;
  return held->storage;
}

void TakeReportBack(Environment* self, uint32_t handle) {
  Held* held = &self->table[handle];
  if (!held->is_reporter) return;
  held->is_reporter = false;
  held->storage->is_reported.store(false, std::memory_order_relaxed);
  Report(self, -static_cast<int64_t>(held->storage->nbytes));
}

void Drop(Environment* self, uint32_t handle) {
  Storage* storage = GetHeld(self, handle);
  if (storage == nullptr) return;
  TakeReportBack(self, handle);
  Held* held = &self->table[handle];
  const uint32_t count = 1 + held->spare;
  held->storage = nullptr;
  held->next = self->free_slot;
  self->free_slot = handle;
  // Last: a foreign deleter may come back into this addon.
  ReleaseStorage(storage, count);
}

// The environment ends: JavaScript will not release what it still holds.
static void Destroy(void* data) {
  Environment* self = static_cast<Environment*>(data);
  for (uint32_t i = 1; i < self->capacity; ++i) {
    Storage* storage = self->table[i].storage;
    self->table[i].storage = nullptr;
    if (storage != nullptr) ReleaseStorage(storage, 1 + self->table[i].spare);
  }
  Unlist(self);
  free(self->table);
  free(self);
}

Environment* InitEnvironment(napi_env env) {
  Environment* self = static_cast<Environment*>(calloc(1, sizeof(Environment)));
  if (self == nullptr) return nullptr;
  self->env = env;
  // As in runtimes that keep their heap in a cage. The variable lets that path be tested everywhere.
  self->forbids_external_buffers = getenv("DLPACK_NO_EXTERNAL_BUFFERS") != nullptr;
  if (napi_add_env_cleanup_hook(env, Destroy, self) != napi_ok) {
    free(self);
    return nullptr;
  }
  LockScope scope(&environments_lock);
  self->next = environments;
  environments = self;
  return self;
}

}  // namespace dlpack
