#include "instance.h"

#include <stdlib.h>

#include "bindings.h"
#include "memory/collection.h"
#include "wire/wire.h"

namespace dlpack {

static const int64_t kReportStep = int64_t{64} << 10;
static const int64_t kReportSlack = int64_t{256} << 20;

// Tells the garbage collector about memory, in steps large enough to be worth a call. It learns late that memory was
// released: the next tensor often takes the same block, and on Bun each report of new memory can start a collection.
static void Report(Instance* self, int64_t delta) {
  self->reported += delta;
  self->unreported += delta;
  if (self->unreported > -kReportSlack && self->unreported < kReportStep) return;
  int64_t total;
  napi_adjust_external_memory(self->env, self->unreported, &total);
  self->unreported = 0;
}

// What an import reports, whatever its size: the bytes belong to another library. Reports of their size made the
// garbage collector run for milliseconds, even for tensors that are disposed at once.
static const int64_t kImportReport = 1024;

// A report of more makes V8 collect at once, in milliseconds, although most pages of a large block may be untouched.
static const int64_t kMaxReport = kReportSlack / 2;

static int64_t ReportOf(const Storage* storage) {
  const int64_t nbytes = static_cast<int64_t>(storage->nbytes);
  return storage->is_import ? kImportReport : nbytes < kMaxReport ? nbytes : kMaxReport;
}

static const int64_t kLastingStep = 64 << 20;

// The limit above `lasting` bytes. It grows with them, so that memory that stays alive causes few collections.
static int64_t LimitAbove(int64_t lasting) {
  const int64_t part = lasting / 16;
  return lasting + (part > kLastingStep ? part : kLastingStep);
}

// At most 1 TiB, so that tensors with absurd shapes cannot make the sum overflow.
static int64_t LastingBytes(const Storage* storage) {
  const uint64_t most = uint64_t{1} << 40;
  return static_cast<int64_t>(storage->nbytes < most ? storage->nbytes : most);
}

void Outlive(Instance* self, uint32_t handle) {
  Held* held = self->table.Find(handle);
  if (held == nullptr || !held->is_reporter || !held->storage->is_import || held->is_lasting) return;
  held->is_lasting = true;
  AddLasting(self, LastingBytes(held->storage));
}

bool AddLasting(Instance* self, int64_t bytes) {
  self->lasting += bytes;
  if (bytes < 0 || self->lasting < self->lasting_limit) return false;
  self->lasting_limit = LimitAbove(self->lasting);
  RequestCollection(self->env, 4 * self->lasting);
  return true;
}

// Makes this thread the home of a storage that has no home, and counts one more hold if it is the home. A thread stops
// being the home with its last hold, so while it is the home the storage stays alive whatever `refs` is.
static bool EnterHome(Instance* self, Storage* storage) {
  ThreadCache* home = storage->home.load(std::memory_order_acquire);
  if (home == nullptr) {
    // With the only reference, no other thread can try to become the home.
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

// Drops the reference of one hold on the home thread.
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

// Drops the reference of one hold.
static void GiveBack(const Held& held) {
  if (held.buffer != nullptr) LetGo(held.buffer);
  if (held.is_at_home) {
    LeaveHome(held.storage);
  } else {
    ReleaseStorage(held.storage);
  }
}

uint32_t Hold(Instance* self, Storage* storage, bool report) {
  const uint32_t handle = self->table.Add(Held{storage, false, false, false, nullptr});
  if (handle == 0) {
    ReleaseStorage(storage);
    return 0;
  }
  Held* held = self->table.Find(handle);
  held->is_reporter = report && BecomeReporter(storage);
  held->is_at_home = EnterHome(self, storage);
  if (held->is_reporter) Report(self, ReportOf(storage));
  return handle;
}

void TakeReportBack(Instance* self, Held* held) {
  if (!held->is_reporter) return;
  held->is_reporter = false;
  held->storage->is_reported.store(false, std::memory_order_relaxed);
  Report(self, -ReportOf(held->storage));
  if (!held->is_lasting) return;
  held->is_lasting = false;
  self->lasting -= LastingBytes(held->storage);
}

void LowerLastingLimit(Instance* self) {
  const int64_t limit = LimitAbove(self->lasting);
  if (limit < self->lasting_limit) self->lasting_limit = limit;
}

void Drop(Instance* self, uint32_t released) {
  Held held;
  if (!self->table.Remove(released & ~kDetached, &held)) return;
  TakeReportBack(self, &held);
  // First, while the table's reference still keeps the storage alive.
  if ((released & kDetached) != 0 && held.buffer != nullptr) DropReference(held.buffer);
  GiveBack(held);
  // On Node the runtime's own records of the buffer stay until the event loop turns.
  if ((released & kDetached) != 0) platform::ReturnFreePages();
}

// The environment ends, so JavaScript will not release the storages that it still holds.
static void Destroy(void* data) {
  Instance* self = static_cast<Instance*>(data);
  self->table.Clear(GiveBack);
  self->layouts.Clear();
  CloseThreadCache(self->thread);
  if (self->wire_ref != nullptr) napi_delete_reference(self->env, self->wire_ref);
  free(self);
}

// Functions that start the parts of the addon for libraries.
static const NamedFunction kPartFunctions[] = {{"startPython", python::StartPython},
                                               {"findRunningPython", python::FindRunningPython},
                                               {"loadCuda", LoadCuda},
                                               {"attachCuda", AttachCuda},
                                               {"loadTvmFfi", LoadTvmFfi},
                                               {"attachTvmFfi", AttachTvmFfi},
                                               {"loadOnnxRuntime", LoadOnnxRuntime},
                                               {"reserveOnnxRuntime", ReserveOnnxRuntime},
                                               {"attachOnnxRuntime", AttachOnnxRuntime},
                                               {}};

static napi_value Fail(napi_env env, const char* message) {
  napi_throw_error(env, nullptr, message);
  return nullptr;
}

napi_value CreateInstance(napi_env env, napi_callback_info info) {
  napi_value options, wire, on_release, result;
  DataOf<void>(env, info, &options);
  void* words = nullptr;
  size_t length = 0;
  if (napi_get_named_property(env, options, "wire", &wire) != napi_ok ||
      napi_get_named_property(env, options, "onRelease", &on_release) != napi_ok ||
      napi_get_arraybuffer_info(env, wire, &words, &length) != napi_ok || length != kWireWords * sizeof(uint64_t)) {
    return Fail(env, "Expected { wire, onRelease } of the same version of dlpack as its native part");
  }
  Instance* self = static_cast<Instance*>(calloc(1, sizeof(Instance)));
  ThreadCache* thread = self == nullptr ? nullptr : OpenThreadCache();
  if (thread == nullptr) {
    free(self);
    return Fail(env, "Out of memory for an instance of dlpack");
  }
  self->env = env;
  self->thread = thread;
  self->words = static_cast<uint64_t*>(words);
  self->lasting_limit = LimitAbove(0);
  // As in runtimes with a memory cage. The variable allows tests of that path in every runtime.
  self->forbids_external_buffers = getenv("DLPACK_NO_EXTERNAL_BUFFERS") != nullptr;
  if (napi_add_env_cleanup_hook(env, Destroy, self) != napi_ok) {
    CloseThreadCache(thread);
    free(self);
    return Fail(env, "Expected a running environment for an instance of dlpack");
  }
  // Hooks run last in, first out, so the queue ends before the table is cleared.
  self->queue = CreateReleaseQueue(env, on_release);
  if (self->queue == nullptr || napi_create_reference(env, wire, 1, &self->wire_ref) != napi_ok ||
      napi_create_object(env, &result) != napi_ok ||
      !DefineFunctions(env, result,
                       {kImportFunctions, kExportFunctions, kLayoutFunctions, kMemoryFunctions, kCountFunctions,
                        kConvertFunctions, kFileFunctions, kSharedMemoryFunctions, kPartFunctions},
                       self)) {
    return Fail(env, "Expected Node-API to make the functions of an instance of dlpack");
  }
  return result;
}

}  // namespace dlpack
