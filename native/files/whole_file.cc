// Files in memory, and parts of them. Large files are mapped, small ones are read. The bindings take ordinary arguments
// instead of messages, because opening a file costs microseconds anyway.
#include <stdlib.h>
#include <string.h>

#include <atomic>

#include "../bindings.h"
#include "../lock.h"
#include "../platform/platform.h"

namespace dlpack {

// Files up to this size are read. It takes less time than to map them, and programs open many of them at once, while
// the number of mappings is limited and runtimes abort when none is left for themselves.
static const uint64_t kSmallFile = 256 << 10;

// Mapped files of the whole process.
static std::atomic<uint64_t> mapped_files{0};

// Leaves half of the mappings that the system allows to everything else in the process. Any thread.
static bool MayMap() {
  const uint64_t most = ComputeOnce<uint64_t, platform::MaxMappings>() / 2;
  return most == 0 || mapped_files.load(std::memory_order_relaxed) < most;
}

// Any thread.
static void DestroyMapping(Storage* self) {
  Count(Counter::kImports, -1);
  mapped_files.fetch_sub(1, std::memory_order_relaxed);
  platform::UnmapFile(self->data, self->nbytes);
  FreeStorage(self);
}

// Any thread. `owner` is the storage of the whole file; the part holds one reference to it.
static void DestroyPart(Storage* self) {
  Count(Counter::kImports, -1);
  Storage* whole = static_cast<Storage*>(self->owner);
  FreeStorage(self);
  ReleaseStorage(whole);
}

// Puts a storage over a mapping, or over a part of a file, into the table; 0 when out of memory. Pages of a mapping are
// not reported to the garbage collector, because the system can drop them, and their size would cause needless
// collections.
static uint32_t HoldForeign(Instance* self, Storage* storage, bool report) {
  if (storage == nullptr) return 0;
  Count(Counter::kImports, 1);
  return Hold(self, storage, report);
}

static bool NumberOf(napi_env env, napi_value value, uint64_t* number) {
  double given = 0;
  if (napi_get_value_double(env, value, &given) != napi_ok || !IsSize(given)) return false;
  *number = static_cast<uint64_t>(given);
  return static_cast<double>(*number) == given;
}

// Maps an open file. Returns NULL, or the name of the error.
static const char* MapWhole(Instance* self, const platform::OpenedFile& opened, bool is_writable, uint32_t* handle) {
  if (!MayMap()) return "EMAPPINGS";
  void* memory = nullptr;
  const char* problem = platform::MapFile(opened, is_writable, &memory);
  if (problem != nullptr) return problem;
  Storage* storage = WrapStorage(memory, opened.nbytes, DestroyMapping, nullptr, 0);
  if (storage == nullptr) {
    platform::UnmapFile(memory, opened.nbytes);
    return "ENOMEM";
  }
  mapped_files.fetch_add(1, std::memory_order_relaxed);
  *handle = HoldForeign(self, storage, false);
  return *handle == 0 ? "ENOMEM" : nullptr;
}

// Reads an open file. Returns NULL, or the name of the error.
static const char* ReadWhole(Instance* self, const platform::OpenedFile& opened, uint32_t* handle) {
  Storage* storage = AllocateStorage(opened.nbytes);
  if (storage == nullptr) return "ENOMEM";
  const char* problem = platform::ReadFile(opened, storage->data);
  if (problem != nullptr) {
    ReleaseStorage(storage);
    return problem;
  }
  *handle = Hold(self, storage, true);
  return *handle == 0 ? "ENOMEM" : nullptr;
}

static const char* OpenWhole(Instance* self, const char* path, bool is_writable, uint32_t* handle, uint64_t* nbytes) {
  platform::OpenedFile opened;
  const char* problem = platform::OpenFile(path, &opened);
  if (problem != nullptr) return problem;
  *nbytes = opened.nbytes;
  problem = opened.nbytes <= kSmallFile ? ReadWhole(self, opened, handle) : MapWhole(self, opened, is_writable, handle);
  platform::CloseFile(opened);
  return problem;
}

// openFile(path, isWritable, result: Float64Array): writes the handle and the size of the file to `result`, or returns
// the name of the error, such as "ENOENT".
static napi_value OpenFile(Instance* self, napi_env env, napi_value file, napi_value writable, napi_value into) {
  static const size_t kMaxPath = 32768;
  size_t length = 0;
  bool is_writable = false;
  const Elements<double> result(env, into);
  if (napi_get_value_string_utf8(env, file, nullptr, 0, &length) != napi_ok || length >= kMaxPath ||
      napi_get_value_bool(env, writable, &is_writable) != napi_ok || result.length < 2) {
    return NewText(env, "ENAMETOOLONG");
  }
  char* path = static_cast<char*>(malloc(length + 1));
  const char* problem = "ENOMEM";
  uint32_t handle = 0;
  uint64_t nbytes = 0;
  if (path != nullptr) {
    napi_get_value_string_utf8(env, file, path, length + 1, &length);
    // A path with a NUL inside would open another file.
    problem = strlen(path) == length ? OpenWhole(self, path, is_writable, &handle, &nbytes) : "EINVAL";
    free(path);
  }
  if (problem != nullptr) return NewText(env, problem);
  result.data[0] = handle;
  result.data[1] = static_cast<double>(nbytes);
  return nullptr;
}

// The storage of a handle if a range lies inside it, else NULL.
static Storage* RangeOf(napi_env env, Instance* self, napi_value handle, napi_value from, napi_value size,
                        uint64_t* offset, uint64_t* nbytes) {
  uint64_t number = 0;
  if (!NumberOf(env, handle, &number) || number > UINT32_MAX || !NumberOf(env, from, offset) ||
      !NumberOf(env, size, nbytes)) {
    return nullptr;
  }
  Storage* storage = GetHeld(self, static_cast<uint32_t>(number));
  const bool is_inside = storage != nullptr && *offset <= storage->nbytes && *nbytes <= storage->nbytes - *offset;
  return is_inside ? storage : nullptr;
}

// partOf(handle, offset, nbytes): the handle of a storage over a part of another storage, which it keeps alive; 0 on
// failure.
static napi_value PartOf(Instance* self, napi_env env, napi_value of, napi_value from, napi_value size) {
  uint64_t offset = 0;
  uint64_t nbytes = 0;
  Storage* whole = RangeOf(env, self, of, from, size, &offset, &nbytes);
  uint32_t handle = 0;
  if (whole != nullptr) {
    RetainStorage(whole, self->thread);
    char* start = static_cast<char*>(whole->data) + offset;
    Storage* part = WrapStorage(start, nbytes, DestroyPart, whole, 0, self->thread);
    if (part == nullptr) ReleaseStorage(whole, self->thread);
    // As the whole: memory of a file that was read is reported, pages of a mapping or of another process are not.
    handle = HoldForeign(self, part, whole->is_reported.load(std::memory_order_relaxed));
  }
  return NewNumber(env, handle);
}

// readPart(handle, offset, nbytes, target: Uint8Array): copies bytes; false when something does not fit.
static napi_value ReadPart(Instance* self, napi_env env, napi_value of, napi_value from, napi_value size,
                           napi_value into) {
  uint64_t offset = 0;
  uint64_t nbytes = 0;
  Storage* storage = RangeOf(env, self, of, from, size, &offset, &nbytes);
  const Elements<uint8_t> target(env, into);
  const bool fits = storage != nullptr && target.is_valid && target.length >= nbytes;
  if (fits && nbytes > 0) memcpy(target.data, static_cast<char*>(storage->data) + offset, nbytes);
  return NewBoolean(env, fits);
}

const NamedFunction kFileFunctions[] = {{"openFile", Binding<OpenFile>::Call},
                                        {"partOf", Binding<PartOf>::Call},
                                        {"readPart", Binding<ReadPart>::Call},
                                        {}};

}  // namespace dlpack
