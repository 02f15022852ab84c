// The fake driver as an addon: tests set it up, inspect it and let its streams run. fake.ts documents each function.
// JavaScript threads.
#include "control.h"

using namespace fake;

namespace {

std::vector<std::string> NamesOf(const std::vector<OperationRef>& operations) {
  std::vector<std::string> names;
  for (const OperationRef& operation : operations) names.push_back(operation->name);
  return names;
}

// The stream of a handle on a device: 0 and 1 are its legacy stream, 2 is the stream of this thread. NULL after a
// throw.
Stream* StreamAt(const Arguments& arguments, int handle_at, int device_at) {
  Machine& m = machine();
  const uint64_t handle = arguments.Word(handle_at);
  const size_t device = static_cast<size_t>(arguments.Number(device_at));
  if (handle <= 2 && device < m.devices.size()) {
    PrimaryContext* context = &m.devices[device]->context;
    if (handle < 2) return context->legacy;
    Stream*& stream = m.per_thread[{thread().id, context}];
    if (stream == nullptr) stream = NewStream(context, true);
    return stream;
  }
  Stream* stream = reinterpret_cast<Stream*>(handle);
  if (m.streams.count(stream) != 0) return stream;
  Throw(arguments.env, "no such stream");
  return nullptr;
}

Device* DeviceAt(const Arguments& arguments, int i) {
  const size_t index = static_cast<size_t>(arguments.Number(i));
  if (index < machine().devices.size()) return machine().devices[index].get();
  Throw(arguments.env, "no such device");
  return nullptr;
}

void OpenGates(Stream* stream) {
  for (const OperationRef& operation : stream->queue) operation->closed = false;
}

void EndCapture(const std::shared_ptr<Capture>& capture) {
  for (Stream* stream : machine().streams) {
    if (stream->capture != capture) continue;
    stream->capture = nullptr;
    stream->captured_last = nullptr;
  }
  machine().captures.erase(capture);
}

napi_value SetDeviceCount(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  Lock lock(machine().mutex);
  if (machine().initialised) {
    Throw(env, "the driver is initialised: the number of devices is fixed until forget()");
  } else {
    SetDevices(static_cast<int>(arguments.Number(0)));
  }
  return nullptr;
}

napi_value SetMemory(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  Lock lock(machine().mutex);
  if (Device* device = DeviceAt(arguments, 0)) device->limit = static_cast<size_t>(arguments.Number(1));
  return nullptr;
}

napi_value SetAttribute(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  Lock lock(machine().mutex);
  if (Device* device = DeviceAt(arguments, 0)) {
    device->attributes[static_cast<int32_t>(arguments.Number(1))] = static_cast<int32_t>(arguments.Number(2));
  }
  return nullptr;
}

napi_value SetUuid(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  Lock lock(machine().mutex);
  if (Device* device = DeviceAt(arguments, 0)) device->uuid = static_cast<int>(arguments.Number(1));
  return nullptr;
}

napi_value Configure(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  Lock lock(machine().mutex);
  Machine& m = machine();
  m.version = static_cast<int>(arguments.Number(0, m.version));
  m.patience = arguments.Number(1, m.patience);
  m.unknown_pointers_fail = arguments.Flag(2, m.unknown_pointers_fail);
  m.queries_run = arguments.Flag(3, m.queries_run);
  return nullptr;
}

napi_value FailNext(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  const std::string symbol = arguments.Text(0);
  if (!IsSymbol(symbol)) {
    Throw(env, "not in the table: " + symbol);
    return nullptr;
  }
  Lock lock(machine().mutex);
  machine().injections[symbol] = {static_cast<Result>(arguments.Number(1)), static_cast<int64_t>(arguments.Number(2))};
  return nullptr;
}

napi_value InterruptNext(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  const std::string symbol = arguments.Text(0);
  if (!IsSymbol(symbol)) {
    Throw(env, "not in the table: " + symbol);
    return nullptr;
  }
  napi_ref action;
  napi_create_reference(env, arguments.values[1], 1, &action);
  Lock lock(machine().mutex);
  machine().interruptions[symbol] = [env, action] {
    napi_value function, global;
    napi_get_reference_value(env, action, &function);
    napi_get_global(env, &global);
    napi_call_function(env, global, function, 0, nullptr, nullptr);
    napi_delete_reference(env, action);
  };
  return nullptr;
}

napi_value FailDevice(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  Lock lock(machine().mutex);
  Device* failed = DeviceAt(arguments, 0);
  if (failed == nullptr) return nullptr;
  failed->context.failure = static_cast<Result>(arguments.Number(1));
  for (Stream* stream : machine().streams) {
    if (stream->context != &failed->context) continue;
    for (const OperationRef& operation : stream->queue) {
      operation->done = true;
      operation->after.clear();
      operation->effect = nullptr;
    }
    stream->queue.clear();
  }
  machine().changed.notify_all();
  return nullptr;
}

napi_value Calls(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  const std::string symbol = arguments.Text(0);
  if (!IsSymbol(symbol)) {
    Throw(env, "not in the table: " + symbol);
    return nullptr;
  }
  Lock lock(machine().mutex);
  return Number(env, machine().calls[symbol]);
}

napi_value Live(napi_env env, napi_callback_info) {
  static const char* const kinds[] = {"device", "pool", "pinned", "managed", "mapped"};
  Lock lock(machine().mutex);
  Machine& m = machine();
  std::map<std::string, double> counts;
  for (const char* kind : kinds) counts[kind] = counts[std::string(kind) + "Bytes"] = 0;
  for (const auto& entry : m.allocations) {
    if (entry.second.freed) continue;
    const std::string kind = kinds[static_cast<int>(entry.second.kind)];
    counts[kind] += 1;
    counts[kind + "Bytes"] += static_cast<double>(entry.second.bytes);
  }
  double streams = 0, operations = 0, contexts = 0;
  for (const Stream* stream : m.streams) {
    streams += stream->own && !stream->destroyed;
    operations += static_cast<double>(stream->queue.size());
  }
  for (const auto& device : m.devices) contexts += device->context.retained;
  counts["streams"] = streams;
  counts["events"] = static_cast<double>(m.events.size());
  counts["operations"] = operations;
  counts["contexts"] = contexts;
  counts["pools"] = static_cast<double>(m.pools.size());
  counts["modules"] = static_cast<double>(m.modules.size());
  napi_value result;
  napi_create_object(env, &result);
  for (const auto& entry : counts) napi_set_named_property(env, result, entry.first.c_str(), Number(env, entry.second));
  return result;
}

napi_value Errors(napi_env env, napi_callback_info) {
  Lock lock(machine().mutex);
  return Texts(env, machine().errors);
}

napi_value ResetRecords(napi_env, napi_callback_info) {
  Lock lock(machine().mutex);
  Machine& m = machine();
  const std::set<std::shared_ptr<Capture>> captures = m.captures;
  for (const auto& capture : captures) EndCapture(capture);
  for (Stream* stream : m.streams) OpenGates(stream);
  RunReady();
  m.changed.notify_all();
  m.errors.clear();
  m.calls.clear();
  m.injections.clear();
  m.interruptions.clear();
  return nullptr;
}

napi_value Forget(napi_env, napi_callback_info) {
  Lock lock(machine().mutex);
  Machine& m = machine();
  // Streams, events and contexts of the previous machine stay in memory, so that a stale handle never equals a new
  // handle.
  NewGeneration();
  for (auto& device : m.devices) device.release();
  m.devices.clear();
  ForgetMemory();
  m.streams.clear();
  m.events.clear();
  m.pools.clear();
  m.modules.clear();
  m.kernels.clear();
  m.per_thread.clear();
  m.captures.clear();
  m.injections.clear();
  m.calls.clear();
  m.errors.clear();
  m.initialised = false;
  m.version = 13000;
  m.patience = 30000;
  m.unknown_pointers_fail = m.queries_run = false;
  SetDevices(1);
  return nullptr;
}

napi_value Run(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  Lock lock(machine().mutex);
  Stream* stream = StreamAt(arguments, 0, 1);
  if (stream == nullptr) return nullptr;
  while (!stream->queue.empty() && RunTo(stream->queue.front())) {
  }
  machine().changed.notify_all();
  return Number(env, static_cast<double>(stream->queue.size()));
}

napi_value RunAll(napi_env, napi_callback_info) {
  Lock lock(machine().mutex);
  RunReady();
  machine().changed.notify_all();
  return nullptr;
}

napi_value Pending(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  Lock lock(machine().mutex);
  Stream* stream = StreamAt(arguments, 0, 1);
  return stream == nullptr ? nullptr : Texts(env, NamesOf(stream->queue));
}

napi_value Delay(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  Lock lock(machine().mutex);
  if (Stream* stream = StreamAt(arguments, 0, 1)) Enqueue(stream, "a gate", {}, nullptr)->closed = true;
  return nullptr;
}

napi_value OpenGate(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  Lock lock(machine().mutex);
  if (Stream* stream = StreamAt(arguments, 0, 1)) OpenGates(stream);
  machine().changed.notify_all();
  return nullptr;
}

napi_value BeginCapture(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  Lock lock(machine().mutex);
  Stream* stream = StreamAt(arguments, 0, 2);
  if (stream == nullptr) return nullptr;
  if (stream->capture != nullptr || stream->legacy) {
    Throw(env, "the stream captures already, or is the legacy stream");
    return nullptr;
  }
  auto capture = std::make_shared<Capture>();
  capture->origin = stream;
  capture->mode = static_cast<CaptureMode>(arguments.Number(1));
  capture->thread = thread().id;
  machine().captures.insert(capture);
  stream->capture = capture;
  return nullptr;
}

napi_value FinishCapture(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  Lock lock(machine().mutex);
  Stream* stream = StreamAt(arguments, 0, 1);
  if (stream == nullptr) return nullptr;
  const std::shared_ptr<Capture> capture = stream->capture;
  if (capture == nullptr || capture->origin != stream) {
    Throw(env, "no capture began on this stream");
    return nullptr;
  }
  Result code = capture->invalidated ? static_cast<Result>(kCaptureBroken) : 0;
  for (Stream* other : machine().streams) {
    if (other->capture != capture || other->captured_last == nullptr || code != 0) continue;
    const auto before = stream->captured_last == nullptr ? std::set<const Operation*>() : Before(stream->captured_last);
    if (before.count(other->captured_last.get()) == 0) code = kCaptureUnjoined;
  }
  napi_value result;
  napi_create_object(env, &result);
  napi_set_named_property(env, result, "code", Number(env, code));
  napi_set_named_property(env, result, "operations", Texts(env, NamesOf(capture->operations)));
  EndCapture(capture);
  return result;
}

napi_value Peek(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  const size_t bytes = static_cast<size_t>(arguments.Number(1));
  void* data;
  napi_value buffer, result;
  napi_create_arraybuffer(env, bytes, &data, &buffer);
  {
    Lock lock(machine().mutex);
    Read("peek", arguments.Word(0), bytes, data);
  }
  napi_create_typedarray(env, napi_uint8_array, bytes, buffer, 0, &result);
  return result;
}

napi_value Poke(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  size_t bytes = 0;
  const void* data = MemoryOf(env, arguments.values[1], &bytes);
  Lock lock(machine().mutex);
  Write("poke", arguments.Word(0), bytes, data);
  return nullptr;
}

}  // namespace

namespace fake {

void AddControls(napi_env env, napi_value exports) {
  AddFunctions(env, exports,
               {{"setDevices", SetDeviceCount},
                {"setMemory", SetMemory},
                {"setAttribute", SetAttribute},
                {"configure", Configure},
                {"failNext", FailNext},
                {"interruptNext", InterruptNext},
                {"failDevice", FailDevice},
                {"calls", Calls},
                {"live", Live},
                {"errors", Errors},
                {"reset", ResetRecords},
                {"forget", Forget},
                {"run", Run},
                {"runAll", RunAll},
                {"pending", Pending},
                {"delay", Delay},
                {"release", OpenGate},
                {"beginCapture", BeginCapture},
                {"endCapture", FinishCapture},
                {"peek", Peek},
                {"poke", Poke},
                {"setUuid", SetUuid}});
}

}  // namespace fake
