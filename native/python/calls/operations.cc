// Operations on Python objects for JavaScript. Each call runs one operation, described in a slot of the wire. Runs on
// the JavaScript thread, which holds the GIL for the length of the call.
#include <stdlib.h>

#include <new>

#include "../../bindings.h"
#include "../../forked.h"
#include "../../lock.h"
#include "../../signals.h"
#include "../objects/calls.h"
#include "../tensors/array_interface.h"
#include "../tensors/conversion.h"
#include "../threads/carried.h"
#include "../threads/channel.h"
#include "../threads/pool.h"
#include "operation_scope.h"

namespace dlpack::python {

static Objects* all_objects;
static Lock all_objects_lock;

// References that are dropped together.
class Values {
 public:
  Values() : values_(small_), count_(0) {}
  ~Values() {
    while (count_ > 0) api.Py_DecRef(values_[--count_]);
    if (values_ != small_) free(static_cast<void*>(values_));
  }
  // False with an exception set.
  bool Reserve(uint32_t count) {
    if (count <= kSmall) return true;
    values_ = static_cast<Object**>(malloc(sizeof(Object*) * count));
    if (values_ != nullptr) return true;
    values_ = small_;
    return Raise(api.PyExc_RuntimeError, "Out of memory for arguments");
  }
  bool Add(Object* value) {
    if (value != nullptr) values_[count_++] = value;
    return value != nullptr;
  }
  Object** get() { return values_; }

