// Host memory shared with other processes. The bindings take ordinary arguments instead of messages, because a system
// call costs more than a Node-API value.
#include "shared_memory.h"

#include <stdlib.h>
#include <string.h>

#include <atomic>

#include "../bindings.h"
#include "../forked.h"
#include "../lock.h"
#include "../platform/platform.h"

namespace dlpack {

static const size_t kMaxName = 255;

// An empty name means memory without a name.
struct Name {
  char text[kMaxName + 1];
  const char* get() const { return text[0] == '\0' ? nullptr : text; }
};

// Memory that this process made. Memory with a name is in a list until the name is removed.
struct Made {
  platform::SharedMemory memory;
  Name name;
  Instance* instance;
  Made* next;
};

static Lock names_lock;
static Made* with_names;

// Takes memory out of the list: that of `instance`, or `only`, or with neither all. Copies it, because another thread
// may free it then.
static bool TakeNamed(const Instance* instance, const Made* only, Made* taken) {
  LockScope lock(&names_lock);
  for (Made** link = &with_names; *link != nullptr; link = &(*link)->next) {
    Made* made = *link;
    if ((instance != nullptr && made->instance != instance) || (only != nullptr && made != only)) continue;
    *link = made->next;
    *taken = *made;
    return true;
  }
  return false;
}

// Any thread. Not in a forked process: the names belong to the process that it came from, and the lock may be held by a
// thread that does not exist there.
static void RemoveNames(const Instance* instance, const Made* only) {
  if (is_forked) return;
  Made taken;
  while (TakeNamed(instance, only, &taken)) platform::RemoveSharedName(taken.name.text, taken.memory);
}

void RemoveSharedNames() { RemoveNames(nullptr, nullptr); }

static void AddName(Made* made) {
  static std::atomic<bool> is_exit_watched{false};
  if (!is_exit_watched.exchange(true)) platform::BeforeExit(RemoveSharedNames);
  LockScope lock(&names_lock);
  made->next = with_names;
  with_names = made;
}

// When the environment ends its names go, although typed arrays may keep the memory a little longer.
static void EndNames(void* instance) { RemoveNames(static_cast<Instance*>(instance), nullptr); }

// Any thread.
static void DestroyMade(Storage* self) {
  CountStorage(self, -1);
  Made* made = static_cast<Made*>(self->owner);
  RemoveNames(nullptr, made);
  platform::ReleaseSharedMemory(made->memory);
  free(made);
  FreeStorage(self);
}

// Any thread.
static void DestroyOpened(Storage* self) {
  Count(Counter::kImports, -1);
  platform::CloseSharedMemory({self->data, self->nbytes, -1, 0});
  FreeStorage(self);
}

static const size_t kMaxNumbers = 5;

// The arguments of a call: a name, numbers, and a Float64Array for the result.
struct Call {
  Instance* self;
  Name name;
  double numbers[kMaxNumbers];
  double* result;
};

static bool ReadCall(napi_env env, napi_callback_info info, size_t numbers, Call* call) {
  napi_value arguments[kMaxNumbers + 2];
  call->self = DataOf<Instance>(env, info, arguments, numbers + 2);
  size_t length = 0;
  if (napi_get_value_string_utf8(env, arguments[0], nullptr, 0, &length) != napi_ok || length > kMaxName) return false;
  napi_get_value_string_utf8(env, arguments[0], call->name.text, sizeof(call->name.text), &length);
  if (strlen(call->name.text) != length || strchr(call->name.text, '/') != nullptr) return false;
  for (size_t i = 0; i < numbers; ++i) {
    double* number = &call->numbers[i];
    if (napi_get_value_double(env, arguments[i + 1], number) != napi_ok || !IsSize(*number)) return false;
  }
  const Elements<double> result(env, arguments[numbers + 1]);
  call->result = result.data;
  return result.length >= 3;
}

static napi_value TextOf(napi_env env, const char* problem) {
  return problem == nullptr ? nullptr : NewText(env, problem);
}

static const char* Make(napi_env env, const Call& call) {
  Made* made = static_cast<Made*>(malloc(sizeof(Made)));
  if (made == nullptr) return "ENOMEM";
  made->name = call.name;
  made->instance = call.self;
  const uint64_t nbytes = static_cast<uint64_t>(call.numbers[0]);
  const char* problem = platform::CreateSharedMemory(made->name.get(), nbytes, &made->memory);
  if (problem != nullptr) {
    free(made);
    return problem;
  }
  Storage* storage = WrapStorage(made->memory.data, nbytes, DestroyMade, made, 0);
  if (storage == nullptr) {
    if (made->name.get() != nullptr) platform::RemoveSharedName(made->name.text, made->memory);
    platform::ReleaseSharedMemory(made->memory);
    free(made);
    return "ENOMEM";
  }
  if (made->name.get() != nullptr) {
    AddName(made);
    // Once, and never removed: Deno ends the process when a hook is removed that was not added.
    if (!call.self->has_named_memory) napi_add_env_cleanup_hook(env, EndNames, call.self);
    call.self->has_named_memory = true;
  }
  CountStorage(storage, 1);
  const platform::SharedMemory memory = made->memory;
  const uint32_t handle = Hold(call.self, storage, true);
  if (handle == 0) return "ENOMEM";
  call.result[0] = handle;
  call.result[1] = memory.file;
  call.result[2] = static_cast<double>(memory.number);
  return nullptr;
}

// createShared(name, nbytes, result): writes the handle, the file descriptor and its number to `result`, or returns the
// name of the error.
static napi_value CreateShared(napi_env env, napi_callback_info info) {
  Call call;
  if (!ReadCall(env, info, 1, &call)) return TextOf(env, "EINVAL");
  return TextOf(env, Make(env, call));
}

// The memory of createShared whose handle is the only argument; NULL when it is something else.
static Made* MadeOf(Instance* self, napi_env env, napi_value handle) {
  Storage* storage = GetHeld(self, NumberIn(env, handle));
  return storage != nullptr && storage->destroy == DestroyMade ? static_cast<Made*>(storage->owner) : nullptr;
}

// sealShared(handle): forbids other processes to open memory of createShared for writing, or returns the name of the
// error.
static napi_value SealShared(Instance* self, napi_env env, napi_value handle) {
  const Made* made = MadeOf(self, env, handle);
  if (made == nullptr) return TextOf(env, "EINVAL");
  return TextOf(env, platform::SealSharedMemory(made->name.get(), made->memory));
}

// unnameShared(handle): removes the name of memory of createShared.
static void UnnameShared(Instance* self, napi_env env, napi_value handle) {
  const Made* made = MadeOf(self, env, handle);
  if (made != nullptr) RemoveNames(nullptr, made);
}

static const char* Open(const Call& call) {
  enum { kProcess, kFile, kNumber, kSize, kFlags };
  enum { kWritable = 1, kOurs = 2, kSealed = 4, kAmongNames = 8 };
  if (call.numbers[kProcess] > UINT32_MAX || call.numbers[kFile] > INT32_MAX) return "EINVAL";
  const platform::SharedPlace place = {call.name.get(), static_cast<uint32_t>(call.numbers[kProcess]),
                                       static_cast<int>(call.numbers[kFile])};
  const int flags = static_cast<int>(call.numbers[kFlags]) & 15;
  const platform::SharedAccess access = {(flags & kWritable) != 0, (flags & kOurs) != 0, (flags & kSealed) != 0,
                                         (flags & kAmongNames) != 0};
  platform::SharedMemory opened = {nullptr, static_cast<uint64_t>(call.numbers[kSize]), -1,
                                   static_cast<uint64_t>(call.numbers[kNumber])};
  const char* problem = platform::OpenSharedMemory(place, access, &opened);
  if (problem != nullptr) return problem;
  Storage* storage = WrapStorage(opened.data, opened.nbytes, DestroyOpened, nullptr, 0);
  if (storage == nullptr) {
    platform::CloseSharedMemory(opened);
    return "ENOMEM";
  }
  Count(Counter::kImports, 1);
  const uint32_t handle = Hold(call.self, storage, false);
  if (handle == 0) return "ENOMEM";
  call.result[0] = handle;
  call.result[1] = static_cast<double>(opened.nbytes);
  return nullptr;
}

// openShared(name, process, file, number, nbytes, flags, result): writes the handle and the size to `result`, or
// returns the name of the error. Flags: 1 writable, 2 memory of createShared, 4 whose size is sealed, 8 in
// the folder of named memory.
static napi_value OpenShared(napi_env env, napi_callback_info info) {
  Call call;
  if (!ReadCall(env, info, 5, &call)) return TextOf(env, "EINVAL");
  return TextOf(env, Open(call));
}

const NamedFunction kSharedMemoryFunctions[] = {{"createShared", CreateShared},
                                                {"sealShared", Binding<SealShared>::Call},
                                                {"unnameShared", Binding<UnnameShared>::Call},
                                                {"openShared", OpenShared},
                                                {}};

}  // namespace dlpack
