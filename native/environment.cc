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
  if (self->capacity == 0) table[0] = Held{nullptr, 0, 0};
  for (uint32_t i = first; i < capacity; ++i) table[i] = Held{nullptr, i + 1 == capacity ? 0 : i + 1, 0};
  self->table = table;
  self->free_slot = first;
  self->capacity = capacity;
  return true;
}

uint32_t Hold(Environment* self, Storage* storage, int64_t reported_bytes) {
  if (self->free_slot == 0 && !Grow(self)) {
    ReleaseStorage(storage);
    return 0;
  }
  const uint32_t handle = self->free_slot;
  Held* held = &self->table[handle];
  self->free_slot = held->next;
  held->storage = storage;
  held->reported = reported_bytes;
  Report(self, reported_bytes);
  return handle;
}

void Drop(Environment* self, uint32_t handle) {
  Storage* storage = GetHeld(self, handle);
  if (storage == nullptr) return;
  Held* held = &self->table[handle];
  Report(self, -held->reported);
  held->storage = nullptr;
  held->next = self->free_slot;
  self->free_slot = handle;
  // Last: a foreign deleter may come back into this addon.
  ReleaseStorage(storage);
}

// The environment ends: JavaScript will not release what it still holds.
static void Destroy(void* data) {
  Environment* self = static_cast<Environment*>(data);
  for (uint32_t i = 1; i < self->capacity; ++i) {
    Storage* storage = self->table[i].storage;
    self->table[i].storage = nullptr;
    if (storage != nullptr) ReleaseStorage(storage);
  }
  if (self->queue != nullptr) ReleaseReleaseQueue(self->queue);
  free(self->table);
  free(self);
}

Environment* InitEnvironment(napi_env env) {
  Environment* self = static_cast<Environment*>(calloc(1, sizeof(Environment)));
  if (self == nullptr) return nullptr;
  self->env = env;
  if (napi_add_env_cleanup_hook(env, Destroy, self) != napi_ok) {
    free(self);
    return nullptr;
  }
  return self;
}

}  // namespace dlpack
