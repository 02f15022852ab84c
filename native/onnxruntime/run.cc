#include "run.h"

#include <stdlib.h>

#include "../bindings.h"
#include "../lock.h"
#include "failure.h"
#include "options.h"
#include "session.h"
#include "text.h"
#include "values.h"

namespace dlpack::onnxruntime {

// One run of a model. It holds its session and the memory of its tensors until it has ended.
struct Run {
  Job job;  // first
  Session* session;
  double number;               // by which JavaScript stops it; 0: it does not
  OrtRunOptions* own_options;  // NULL: those of the session
  UsedMemory memory;
  uint32_t input_count;
  uint32_t output_count;
  const char** input_names;
  const char** output_names;
  OrtValue** inputs;
  OrtValue** outputs;
  Place* places;
  bool has_device_outputs;
  Failure failure;
  Run* next;    // in the queue of its session
  Run* before;  // in the list of all runs
  Run* after;
};

namespace {

Run* RunOf(Job* job) { return reinterpret_cast<Run*>(job); }

// Every run that may be stopped.
Lock runs_lock;
Run* runs;

void List(Run* run) {
  LockScope scope(&runs_lock);
  run->before = nullptr;
  run->after = runs;
  if (runs != nullptr) runs->before = run;
  runs = run;
}

void Unlist(Run* run) {
  LockScope scope(&runs_lock);
  if (run->before != nullptr) run->before->after = run->after;
  if (runs == run) runs = run->after;
  if (run->after != nullptr) run->after->before = run->before;
}

OrtRunOptions* OptionsOf(const Run* run) {
  return run->own_options != nullptr ? run->own_options : run->session->options;
}

// Stops the runs for which `is_meant` is true. Setting the flag takes a few instructions.
template <class IsMeant>
void Stop(IsMeant is_meant) {
  LockScope scope(&runs_lock);
  for (Run* run = runs; run != nullptr; run = run->after) {
    if (!is_meant(run)) continue;
    // Options of the session stop all its runs, also later ones: only the end of its environment comes here with them.
    OrtStatus* status = library.RunOptionsSetTerminate(OptionsOf(run));
    if (status != nullptr) library.ReleaseStatus(status);
  }
}

// Any thread.
void FreeRun(Job* job) {
  Run* run = RunOf(job);
  for (uint32_t i = 0; i < run->input_count; ++i) {
    if (run->inputs[i] != nullptr) library.ReleaseValue(run->inputs[i]);
  }
  for (uint32_t i = 0; i < run->output_count; ++i) {
    if (run->outputs[i] != nullptr) library.ReleaseValue(run->outputs[i]);
  }
  if (run->own_options != nullptr) library.ReleaseRunOptions(run->own_options);
  run->memory.Release();
  if (run->session != nullptr) ReleaseSession(run->session);
  free(run);
}

// JavaScript thread, or a thread of the pool.
void Execute(Run* run) {
  Session* session = run->session;
  const OrtRunOptions* options = OptionsOf(run);
  if (run->has_device_outputs) {
    const RunArguments arguments = {run->input_names, run->inputs, run->input_count, run->output_names,
                                    run->outputs,     run->places, run->output_count};
    RunOnDevice(session->handle, options, session->device, arguments, &run->failure);
  } else {
    run->failure.Take(library.Run(session->handle, options, run->input_names, run->inputs, run->input_count,
                                  run->output_names, run->output_count, run->outputs));
  }
}

void ExecuteTask(Task* task);

// Starts a run now, or when another run of its session has ended. False when the system has no thread.
bool Start(Run* run) {
  Session* session = run->session;
  {
    platform::MutexScope scope(&session->mutex);
    if (session->running >= session->limit) {
      run->next = nullptr;
      *(session->first == nullptr ? &session->first : &session->last->next) = run;
      session->last = run;
      return true;
    }
    ++session->running;
  }
  run->job.task.run = ExecuteTask;
  if (Submit(&run->job.task)) return true;
  platform::MutexScope scope(&session->mutex);
  --session->running;
  return false;
}

// The run that waited longest takes the place of one that has ended.
Run* TakeWaiting(Session* session) {
  platform::MutexScope scope(&session->mutex);
  Run* run = session->first;
  if (run == nullptr) {
    --session->running;
  } else {
    session->first = run->next;
  }
  return run;
}

// True when the run waited; it then belongs to the caller.
bool TakeOut(Run* run) {
  Session* session = run->session;
  platform::MutexScope scope(&session->mutex);
  Run* before = nullptr;
  for (Run* each = session->first; each != nullptr; before = each, each = each->next) {
    if (each != run) continue;
    *(before == nullptr ? &session->first : &before->next) = run->next;
    if (session->last == run) session->last = before;
    return true;
  }
  return false;
}

// A thread of the pool.
void ExecuteTask(Task* task) {
  Run* run = reinterpret_cast<Run*>(task);
  for (; run != nullptr;) {
    Execute(run);
    Unlist(run);
    Run* next = TakeWaiting(run->session);
    Finish(&run->job);
    run = next;
  }
}

// A value for each wanted output, in `room` if they fit; or [code, text] of a failure.
napi_value WriteOutputs(napi_env env, Run* run, const Elements<double>& room) {
  Writer writer(run->job.context, env, run->session->device, &run->memory, &run->failure);
  for (uint32_t i = 0; i < run->output_count && run->failure.code == 0; ++i) {
    if (run->places[i] == Place::kGiven) {
      writer.TakeNothing();
    } else {
      OrtValue* output = run->outputs[i];
      run->outputs[i] = nullptr;
      writer.Take(output);
    }
  }
  return writer.Finish(room);
}

// Several runs may end before JavaScript reads the first one, so each has an array of its own.
napi_value RunResult(napi_env env, Job* job) { return WriteOutputs(env, RunOf(job), Elements<double>()); }

// One block for the run and its arrays.
Run* NewRun(Session* session) {
  const size_t count = static_cast<size_t>(session->input_count) + session->output_count;
  char* memory = static_cast<char*>(calloc(1, sizeof(Run) + count * (sizeof(char*) + sizeof(OrtValue*) + 1)));
  if (memory == nullptr) return nullptr;
  Run* run = reinterpret_cast<Run*>(memory);
  run->inputs = reinterpret_cast<OrtValue**>(memory + sizeof(Run));
  run->outputs = run->inputs + session->input_count;
  run->input_names = reinterpret_cast<const char**>(memory + sizeof(Run) + count * sizeof(OrtValue*));
  run->output_names = run->input_names + session->input_count;
  run->places = reinterpret_cast<Place*>(memory + sizeof(Run) + count * (sizeof(OrtValue*) + sizeof(char*)));
  run->session = session;
  session->refs.fetch_add(1, std::memory_order_relaxed);
  run->job.result = RunResult;
  run->job.free = FreeRun;
  return run;
}

void AddConfig(napi_env env, napi_value config, Run* run) {
  uint32_t length = 0;
  if (napi_get_array_length(env, config, &length) != napi_ok) return;
  for (uint32_t i = 0; i + 1 < length && run->failure.code == 0; i += 2) {
    char* key = CopyText(env, ElementOf(env, config, i));
    char* value = CopyText(env, ElementOf(env, config, i + 1));
    if (key == nullptr || value == nullptr) {
      run->failure.Set(kInvalidArgument, "out of memory, or an entry of config contains a NUL character");
    } else {
      run->failure.Take(library.AddRunConfigEntry(run->own_options, key, value));
    }
    free(key);
    free(value);
  }
}

// The numbers have a value for each input of the session, in order, and then for each output 0 (not wanted) or its
// Place, which a tensor follows if it was given.
void ReadValues(Reader* reader, Run* run) {
  Session* session = run->session;
  for (uint32_t i = 0; i < session->input_count && run->failure.code == 0; ++i) {
    OrtValue* value = reader->Value(session->input_names[i], false);
    if (value == nullptr) continue;
    run->input_names[run->input_count] = session->input_names[i];
    run->inputs[run->input_count++] = value;
  }
  for (uint32_t i = 0; i < session->output_count && run->failure.code == 0; ++i) {
    const int wanted = static_cast<int>(reader->Next());
    if (wanted == 0) continue;
    const Place place = static_cast<Place>(wanted);
    const uint32_t at = run->output_count++;
    run->output_names[at] = session->output_names[i];
    run->places[at] = place;
    if (place == Place::kGiven) run->outputs[at] = reader->Value(session->output_names[i], true);
    run->has_device_outputs |= place == Place::kDevice && session->device.memory != nullptr;
  }
}

// `number` is 0 for a run that JavaScript cannot stop.
Run* Prepare(Context* self, napi_env env, napi_value external, const Elements<double>& numbers, napi_value texts,
             napi_value config, double number, bool is_async) {
  Session* session = SessionOf(env, external);
  Run* run = session == nullptr ? nullptr : NewRun(session);
  if (run == nullptr) return nullptr;
  run->job.context = self;
  Reader reader(self, env, session->device, numbers, texts, &run->memory, &run->failure);
  run->number = number;
  napi_valuetype type = napi_null;
  napi_typeof(env, config, &type);
  if ((number != 0 || type != napi_null) && NewRunOptions(&run->own_options, &run->failure))
    AddConfig(env, config, run);
  if (run->failure.code == 0) ReadValues(&reader, run);
  if (run->failure.code == 0) run->memory.Use(is_async, &run->failure);
  return run;
}

// runSync(session, numbers, texts, config): the outputs, in `numbers` if they fit; undefined for a disposed session, or
// when out of memory.
napi_value RunSync(Context* self, napi_env env, napi_value session, Elements<double> numbers, napi_value texts,
                   napi_value config) {
  Run* run = Prepare(self, env, session, numbers, texts, config, 0, false);
  if (run == nullptr) return nullptr;
  if (run->failure.code == 0) Execute(run);
  napi_value result = WriteOutputs(env, run, numbers);
  FreeRun(&run->job);
  return result;
}

// run(session, numbers, texts, config, number): a promise of RunResult. The number is 0 for a run without a signal.
napi_value RunAsync(Context* self, napi_env env, napi_value session, Elements<double> numbers, napi_value texts,
                    napi_value config, double number) {
  Run* run = Prepare(self, env, session, numbers, texts, config, number, true);
  if (run == nullptr) return nullptr;
  napi_value promise = Promise(env, self, &run->job);
  if (promise == nullptr) {
    FreeRun(&run->job);
    return nullptr;
  }
  if (run->failure.code == 0) {
    List(run);
    if (Start(run)) return promise;
    Unlist(run);
    run->failure.Set(kFailed, "the system has no thread left");
  }
  SettleNow(env, &run->job);
  return promise;
}

// stopRun(number): a run that waits ends at once.
napi_value StopRun(Context* self, napi_env env, napi_value number) {
  double wanted = 0;
  napi_get_value_double(env, number, &wanted);
  Run* found = nullptr;
  Stop([&](Run* run) {
    const bool is_meant = run->job.context == self && run->number == wanted;
    if (is_meant) found = run;
    return is_meant;
  });
  // Runs of a context are freed on its thread, which is this one, so this run exists even if it has ended meanwhile.
  if (found == nullptr || !TakeOut(found)) return nullptr;
  Unlist(found);
  found->failure.Set(kFailed, "the run was stopped before it began");
  SettleNow(env, &found->job);
  return nullptr;
}

}  // namespace

void StopRuns(Context* context) {
  Stop([=](const Run* run) { return run->job.context == context; });
}

void StopAllRuns() {
  Stop([](const Run*) { return true; });
}

const NamedFunction kRunFunctions[] = {
    {"runSync", Binding<RunSync>::Call}, {"run", Binding<RunAsync>::Call}, {"stopRun", Binding<StopRun>::Call}, {}};

}  // namespace dlpack::onnxruntime