 private:
  static const uint32_t kSmall = 32;
  Object** values_;
  uint32_t count_;
  Object* small_[kSmall];
};

// Calls the object in cell 0 with the other cells as arguments. The last `pairs` pairs are keywords.
static Object* Call(Objects* self, const Cells& cells, uint32_t pairs, Spill* spill) {
  if (cells.count < 1 || pairs > (cells.count - 1) / 2) {
    return Raise(api.PyExc_RuntimeError, "Expected an object to call");
  }
  Values values;
  const uint32_t positional = cells.count - 2 * pairs;
  if (!values.Reserve(cells.count)) return nullptr;
  for (uint32_t i = 0; i < positional; ++i) {
    if (!values.Add(ToPython(self, &cells.at[i], spill))) return nullptr;
  }
  Ref name_tuple(pairs == 0 ? nullptr : api.PyTuple_New(pairs));
  if (pairs != 0 && !name_tuple) return nullptr;
  for (uint32_t i = 0; i < pairs; ++i) {
    Object* name = ToPython(self, &cells.at[positional + 2 * i], spill);
    if (name == nullptr) return nullptr;
    api.PyTuple_SetItem(name_tuple.get(), i, name);
    if (TypeOf(name) != api.PyUnicode_Type) {  // functions written in C expect strings
      return Raise(api.PyExc_TypeError, "Expected strings as keywords");
    }
    if (!values.Add(ToPython(self, &cells.at[positional + 2 * i + 1], spill))) return nullptr;
  }
  // Python may overwrite the element in front of the arguments during the call and restores it. It holds the callable.
  Object** arguments = values.get() + 1;
  return CallVector(arguments[-1], arguments, positional - 1, name_tuple.get());
}

// As Perform. Tells JavaScript that an attribute is a converter, so that it need not be called. A converter keeps its
// handle, because making a reference to it takes as long as a conversion.
static Object* GetAttribute(Objects* self, Object* object, Object* name, Outcome* outcome) {
  Object* value = api.PyObject_GetAttr(object, name);
  const int number = name == names.from_dlpack && value != nullptr ? NumberOfConverter(value) : -1;
  if (number < 0) return value;
  uint32_t* handle = &self->converters[number];
  if (*handle == 0) {
    HoldResult(self, value, outcome);
    *handle = outcome->result_handle;
  } else {
    api.Py_DecRef(value);
    outcome->result_handle = *handle;
  }
  if (*handle != 0) outcome->result_kind = kConverter;
  return nullptr;
}

// Calls as Call does, and imports the tensor of the result. False when it has none, perhaps with an exception set.
static bool CallTensor(Objects* self, PerformRequest* request, Spill* spill) {
  const Cells cells = CellsBehind(self->instance, request + 1, request->count);
  Object* result = Call(self, cells, request->keywords, spill);
  TensorResult* tensor = MessageAt<TensorResult>(self->instance, request->tensor_slot);
  return result != nullptr && ConsumeTensor(self, result, {-1, false, 0, 0, 0}, tensor);
}

// NULL with an exception set, or with the outcome filled. All cells are read before the operation runs Python code.
static Object* Perform(Objects* self, PerformRequest* request, Spill* spill) {
  const Operation operation = static_cast<Operation>(request->operation);
  const Cells cells = CellsBehind(self->instance, request + 1, request->count);
  const uint32_t count = cells.count;
  Outcome* outcome = reinterpret_cast<Outcome*>(request);
  if (operation == Operation::kCall) return Call(self, cells, request->keywords, spill);
  if (operation == Operation::kTuple) {
    return MakeTuple(cells.count, [&](ptrdiff_t i) { return ToPython(self, &cells.at[i], spill); });
  }
  Ref first(count > 0 ? ToPython(self, &cells.at[0], spill) : nullptr);
  if (!first) return nullptr;
  Ref second(count > 1 ? ToPython(self, &cells.at[1], spill) : nullptr);
  if (count > 1 && !second) return nullptr;
  Ref third(count > 2 ? ToPython(self, &cells.at[2], spill) : nullptr);
  if (count > 2 && !third) return nullptr;
  int status = 0;
  switch (operation) {
    case Operation::kImport: {
      const char* name = api.PyUnicode_AsUTF8AndSize(first.get(), nullptr);
      if (name == nullptr) return nullptr;
      Object* module = api.PyImport_ImportModule(name);
      KeepSignals();
      return module;
    }
    case Operation::kName: {
      Object* name = first.take();
      api.PyUnicode_InternInPlace(&name);
      HoldResult(self, name, outcome);
      return nullptr;
    }
    case Operation::kHold: HoldResult(self, first.take(), outcome); return nullptr;
    case Operation::kIterate: return api.PyObject_GetIter(first.get());
    case Operation::kText: return api.PyObject_Str(first.get());
    case Operation::kNext: {
      Object* next = api.PyIter_Next(first.get());
      if (next == nullptr) outcome->result_kind = kEnd;
      return next;
    }
    case Operation::kGetAttribute:
      if (second) return GetAttribute(self, first.get(), second.get(), outcome);
      break;
    case Operation::kGetItem:
      if (second) return api.PyObject_GetItem(first.get(), second.get());
      break;
    case Operation::kSetAttribute:
      if (third) status = api.PyObject_SetAttr(first.get(), second.get(), third.get());
      break;
    case Operation::kSetItem:
      if (third) status = api.PyObject_SetItem(first.get(), second.get(), third.get());
      break;
    default: break;
  }
  return status == 0 ? None() : nullptr;
}

static napi_value Run(napi_env env, Objects* self, PerformRequest* request, Spill* spill) {
  const Operation operation = static_cast<Operation>(request->operation);
  if (operation == Operation::kCallAsync || operation == Operation::kCallTensorAsync ||
      operation == Operation::kCallPartsAsync)
    return StartCall(env, self, request, spill);
  Outcome* outcome = reinterpret_cast<Outcome*>(request);
  outcome->failed = 0;
  OperationScope scope(self);
  const bool is_tensor = operation == Operation::kCallTensor && CallTensor(self, request, spill);
  Object* result = operation == Operation::kCallTensor ? nullptr : Perform(self, request, spill);
  if (is_forked) LeaveForked();
  if (self->snapshot != nullptr) RenewSnapshot(self);
  if (is_tensor) return nullptr;
  if (result != nullptr) return FromPython(env, self, result, outcome);
  return api.PyErr_Occurred() ? TakeException(env, self, outcome) : nullptr;
}

// A function of its own, so that other calls need no stack space for the arguments.
__attribute__((noinline)) static napi_value RunWithSpill(napi_env env, napi_callback_info info, Objects* self,
                                                         PerformRequest* request) {
  static const size_t kSmall = 64;
  napi_value small[kSmall];
  Spill spill = {env, small, request->spilled, 0};
  if (spill.count > kSmall) spill.values = static_cast<napi_value*>(malloc(sizeof(napi_value) * spill.count));
  if (spill.values == nullptr) {
    spill.values = small;
    spill.count = 0;  // the conversion raises an error for the missing values
  }
  const size_t room = spill.count;
  napi_get_cb_info(env, info, &spill.count, spill.values, nullptr, nullptr);
  if (spill.count > room) spill.count = room;  // the call had more arguments than the request announced
  napi_value result = Run(env, self, request, &spill);
  if (spill.values != small) free(static_cast<void*>(spill.values));
  return result;
}

static napi_value PerformOperation(napi_env env, napi_callback_info info) {
  Objects* self = ObjectsOf(env, info);
  PerformRequest* request = MessageOf<PerformRequest>(self->instance);
  if (request->spilled != 0) return RunWithSpill(env, info, self, request);
  Spill none = {env, nullptr, 0, 0};
  return Run(env, self, request, &none);
}

// Called by a finalizer, so nothing here waits for the GIL.
static void ReleaseLater(Objects* self, napi_env, uint32_t handle) {
  DeferDecRef(DropObject(self, handle));
  LowerLastingLimit(self->instance);
}

// The object outlived its tick, so that only the garbage collector may find that its proxy is unused. Returns whether
// the proxy is watched: that takes a microsecond, so only the proxies of larger objects are.
static bool OutliveTick(Objects* self, napi_env env, uint32_t handle, napi_value proxy) {
  HeldObject* held = self->table.Find(handle);
  if (held == nullptr || held->is_lasting) return false;
  held->is_lasting = true;
  self->young_bytes -= held->bytes;
  if (held->bytes > kObjectFloor) napi_create_reference(env, proxy, 0, &held->proxy);
  const bool is_watched = held->proxy != nullptr;
  if (AddLasting(self->instance, held->bytes)) self->released->crowded = 1;
  return is_watched;
}

// Whether the garbage collector has found that a watched proxy is unused. Its callbacks run only when the
// event loop turns, but a weak reference is empty at once.
static bool IsUnused(Objects* self, napi_env env, uint32_t handle) {
  const HeldObject* held = self->table.Find(handle);
  napi_value proxy = nullptr;
  return held != nullptr && held->proxy != nullptr && napi_get_reference_value(env, held->proxy, &proxy) == napi_ok &&
         proxy == nullptr;
}

static double BytesOf(Objects* self, napi_env, uint32_t handle) {
  const HeldObject* held = self->table.Find(handle);
  return held == nullptr ? 0 : static_cast<double>(held->bytes);
}

static double CountObjects(Objects* self, napi_env) { return static_cast<double>(self->object_count); }

static double CountObjectBytes(Objects* self, napi_env) { return static_cast<double>(self->object_bytes); }

// describeObject(handle): the layout of an array or tensor as a TensorResult without a tensor, and whether it is one.
static bool DescribeHeld(Objects* self, napi_env, uint32_t handle) {
  TensorResult* result = MessageOf<TensorResult>(self->instance);
  LayoutRoom layout;
  OperationScope scope(self);
  Object* object = GetObject(self, handle);
  if (object == nullptr || !DescribeObject(object, &layout)) return false;
  result->tensor.handle = 0;
  result->tensor.layout = 0;
  WriteLayout(layout, &result->tensor);
  return true;
}

static void Settle(Objects* self, napi_env) { OperationScope scope(self); }

static void SettleAll(Objects* self, napi_env) {
  OperationScope scope(self);
  RunDeferred();
}

static void SettleLater(Objects* self, napi_env env) {
  // With a snapshot there was an asynchronous call shortly before: the program does not expect this thread to wait for
  // Python.
  if (self->calls == nullptr && self->snapshot == nullptr) return Settle(self, env);
  DeferReleased(self);
}

// Before the first operation of a tick. Python calls on other threads may have replaced handlers already.
static void RememberSignalsOf(Objects* self, napi_env) {
  if (self->calls == nullptr) return RememberSignals();
  KeepSignals();
}

// At the end of a tick with operations.
static void KeepSignalsOf(Objects*, napi_env) { KeepSignals(); }

// Whether another JavaScript thread is inside an operation. That thread may hold the GIL and wait, in JavaScript that
// Python called, for this thread to end.
static bool IsAnyInside() {
  LockScope scope(&all_objects_lock);
  for (Objects* other = all_objects; other != nullptr; other = other->next) {
    if (other->depth.load(std::memory_order_relaxed) != 0) return true;
  }
  return false;
}

void StopAnsweringHere() {
  LockScope scope(&all_objects_lock);
  for (Objects* other = all_objects; other != nullptr; other = other->next) {
    if (IsOwnThread(other)) StopAnswering(other);
  }
}

// The environment ends. The next thread that holds the GIL drops its references.
static void EndObjects(void* data) {
  Objects* self = static_cast<Objects*>(data);
  CloseChannel(self);
  self->calls = nullptr;
  {
    LockScope scope(&all_objects_lock);
    Objects** at = &all_objects;
    while (*at != self) at = &(*at)->next;
    *at = self->next;
  }
  for (napi_ref ref : {self->released_ref, self->make_bytes, self->on_call, self->on_settle})
    napi_delete_reference(self->instance->env, ref);
  self->table.Clear([](const HeldObject& held) {
    DeferDecRef(held.object);
    if (held.has_spare) DeferDecRef(held.object);
  });
  if (self->snapshot != nullptr) ReleaseStorage(self->snapshot);
  // The end of the main thread ends the process, which should not wait for a computation.
  DetachThread(self->is_worker && !IsAnyInside());
}

// src/python/binding.ts says what they do.
static const NamedFunction kExports[] = {
    {"perform", PerformOperation},
    {"consume", Consume},
    {"convert", Convert},
    {"releaseLater", Binding<ReleaseLater>::Call},
    {"outlive", Binding<OutliveTick>::Call},
    {"isUnused", Binding<IsUnused>::Call},
    {"objectBytes", Binding<BytesOf>::Call},
    {"describeObject", Binding<DescribeHeld>::Call},
    {"countObjects", Binding<CountObjects>::Call},
    {"countObjectBytes", Binding<CountObjectBytes>::Call},
    {"settle", Binding<Settle>::Call},
    {"settleAll", Binding<SettleAll>::Call},
    {"settleLater", Binding<SettleLater>::Call},
    {"keepSignals", Binding<KeepSignalsOf>::Call},
    {"rememberSignals", Binding<RememberSignalsOf>::Call},
    {"takeArray", Binding<TakeArray>::Call},
    {"keepObject", Binding<KeepObject>::Call},
    {"abandon", Binding<Abandon>::Call},
    {"leave", Binding<Leave>::Call},
    {"thrownBy", Binding<ThrownBy>::Call},
    {"answer", Binding<Answer>::Call},
    {"postpone", Binding<Postpone>::Call},
    {"nextTensor", Binding<NextTensor>::Call},
    {"makeSettler", Binding<MakeSettler>::Call},
    {},
};

// findRunningPython(): the record of the start, or undefined when no thread has started Python.
napi_value FindRunningPython(napi_env env, napi_callback_info) {
  const char* record = FindRecord();
  return record == nullptr ? nullptr : NewText(env, record);
}

// startPython({ library, program, record, released, isWorker, threads, makeBytes, onCall, onSettle }): returns an
// object with the functions above, or a string with the reason of a failure.
napi_value StartPython(napi_env env, napi_callback_info info) {
  static const size_t kPath = 4096;
  char library[kPath], program[kPath], record[4 * kPath], message[512];
  void* data = nullptr;
  size_t length = 0;
  napi_value options, result;
  Instance* instance = DataOf<Instance>(env, info, &options);
  const auto option = [=](const char* name) {
    napi_value value = nullptr;
    napi_get_named_property(env, options, name, &value);
    return value;
  };
  const auto read_text = [&](const char* name, char* out, size_t size) {
    return napi_get_value_string_utf8(env, option(name), out, size, &length) == napi_ok && length + 1 < size;
  };
  const auto keep = [&](const char* name, napi_ref* out) {
    return napi_create_reference(env, option(name), 1, out) == napi_ok;
  };
  if (!read_text("library", library, sizeof(library)) || !read_text("program", program, sizeof(program)) ||
      !read_text("record", record, sizeof(record)) ||
      napi_get_arraybuffer_info(env, option("released"), &data, &length) != napi_ok || length < sizeof(ReleasedList))
    return NewText(env, "expected { library, program, record, released }");
  const char* error = Start(library, program, record, message, sizeof(message));
  void* block = error == nullptr ? malloc(sizeof(Objects)) : nullptr;
  if (block == nullptr) return NewText(env, error == nullptr ? "out of memory" : error);
  Objects* self = new (block) Objects();
  self->instance = instance;
  self->released = static_cast<ReleasedList*>(data);
  SetPoolLimit(NumberIn(env, option("threads")));
  const bool is_complete = keep("released", &self->released_ref) && keep("makeBytes", &self->make_bytes) &&
                           keep("onCall", &self->on_call) && keep("onSettle", &self->on_settle);
  error = is_complete ? OpenChannel(self) : "expected { makeBytes, onCall, onSettle }";
  if (error != nullptr) {
    free(block);
    return NewText(env, error);
  }
  if (Argument<bool>::Of(env, option("pythonSignals"))) LetLibrariesTakeSignals();
  self->is_worker = Argument<bool>::Of(env, option("isWorker"));
  self->thread_state = AttachThread();
  {
    LockScope scope(&all_objects_lock);
    self->next = all_objects;
    all_objects = self;
  }
  // Cleanup hooks run last in, first out, so this hook runs before that of the thread-safe function.
  napi_add_env_cleanup_hook(env, EndObjects, self);
  napi_create_object(env, &result);
  return DefineFunctions(env, result, {kExports}, self) ? result : NewText(env, "its functions could not be defined");
}

}  // namespace dlpack::python
