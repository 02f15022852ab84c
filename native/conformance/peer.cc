// The peer of dlpack/conformance: it makes native externals, also those that break rules, and takes the externals of
// the library under test. It uses nothing of the exchange code of this package, only the published header.
//
// Integers cross as BigInt64Arrays, because tests use numbers that a double cannot hold. src/conformance/native/peer.ts
// names them. All functions run on the JavaScript thread; deleters on any thread.
#include "peer.h"

#include <stdlib.h>
#include <string.h>

#include <atomic>

#include "../abi/dlpack_abi.h"
#include "../exports.h"
#include "../platform/platform.h"
#define DLPACK_NAPI_STAYS_LOADED
#define DLPACK_NAPI_STRUCTS_DECLARED
#include "../../include/dlpack_napi.h"

namespace dlpack {
namespace {

std::atomic<int64_t> deleted{0};
std::atomic<int64_t> changed{0};

// A tensor that the peer made, with a copy of its struct as it was handed out.
struct Made {
  DLManagedTensorVersioned managed;
  DLManagedTensorVersioned before;
  int64_t* shape;
  int64_t* strides;
  uint8_t* memory;
};

void Free(Made* made) {
  free(made->shape);
  free(made->strides);
  free(made->memory);
  free(made);
}

// Any thread.
void Delete(DLManagedTensorVersioned* self) {
  Made* made = static_cast<Made*>(self->manager_ctx);
  if (memcmp(&made->managed, &made->before, sizeof(made->before)) != 0) changed.fetch_add(1);
  Free(made);
  deleted.fetch_add(1);
}

struct Arguments {
  napi_value values[4];
  Arguments(napi_env env, napi_callback_info info) {
    size_t count = 4;
    napi_get_cb_info(env, info, &count, values, nullptr, nullptr);
  }
};

// The elements of the typed array of T; not valid for anything else.
template <class T>
struct Values {
  static constexpr napi_typedarray_type kArray = __is_same(T, uint8_t)   ? napi_uint8_array
                                                 : __is_same(T, int64_t) ? napi_bigint64_array
                                                                         : napi_biguint64_array;
  Values(napi_env env, napi_value value) {
    napi_typedarray_type type;
    void* start = nullptr;
    is_valid =
        napi_get_typedarray_info(env, value, &type, &length, &start, nullptr, nullptr) == napi_ok && type == kArray;
    data = static_cast<const T*>(start);
    if (!is_valid) length = 0;
  }
  // A copy of the elements from malloc.
  T* Copy() const {
    T* copy = static_cast<T*>(malloc(length * sizeof(T) + 1));
    if (copy != nullptr && length > 0) memcpy(copy, data, length * sizeof(T));
    return copy;
  }
  const T* data;
  size_t length = 0;
  bool is_valid;
};

// NULL when the environment ends.
napi_value Integers(napi_env env, const int64_t* values, size_t count) {
  napi_value buffer, result = nullptr;
  void* data = nullptr;
  if (napi_create_arraybuffer(env, count * sizeof(int64_t), &data, &buffer) != napi_ok) return nullptr;
  if (count > 0) memcpy(data, values, count * sizeof(int64_t));
  napi_create_typedarray(env, napi_bigint64_array, count, buffer, 0, &result);
  return result;
}

// A tensor that the peer took and has not released. Its token in JavaScript is the address of the struct, on all
// threads.
struct Taken {
  DLManagedTensorVersioned* managed;
  Taken* next;
};

platform::Mutex mutex;
Taken* taken;  // guarded by mutex

bool Keep(DLManagedTensorVersioned* managed) {
  Taken* entry = static_cast<Taken*>(malloc(sizeof(Taken)));
  if (entry == nullptr) return false;
  platform::MutexScope scope(&mutex);
  *entry = Taken{managed, taken};
  taken = entry;
  return true;
}

// The entry of a token, with the pointer to it; a pointer to NULL for any other number. The mutex is held.
Taken** Find(uint64_t token) {
  Taken** at = &taken;
  while (*at != nullptr && reinterpret_cast<uint64_t>((*at)->managed) != token) at = &(*at)->next;
  return at;
}

// Calls the deleter of the tensor of a token, once. Any thread.
void ReleaseTaken(uint64_t token) {
  Taken* entry;
  {
    platform::MutexScope scope(&mutex);
    Taken** at = Find(token);
    entry = *at;
    if (entry == nullptr) return;
    *at = entry->next;
  }
  DLManagedTensorVersioned* managed = entry->managed;
  free(entry);
  if (managed->deleter != nullptr) managed->deleter(managed);
}

// make(header, shape, strides, bytes): an external. Nothing is checked.
napi_value Make(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  const Values<int64_t> header(env, arguments.values[0]);
  if (header.length != 12) return nullptr;
  const Values<int64_t> shape(env, arguments.values[1]);
  const Values<int64_t> strides(env, arguments.values[2]);
  const Values<uint8_t> bytes(env, arguments.values[3]);
  const size_t misaligned = static_cast<size_t>(header.data[10]);
  Made* made = static_cast<Made*>(calloc(1, sizeof(Made)));
  if (made == nullptr) return nullptr;
  made->shape = shape.Copy();
  made->strides = strides.Copy();
  made->memory = static_cast<uint8_t*>(calloc(bytes.length + misaligned + 64, 1));
  if (made->shape == nullptr || made->strides == nullptr || made->memory == nullptr) {
    Free(made);
    return nullptr;
  }
  uint8_t* start = made->memory;
  start += (64 - reinterpret_cast<uintptr_t>(start) % 64) % 64 + misaligned;
  if (bytes.length > 0) memcpy(start, bytes.data, bytes.length);
  DLManagedTensorVersioned& managed = made->managed;
  managed.version.major = static_cast<uint32_t>(header.data[0]);
  managed.version.minor = static_cast<uint32_t>(header.data[1]);
  managed.flags = static_cast<uint64_t>(header.data[2]);
  managed.manager_ctx = made;
  managed.deleter = header.data[11] != 0 ? Delete : nullptr;
  DLTensor& tensor = managed.dl_tensor;
  tensor.data = bytes.is_valid ? start : nullptr;
  tensor.device.device_type = static_cast<DLDeviceType>(header.data[3]);
  tensor.device.device_id = static_cast<int32_t>(header.data[4]);
  tensor.ndim = static_cast<int32_t>(header.data[5]);
  tensor.dtype.code = static_cast<uint8_t>(header.data[6]);
  tensor.dtype.bits = static_cast<uint8_t>(header.data[7]);
  tensor.dtype.lanes = static_cast<uint16_t>(header.data[8]);
  tensor.shape = shape.is_valid ? made->shape : nullptr;
  tensor.strides = strides.is_valid ? made->strides : nullptr;
  tensor.byte_offset = static_cast<uint64_t>(header.data[9]);
  memcpy(&made->before, &managed, sizeof(managed));
  napi_value result = nullptr;
  if (dlpack_napi_create(env, &managed, &result) != napi_ok) Free(made);
  return result;
}

// makeUntagged(hasTag): an external with a tensor but without a tag, or with the tag of somebody else.
napi_value MakeUntagged(napi_env env, napi_callback_info info) {
  static DLManagedTensorVersioned managed = {};
  static DLManagedTensorVersioned* cell = &managed;
  static const napi_type_tag other = {1, 2};
  static float element = 1;
  managed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  managed.dl_tensor.data = &element;
  managed.dl_tensor.device = {kDLCPU, 0};
  managed.dl_tensor.dtype = {kDLFloat, 32, 1};
  const Arguments arguments(env, info);
  bool has_tag = false;
  napi_get_value_bool(env, arguments.values[0], &has_tag);
  napi_value result;
  napi_create_external(env, &cell, nullptr, nullptr, &result);
  if (has_tag) napi_type_tag_object(env, result, &other);
  return result;
}

napi_value IsExternal(napi_env env, napi_callback_info info) {
  bool is_external = false;
  dlpack_napi_check(env, Arguments(env, info).values[0], &is_external);
  return NewBoolean(env, is_external);
}

// take(external): [header, shape, strides] of the tensor; null if there is none.
napi_value Take(napi_env env, napi_callback_info info) {
  DLManagedTensorVersioned* managed = nullptr;
  napi_value null = nullptr;
  napi_get_null(env, &null);
  if (dlpack_napi_take(env, Arguments(env, info).values[0], &managed) != napi_ok || managed == nullptr) return null;
  if (!Keep(managed)) {
    if (managed->deleter != nullptr) managed->deleter(managed);
    return null;
  }
  const DLTensor& tensor = managed->dl_tensor;
  const int64_t header[] = {managed->version.major,
                            managed->version.minor,
                            static_cast<int64_t>(managed->flags),
                            tensor.device.device_type,
                            tensor.device.device_id,
                            tensor.ndim,
                            tensor.dtype.code,
                            tensor.dtype.bits,
                            tensor.dtype.lanes,
                            static_cast<int64_t>(tensor.byte_offset),
                            static_cast<int64_t>(reinterpret_cast<uintptr_t>(tensor.data)),
                            static_cast<int64_t>(reinterpret_cast<uintptr_t>(managed))};
  const size_t axes = tensor.ndim > 0 ? static_cast<size_t>(tensor.ndim) : 0;
  napi_value result = NewArray(env, {Integers(env, header, sizeof(header) / sizeof(header[0])),
                                     tensor.shape == nullptr ? null : Integers(env, tensor.shape, axes),
                                     tensor.strides == nullptr ? null : Integers(env, tensor.strides, axes)});
  if (result == nullptr) ReleaseTaken(reinterpret_cast<uint64_t>(managed));
  return result;
}

// The byte at an offset from the first element of a token's tensor; NULL for another number, or without memory.
uint8_t* BytesAt(napi_env env, const Arguments& arguments) {
  int64_t offset = 0;
  napi_get_value_int64(env, arguments.values[1], &offset);
  platform::MutexScope scope(&mutex);
  const Taken* entry = *Find(Argument<uint64_t>::Of(env, arguments.values[0]));
  if (entry == nullptr || entry->managed->dl_tensor.data == nullptr) return nullptr;
  const DLTensor& tensor = entry->managed->dl_tensor;
  return static_cast<uint8_t*>(tensor.data) + tensor.byte_offset + offset;
}

// read(token, offset, length): a copy of bytes, counted from the first element. Undefined for another token or length.
napi_value Read(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  int64_t length = 0;
  napi_get_value_int64(env, arguments.values[2], &length);
  const uint8_t* bytes = BytesAt(env, arguments);
  napi_value buffer = nullptr;
  void* data = nullptr;
  if (length < 0 || (length > 0 && bytes == nullptr) ||
      napi_create_arraybuffer(env, static_cast<size_t>(length), &data, &buffer) != napi_ok) {
    return nullptr;
  }
  if (length > 0) memcpy(data, bytes, static_cast<size_t>(length));
  return buffer;
}

// write(token, offset, byte): nothing for another token.
napi_value Write(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  uint8_t* at = BytesAt(env, arguments);
  if (at != nullptr) *at = static_cast<uint8_t>(NumberIn(env, arguments.values[2]));
  return nullptr;
}

napi_value Release(napi_env env, napi_callback_info info) {
  ReleaseTaken(Argument<uint64_t>::Of(env, Arguments(env, info).values[0]));
  return nullptr;
}

// What the threads of releaseOnThreads have in common. It lives on the stack of the call, which waits for all of them.
struct Releases {
  Values<uint64_t> tokens;
  uint32_t threads;
  std::atomic<uint32_t> started{0};
  uint32_t ended = 0;
  platform::Mutex mutex;
  platform::Condition condition;
};

// A thread without an environment: each releases every tensor whose number leaves the same rest.
void* ReleaseSome(void* argument) {
  Releases* releases = static_cast<Releases*>(argument);
  const uint32_t first = releases->started.fetch_add(1);
  for (size_t i = first; i < releases->tokens.length; i += releases->threads) {
    ReleaseTaken(releases->tokens.data[i]);
  }
  platform::MutexScope scope(&releases->mutex);
  releases->ended++;
  releases->condition.Signal();
  return nullptr;
}

// releaseOnThreads(tokens: BigUint64Array, count): on threads without an environment. Returns when all have ended.
napi_value ReleaseOnThreads(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  Releases releases{{env, arguments.values[0]}, NumberIn(env, arguments.values[1]), {}, 0, {}, {}};
  for (uint32_t i = 0; i < releases.threads; ++i) {
    if (!platform::StartThread(ReleaseSome, &releases)) ReleaseSome(&releases);
  }
  platform::MutexScope scope(&releases.mutex);
  while (releases.ended < releases.threads) releases.condition.Wait(&releases.mutex);
  return nullptr;
}

napi_value Deleted(napi_env env, napi_callback_info) { return NewNumber(env, static_cast<double>(deleted.load())); }

// changed(): how many structs differed from what the peer had made when they came back.
napi_value Changed(napi_env env, napi_callback_info) { return NewNumber(env, static_cast<double>(changed.load())); }

const NamedFunction kFunctions[] = {
    {"make", Make},
    {"makeUntagged", MakeUntagged},
    {"isExternal", IsExternal},
    {"take", Take},
    {"read", Read},
    {"write", Write},
    {"release", Release},
    {"releaseOnThreads", ReleaseOnThreads},
    {"deleted", Deleted},
    {"changed", Changed},
    {},
};

}  // namespace

napi_value ConformancePeer(napi_env env, napi_callback_info) {
  napi_value peer = nullptr;
  if (napi_create_object(env, &peer) != napi_ok || !DefineFunctions(env, peer, {kFunctions}, nullptr)) return nullptr;
  return peer;
}

}  // namespace dlpack
