// Files mapped into memory, and parts of them. The bindings take ordinary arguments instead of messages, because
// opening a file costs microseconds anyway.
#include <stdlib.h>
#include <string.h>

#include "../bindings.h"
#include "../platform/platform.h"

namespace dlpack {

// Any thread.
static void DestroyMapping(Storage* self) {
  Count(counts.imports, -1);
  platform::UnmapFile(self->data, self->nbytes);
  FreeStorage(self);
}

// Any thread. `owner` is the mapping; the part holds one reference to it.
static void DestroyPart(Storage* self) {
  Count(counts.imports, -1);
  Storage* mapping = static_cast<Storage*>(self->owner);
  FreeStorage(self);
  ReleaseStorage(mapping);
}

// Puts a storage over foreign memory into the table; 0 when out of memory. Nothing is reported to the garbage
// collector, because the system can drop the pages of a file, and their size would cause needless collections.
static uint32_t HoldForeign(Instance* self, Storage* storage) {
  if (storage == nullptr) return 0;
  Count(counts.imports, 1);
  return Hold(self, storage, false);
}

static bool NumberOf(napi_env env, napi_value value, uint64_t* number) {
  double given = 0;
  if (napi_get_value_double(env, value, &given) != napi_ok || !IsSize(given)) return false;
  *number = static_cast<uint64_t>(given);
  return static_cast<double>(*number) == given;
}

// mapFile(path, isWritable, result: Float64Array): writes the handle and the size of the file to `result`, or returns
// the name of the error, such as "ENOENT".
static napi_value MapFile(Instance* self, napi_env env, napi_value file, napi_value writable, napi_value into) {
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
  void* memory = nullptr;
  uint64_t nbytes = 0;
  if (path != nullptr) {
    napi_get_value_string_utf8(env, file, path, length + 1, &length);
    // A path with a NUL inside would open another file.
    problem = strlen(path) == length ? platform::MapFile(path, is_writable, &memory, &nbytes) : "EINVAL";
    free(path);
  }
  uint32_t handle = 0;
  if (problem == nullptr) {
    Storage* storage = WrapStorage(memory, nbytes, DestroyMapping, nullptr, 0);
    if (storage == nullptr) platform::UnmapFile(memory, nbytes);
    handle = HoldForeign(self, storage);
    if (handle == 0) problem = "ENOMEM";
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
  Storage* mapping = RangeOf(env, self, of, from, size, &offset, &nbytes);
  uint32_t handle = 0;
  if (mapping != nullptr) {
    RetainStorage(mapping, self->thread);
    char* start = static_cast<char*>(mapping->data) + offset;
    Storage* part = WrapStorage(start, nbytes, DestroyPart, mapping, 0, self->thread);
    if (part == nullptr) ReleaseStorage(mapping, self->thread);
    handle = HoldForeign(self, part);
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

const NamedFunction kMappingFunctions[] = {
    {"mapFile", Binding<MapFile>::Call}, {"partOf", Binding<PartOf>::Call}, {"readPart", Binding<ReadPart>::Call}, {}};

}  // namespace dlpack
