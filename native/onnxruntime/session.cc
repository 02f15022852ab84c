#include "session.h"

#include <stdlib.h>

#include <new>

#include "../bindings.h"
#include "failure.h"
#include "options.h"
#include "text.h"
#include "value_info.h"

namespace dlpack::onnxruntime {

// Loads a model on a thread of the pool.
struct Load {
  Job job;        // first
  double number;  // by which JavaScript stops it; 0: it does not
  Load* next;     // in the list of its context
  PathChar* path;
  Storage* storage;  // of a model in memory, which the load holds
  size_t offset;
  size_t nbytes;
  OrtSessionOptions* options;
  Session* session;
  Failure failure;
};

namespace {

void FreeNames(char** names, uint32_t count) {
  if (names == nullptr) return;
  for (uint32_t i = 0; i < count; ++i) {
    if (names[i] == nullptr) continue;
    OrtStatus* status = library.AllocatorFree(library.strings, names[i]);
    if (status != nullptr) library.ReleaseStatus(status);
  }
  free(names);
}

void Destroy(Session* session) {
  if (session->handle != nullptr) library.ReleaseSession(session->handle);
  if (session->options != nullptr) library.ReleaseRunOptions(session->options);
  FreeNames(session->input_names, session->input_count);
  FreeNames(session->output_names, session->output_count);
  ReleaseDevice(&session->device);
  free(session);
}

bool GetNames(Session* session, Failure* failure) {
  size_t inputs = 0, initializers = 0, outputs = 0;
  OrtSession* handle = session->handle;
  if (failure->Take(library.SessionGetInputCount(handle, &inputs)) ||
      failure->Take(library.SessionGetOverridableInitializerCount(handle, &initializers)) ||
      failure->Take(library.SessionGetOutputCount(handle, &outputs))) {
    return false;
  }
  session->input_names = static_cast<char**>(calloc(inputs + initializers + 1, sizeof(char*)));
  session->output_names = static_cast<char**>(calloc(outputs + 1, sizeof(char*)));
  if (session->input_names == nullptr || session->output_names == nullptr) {
    failure->Set(kFailed, "out of memory");
    return false;
  }
  session->input_count = static_cast<uint32_t>(inputs + initializers);
  session->output_count = static_cast<uint32_t>(outputs);
  for (size_t i = 0; i < inputs; ++i) {
    if (failure->Take(library.SessionGetInputName(handle, i, library.strings, &session->input_names[i]))) return false;
  }
  for (size_t i = 0; i < initializers; ++i) {
    char** name = &session->input_names[inputs + i];
    if (failure->Take(library.SessionGetOverridableInitializerName(handle, i, library.strings, name))) return false;
  }
  for (size_t i = 0; i < outputs; ++i) {
    if (failure->Take(library.SessionGetOutputName(handle, i, library.strings, &session->output_names[i])))
      return false;
  }
  return true;
}

Load* LoadOf(Job* job) { return reinterpret_cast<Load*>(job); }

// A thread of the pool.
void LoadModel(Task* task) {
  Load* load = reinterpret_cast<Load*>(task);
  OrtSession** handle = &load->session->handle;
  const bool failed = load->path != nullptr
                          ? load->failure.Take(library.CreateSession(library.env, load->path, load->options, handle))
                          : load->failure.Take(library.CreateSessionFromArray(
                                library.env, static_cast<char*>(load->storage->data) + load->offset, load->nbytes,
                                load->options, handle));
  if (!failed && GetNames(load->session, &load->failure)) NewRunOptions(&load->session->options, &load->failure);
  Finish(&load->job);
}

// The session as an external. It is emptied when JavaScript disposes the session.
struct Holder {
  Session* session;
};

void FinalizeHolder(napi_env, void* data, void*) {
  Holder* holder = static_cast<Holder*>(data);
  if (holder->session != nullptr) ReleaseSession(holder->session);
  free(holder);
}

Holder* HolderOf(napi_env env, napi_value external) {
  void* data = nullptr;
  return napi_get_value_external(env, external, &data) == napi_ok ? static_cast<Holder*>(data) : nullptr;
}

// Asks the library to load no further, which it looks at between its steps. Older versions load to the end. JavaScript
// thread.
void Stop(Load* load) {
  if (load->options == nullptr || library.SessionOptionsSetLoadCancellationFlag == nullptr) return;
  OrtStatus* status = library.SessionOptionsSetLoadCancellationFlag(load->options, true);
  if (status != nullptr) library.ReleaseStatus(status);
}

// stopLoad(number)
napi_value StopLoad(Context* self, napi_env, double number) {
  for (Load* load = self->loads; load != nullptr; load = load->next) {
    if (load->number == number) Stop(load);
  }
  return nullptr;
}

// [external, description], or [code, text] of a failure.
napi_value LoadResult(napi_env env, Job* job) {
  Load* load = LoadOf(job);
  Load** place = &job->context->loads;
  while (*place != load) place = &(*place)->next;
  *place = load->next;
  if (load->failure.code != 0) return NewFailure(env, load->failure);
  napi_value pair, external;
  Holder* holder = static_cast<Holder*>(malloc(sizeof(Holder)));
  if (holder == nullptr || napi_create_array_with_length(env, 2, &pair) != napi_ok ||
      napi_create_external(env, holder, FinalizeHolder, nullptr, &external) != napi_ok) {
    free(holder);
    return nullptr;
  }
  holder->session = load->session;
  load->session = nullptr;
  napi_set_element(env, pair, 0, external);
  napi_set_element(env, pair, 1, DescribeSession(env, holder->session));
  return pair;
}

void FreeLoad(Job* job) {
  Load* load = LoadOf(job);
  free(load->path);
  if (load->storage != nullptr) ReleaseStorage(load->storage);
  if (load->options != nullptr) library.ReleaseSessionOptions(load->options);
  if (load->session != nullptr) ReleaseSession(load->session);
  free(load);
}

bool ReadModel(Context* self, napi_env env, napi_value model, Load* load) {
  load->path = CopyPath(env, model);
  if (load->path != nullptr) return true;
  const Elements<double> place(env, model);  // handle, offset, bytes
  if (place.length != 3 || !IsSize(place.data[1]) || !IsSize(place.data[2])) return false;
  Storage* storage = GetHeld(self->instance, static_cast<uint32_t>(place.data[0]));
  const uint64_t offset = static_cast<uint64_t>(place.data[1]), nbytes = static_cast<uint64_t>(place.data[2]);
  if (storage == nullptr || offset > storage->nbytes || nbytes > storage->nbytes - offset) return false;
  RetainStorage(storage);
  load->storage = storage;
  load->offset = static_cast<size_t>(offset);
  load->nbytes = static_cast<size_t>(nbytes);
  return true;
}

// loadSession(model: path | Float64Array, settings: string[], concurrency, device, stream: bigint, number): a promise
// of LoadResult. The number is 0 for a load without a signal.
napi_value LoadSession(Context* self, napi_env env, napi_value model, napi_value settings, napi_value concurrency,
                       napi_value device, napi_value stream, double number) {
  Load* load = static_cast<Load*>(calloc(1, sizeof(Load)));
  void* memory = calloc(1, sizeof(Session));
  if (load == nullptr || memory == nullptr) {
    free(load);
    free(memory);
    return nullptr;
  }
  load->session = new (memory) Session();
  load->session->refs.store(1, std::memory_order_relaxed);
  load->session->limit = NumberIn(env, concurrency);
  load->job.task.run = LoadModel;
  load->job.result = LoadResult;
  load->job.free = FreeLoad;
  napi_value promise = Promise(env, self, &load->job);
  if (promise == nullptr) {
    FreeLoad(&load->job);
    return nullptr;
  }
  load->number = number;
  load->next = self->loads;
  self->loads = load;
  if (!ReadModel(self, env, model, load)) load->failure.Set(kInvalidArgument, "out of memory, or not a model");
  int32_t id = -1;
  uint64_t handle = 0;
  bool is_whole = false;
  napi_get_value_int32(env, device, &id);
  napi_get_value_bigint_uint64(env, stream, &handle, &is_whole);
  if (load->failure.code == 0) OpenDevice(id, handle, &load->session->device, &load->failure);
  if (load->failure.code == 0) {
    MakeOptions(env, settings, load->session->device, &load->options, &load->failure);
  }
  if (load->failure.code == 0) {
    if (Submit(&load->job.task)) return promise;  // from here on the job belongs to the pool
    load->failure.Set(kFailed, "the system has no thread left");
  }
  SettleNow(env, &load->job);
  return promise;
}

// disposeSession(session): false when it was disposed before.
napi_value DisposeSession(Context*, napi_env env, napi_value external) {
  Holder* holder = HolderOf(env, external);
  if (holder == nullptr || holder->session == nullptr) return NewBoolean(env, false);
  Session* session = holder->session;
  holder->session = nullptr;
  ReleaseSession(session);
  return NewBoolean(env, true);
}

// endProfiling(session): the path of the file, or [code, text] of a failure.
napi_value EndProfiling(Context*, napi_env env, napi_value external) {
  Session* session = SessionOf(env, external);
  if (session == nullptr) return nullptr;
  Failure failure = {};
  char* path = nullptr;
  if (failure.Take(library.SessionEndProfiling(session->handle, library.strings, &path)))
    return NewFailure(env, failure);
  napi_value text = NewText(env, path);
  failure.Take(library.AllocatorFree(library.strings, path));
  return text;
}

}  // namespace

void StopLoads(Context* context) {
  for (Load* load = context->loads; load != nullptr; load = load->next) Stop(load);
}

void ReleaseSession(Session* session) {
  if (session->refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  session->release.run = [](Task* task) {
    Destroy(reinterpret_cast<Session*>(reinterpret_cast<char*>(task) - offsetof(Session, release)));
  };
  if (!Submit(&session->release)) Destroy(session);
}

Session* SessionOf(napi_env env, napi_value external) {
  Holder* holder = HolderOf(env, external);
  return holder == nullptr ? nullptr : holder->session;
}

const NamedFunction kSessionFunctions[] = {{"loadSession", Binding<LoadSession>::Call},
                                           {"stopLoad", Binding<StopLoad>::Call},
                                           {"disposeSession", Binding<DisposeSession>::Call},
                                           {"endProfiling", Binding<EndProfiling>::Call},
                                           {}};

}  // namespace dlpack::onnxruntime
