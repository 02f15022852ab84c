// Python objects for JavaScript: one operation for each call, arguments in a frame of cells, results by kind.
// JavaScript thread, which takes the GIL for the length of the call.
#include <stdlib.h>

#include "../bindings.h"
#include "../exports.h"
#include "../forked.h"
#include "../lock.h"
#include "../signals.h"
#include "bindings.h"
#include "calls.h"
#include "channel.h"
#include "consume.h"
#include "convert.h"
#include "cuda_array.h"
#include "operation_scope.h"
#include "runtime.h"
#include "values.h"

namespace dlpack {
namespace python {

// src/python/frame.ts has the same numbers.
enum Operation : uint32_t {
  kImport,
  kCall,
  kGetAttribute,
  kSetAttribute,
  kGetItem,
  kSetItem,
  kIterate,
  kNext,
  kText,
  kTuple,
  kList,
  kDict,
  kName,
  kTensorOf,
  kCallTensor
};

static Objects* all_objects;
static Lock all_objects_lock;

static Objects* ObjectsOf(napi_env env, napi_callback_info info) {
  void* data = nullptr;
  napi_get_cb_info(env, info, nullptr, nullptr, nullptr, &data);
  return static_cast<Objects*>(data);
}

// What JavaScript asked for. Read from the frame before the GIL is taken: whatever was put off until then may be Python
// code that calls JavaScript, which uses the frame. Its cells stay, because such calls work above them.
struct Request {
  uint32_t operation;
  const Cell* cells;
  uint32_t count;
  uint32_t keywords;     // cells
  TensorResult* tensor;  // for operations whose result is a tensor
};

static Request ReadRequest(const Objects* self) {
  const ObjectFrame& frame = *self->frame;
  const uint32_t base = frame.base < kCells ? frame.base : kCells;
  const uint32_t count = frame.count < kCells - base ? frame.count : kCells - base;
  return {frame.operation, frame.cells + base, count, frame.keywords <= count / 2 ? frame.keywords * 2 : 0,
          MessageOf<TensorResult>(self->instance)};
}

// References that are dropped together.
class Values {
 public:
  Values() : values_(small_), count_(0) {}
  ~Values() {
    while (count_ > 0) api.Py_DecRef(values_[--count_]);
    if (values_ != small_) free(values_);
  }
  // False with an exception set.
  bool Reserve(uint32_t count) {
    if (count <= kSmall) return true;
    values_ = static_cast<Object**>(malloc(sizeof(Object*) * count));
    if (values_ != nullptr) return true;
    values_ = small_;
    api.PyErr_SetString(api.PyExc_RuntimeError, "Out of memory for arguments");
    return false;
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

// A tuple or a list of cells. A new reference, or NULL with an exception set.
static Object* Collect(Objects* self, const Cell* cells, uint32_t count, bool list, Spill* spill) {
  Ref result(list ? api.PyList_New(count) : api.PyTuple_New(count));
  for (uint32_t i = 0; result && i < count; ++i) {
    Object* value = ToPython(self, cells[i], spill);
    if (value == nullptr) return nullptr;
    if (list) {
      api.PyList_SetItem(result.get(), i, value);
    } else {
      api.PyTuple_SetItem(result.get(), i, value);
    }
  }
  return result.take();
}

static Object* CollectDict(Objects* self, const Cell* cells, uint32_t count, Spill* spill) {
  Ref dict(api.PyDict_New());
  for (uint32_t i = 0; dict && i + 1 < count; i += 2) {
    Ref key(ToPython(self, cells[i], spill));
    Ref value(key ? ToPython(self, cells[i + 1], spill) : nullptr);
    if (!value || api.PyDict_SetItem(dict.get(), key.get(), value.get()) != 0) return nullptr;
  }
  return dict.take();
}

// Cell 0 with the others as arguments.
static Object* Call(Objects* self, const Request& request, Spill* spill, Reading* reading) {
  if (request.count < request.keywords + 1) {
    api.PyErr_SetString(api.PyExc_RuntimeError, "Expected an object to call");
    return nullptr;
  }
  Values values;
  const uint32_t positional = request.count - request.keywords;
  if (!values.Reserve(request.count)) return nullptr;
  for (uint32_t i = 0; i < positional; ++i) {
    if (!values.Add(ToPython(self, request.cells[i], spill))) return nullptr;
  }
  Ref name_tuple(request.keywords == 0 ? nullptr : api.PyTuple_New(request.keywords / 2));
  if (request.keywords != 0 && !name_tuple) return nullptr;
  for (uint32_t i = 0; i < request.keywords; i += 2) {
    Object* name = ToPython(self, request.cells[positional + i], spill);
    if (name == nullptr) return nullptr;
    api.PyTuple_SetItem(name_tuple.get(), i / 2, name);
    if (TypeOf(name) != api.PyUnicode_Type) {  // functions written in C rely on it
      api.PyErr_SetString(api.PyExc_TypeError, "Expected strings as keywords");
      return nullptr;
    }
    if (!values.Add(ToPython(self, request.cells[positional + i + 1], spill))) return nullptr;
  }
  // The callable is in front of its arguments: a place that Python may use. It is dropped by its own reference.
  Object** arguments = values.get() + 1;
  reading->End();
  return CallVector(arguments[-1], arguments, positional - 1, name_tuple.get());
}

// The tensor of an object; the status of the result says what went wrong when no exception is set.
static void TakeTensor(Objects* self, Object* object, const ConsumeOptions& options, TensorResult* result) {
  Descriptor descriptor;
  Status status;
  Storage* storage = ConsumeObject(object, options, &descriptor, &status);
  result->status = GiveTensor(self->instance, storage, status, descriptor, &result->tensor);
}

// NULL with an exception set, or with the result cell filled. All cells are read before Python code that they are for
// runs.
static Object* Perform(Objects* self, const Request& request, Spill* spill, Reading* reading) {
  const uint32_t operation = request.operation, count = request.count;
  if (operation == kCall) return Call(self, request, spill, reading);
  if (operation == kCallTensor) {
    Ref result(Call(self, request, spill, reading));
    if (result) TakeTensor(self, result.get(), {-1, false, 0, 0, 0}, request.tensor);
    return nullptr;
  }
  if (operation == kTuple || operation == kList) return Collect(self, request.cells, count, operation == kList, spill);
  if (operation == kDict) return CollectDict(self, request.cells, count, spill);
  if (operation == kTensorOf) return ConvertTensor(self, request.cells, count);
  Ref first(count > 0 ? ToPython(self, request.cells[0], spill) : nullptr);
  if (!first) return nullptr;
  Ref second(count > 1 ? ToPython(self, request.cells[1], spill) : nullptr);
  if (count > 1 && !second) return nullptr;
  Ref third(count > 2 ? ToPython(self, request.cells[2], spill) : nullptr);
  if (count > 2 && !third) return nullptr;
  reading->End();
  int status = 0;
  switch (operation) {
    case kImport: {
      const char* name = api.PyUnicode_AsUTF8AndSize(first.get(), nullptr);
      if (name == nullptr) return nullptr;
      KeepSegmentationSignal();
      Object* module = api.PyImport_ImportModule(name);
      KeepSegmentationSignal();
      return module;
    }
    case kName: {
      Object* name = first.take();
      api.PyUnicode_InternInPlace(&name);
      HoldResult(self, name);
      return nullptr;
    }
    case kGetAttribute: return api.PyObject_GetAttr(first.get(), second.get());
    case kGetItem: return api.PyObject_GetItem(first.get(), second.get());
    case kIterate: return api.PyObject_GetIter(first.get());
    case kText: return api.PyObject_Str(first.get());
    case kSetAttribute: status = api.PyObject_SetAttr(first.get(), second.get(), third.get()); break;
    case kSetItem: status = api.PyObject_SetItem(first.get(), second.get(), third.get()); break;
    case kNext: {
      Object* next = api.PyIter_Next(first.get());
      if (next == nullptr) self->frame->result.kind = kEnd;
      return next;
    }
    default: break;
  }
  if (status != 0) return nullptr;
  api.Py_IncRef(api._Py_NoneStruct);
  return api._Py_NoneStruct;
}

// After an operation that failed before it had taken all that was made for it.
static void DropTaken(Objects* self, const Request& request) {
  for (uint32_t i = 0; i < request.count; ++i) {
    if (request.cells[i].kind != kTaken) continue;
    Ref object(ToPython(self, request.cells[i], nullptr));
    if (!object) api.PyErr_Clear();
  }
}

static napi_value Run(napi_env env, Objects* self, Spill* spill) {
  const Request request = ReadRequest(self);
  OperationScope scope(self);
  Object* result = Perform(self, request, spill, &scope.reading);
  if (is_forked) LeaveForked();
  self->frame->failed = 0;
  if (result != nullptr) return FromPython(env, self, result);
  if (!api.PyErr_Occurred()) return nullptr;
  napi_value raised = TakeException(env, self);
  DropTaken(self, request);
  return raised;
}

// Apart, for the room that the arguments take on the stack.
__attribute__((noinline)) static napi_value RunWithSpill(napi_env env, napi_callback_info info, Objects* self) {
  napi_value values[kCells];
  const size_t room = self->frame->spilled < kCells ? self->frame->spilled : kCells;
  Spill spill = {env, values, room, 0};
  napi_get_cb_info(env, info, &spill.count, values, nullptr, nullptr);
  if (spill.count > room) spill.count = room;  // more arguments than were announced
  return Run(env, self, &spill);
}

static napi_value PerformOperation(napi_env env, napi_callback_info info) {
  Objects* self = ObjectsOf(env, info);
  if (self->frame->spilled != 0) return RunWithSpill(env, info, self);
  Spill none = {env, nullptr, 0, 0};
  return Run(env, self, &none);
}

// The object as a tensor. Four cells: copy (-1, 0, 1), a device and a stream; or none.
static napi_value Consume(napi_env env, napi_callback_info info) {
  Objects* self = ObjectsOf(env, info);
  ObjectFrame* frame = self->frame;
  const Request request = ReadRequest(self);
  ConsumeOptions options = {-1, false, 0, 0, 0};
  if (request.count == 4) {
    options.copy = static_cast<int>(request.cells[0].number);
    options.device_type = static_cast<int32_t>(request.cells[1].number);
    options.device_id = static_cast<int32_t>(request.cells[2].number);
    options.has_device = options.device_type != 0;
    options.stream = static_cast<int64_t>(request.cells[3].number);
  }
  const uint32_t handle = frame->handle;
  OperationScope scope(self);
  Object* held = GetObject(self, handle);
  if (held == nullptr) {
    frame->failed = 0;
    request.tensor->status = kConsumed;
    return nullptr;
  }
  api.Py_IncRef(held);
  Ref object(held);
  TakeTensor(self, object.get(), options, request.tensor);
  frame->failed = 0;
  return api.PyErr_Occurred() ? TakeException(env, self) : nullptr;
}

// From the collector: nothing here waits for the GIL.
static napi_value ReleaseLater(napi_env env, napi_callback_info info) {
  Objects* self = ObjectsOf(env, info);
  Object* object = DropObject(self, self->frame->handle);
  if (object != nullptr) DeferDecRef(object);
  return nullptr;
}

// Drops what was released, without an operation that would do it on the way.
static napi_value Settle(napi_env env, napi_callback_info info) {
  OperationScope scope(ObjectsOf(env, info));
  return nullptr;
}

// Whether another JavaScript thread is inside an operation. It may be in JavaScript that Python called, hold the GIL,
// and wait for this thread to end.
static bool IsAnyInside() {
  LockScope scope(&all_objects_lock);
  for (Objects* other = all_objects; other != nullptr; other = other->next) {
    if (other->depth.load(std::memory_order_relaxed) != 0) return true;
  }
  return false;
}

// The environment ends: its references are dropped by whoever holds the GIL next.
static void EndObjects(void* data) {
  Objects* self = static_cast<Objects*>(data);
  {
    LockScope scope(&all_objects_lock);
    Objects** at = &all_objects;
    while (*at != self) at = &(*at)->next;
    *at = self->next;
  }
  for (uint32_t i = 1; i < self->capacity; ++i) {
    if (self->table[i] != nullptr) DeferDecRef(self->table[i]);
  }
  // The main thread ends with the process, which should not wait for a computation.
  DetachThread(self->is_worker && !IsAnyInside());
  free(self->table);
  free(self->next_free);
  free(self);
}

static const Export kExports[] = {
    {"perform", PerformOperation}, {"consume", Consume},     {"releaseLater", ReleaseLater}, {"settle", Settle},
    {"readArray", ReadArray},      {"takeArray", TakeArray},
};

static bool GetString(napi_env env, napi_value object, const char* name, char* out, size_t size) {
  napi_value value;
  size_t length = 0;
  return napi_get_named_property(env, object, name, &value) == napi_ok &&
         napi_get_value_string_utf8(env, value, out, size, &length) == napi_ok && length + 1 < size;
}

// startPython({ library, program, frame, isWorker, threads, makeBytes, onCall, onSettle }): an object with the
// functions above and those of the channel, or a string that says what went wrong.
napi_value StartPython(napi_env env, napi_callback_info info) {
  napi_value options, frame, worker, make_bytes, result;
  Instance* instance = InstanceOf(env, info, &options);
  static const size_t kPath = 4096;
  char library[kPath], program[kPath], message[512];
  const char* error = "expected { library, program, frame }";
  void* data = nullptr;
  size_t length = 0;
  Objects* self = nullptr;
  if (GetString(env, options, "library", library, kPath) && GetString(env, options, "program", program, kPath) &&
      napi_get_named_property(env, options, "frame", &frame) == napi_ok &&
      napi_get_arraybuffer_info(env, frame, &data, &length) == napi_ok && length >= sizeof(ObjectFrame)) {
    error = Start(library, program, message, sizeof(message));
    self = error == nullptr ? static_cast<Objects*>(calloc(1, sizeof(Objects))) : nullptr;
  }
  if (self == nullptr) {
    napi_create_string_utf8(env, error == nullptr ? "out of memory" : error, NAPI_AUTO_LENGTH, &result);
    return result;
  }
  if (napi_get_named_property(env, options, "isWorker", &worker) == napi_ok) {
    napi_get_value_bool(env, worker, &self->is_worker);
  }
  AttachThread();
  self->instance = instance;
  self->frame = static_cast<ObjectFrame*>(data);
  napi_create_reference(env, frame, 1, &self->frame_ref);
  if (napi_get_named_property(env, options, "makeBytes", &make_bytes) == napi_ok) {
    napi_create_reference(env, make_bytes, 1, &self->make_bytes);
  }
  {
    LockScope scope(&all_objects_lock);
    self->next = all_objects;
    all_objects = self;
  }
  napi_add_env_cleanup_hook(env, EndObjects, self);
  napi_create_object(env, &result);
  DefineFunctions(env, result, kExports, self);
  error = OpenChannel(env, self, options, result);
  if (error != nullptr) napi_create_string_utf8(env, error, NAPI_AUTO_LENGTH, &result);
  return result;
}

}  // namespace python
}  // namespace dlpack
