// Python objects for JavaScript: one operation for each call, arguments in a frame of cells, results by kind. JavaScript
// thread, which takes the GIL for the length of the call.
#include <stdlib.h>
#include <string.h>

#include "../bindings.h"
#include "../managed_tensor.h"
#include "bindings.h"
#include "channel.h"
#include "consume.h"
#include "runtime.h"
#include "values.h"
#include "tensor_type.h"

namespace dlpack {
namespace python {

// src/python/frame.ts has the same numbers.
enum Operation : uint32_t {
  kImport, kCall, kGetAttribute, kSetAttribute, kGetItem, kSetItem, kIterate, kNext, kText, kTuple, kList, kDict
};

static Objects* ObjectsOf(napi_env env, napi_callback_info info, size_t* count, napi_value* values) {
  void* data = nullptr;
  napi_get_cb_info(env, info, count, values, nullptr, &data);
  return static_cast<Objects*>(data);
}

// Cells [from, to) as a tuple, or a list. A new reference, or NULL with an exception set.
static Object* Collect(Objects* self, uint32_t from, uint32_t to, bool list, Texts* texts) {
  Ref result(list ? api.PyList_New(to - from) : api.PyTuple_New(to - from));
  for (uint32_t i = from; result && i < to; ++i) {
    Object* value = ToPython(self, self->frame->cells[i], texts);
    if (value == nullptr) return nullptr;
    if (list) {
      api.PyList_SetItem(result.get(), i - from, value);
    } else {
      api.PyTuple_SetItem(result.get(), i - from, value);
    }
  }
  return result.take();
}

static Object* CollectDict(Objects* self, uint32_t from, uint32_t to, Texts* texts) {
  Ref dict(api.PyDict_New());
  for (uint32_t i = from; dict && i + 1 < to; i += 2) {
    Ref key(ToPython(self, self->frame->cells[i], texts));
    Ref value(key ? ToPython(self, self->frame->cells[i + 1], texts) : nullptr);
    if (!value || api.PyDict_SetItem(dict.get(), key.get(), value.get()) != 0) return nullptr;
  }
  return dict.take();
}

// NULL with an exception set, or with `*ended` at the end of an iterator. All cells are read before Python code runs: it
// may call back into JavaScript, which uses the frame again.
static Object* Perform(Objects* self, Texts* texts, bool* ended) {
  ObjectFrame* frame = self->frame;
  const uint32_t operation = frame->operation;
  const uint32_t count = frame->count > kMaxCells ? kMaxCells : frame->count;
  const uint32_t keywords = frame->keywords * 2 > count ? 0 : frame->keywords * 2;
  if (operation == kTuple || operation == kList) return Collect(self, 0, count, operation == kList, texts);
  if (operation == kDict) return CollectDict(self, 0, count, texts);
  Ref first(count > 0 ? ToPython(self, frame->cells[0], texts) : nullptr);
  if (!first) return nullptr;
  if (operation == kCall) {
    Ref arguments(Collect(self, 1, count - keywords, false, texts));
    if (!arguments) return nullptr;
    if (keywords == 0) return api.PyObject_CallObject(first.get(), arguments.get());
    Ref dict(CollectDict(self, count - keywords, count, texts));
    return dict ? api.PyObject_Call(first.get(), arguments.get(), dict.get()) : nullptr;
  }
  Ref second(count > 1 ? ToPython(self, frame->cells[1], texts) : nullptr);
  if (count > 1 && !second) return nullptr;
  Ref third(count > 2 ? ToPython(self, frame->cells[2], texts) : nullptr);
  if (count > 2 && !third) return nullptr;
  int status = 0;
  switch (operation) {
    case kImport: {
      const char* name = api.PyUnicode_AsUTF8AndSize(first.get(), nullptr);
      return name == nullptr ? nullptr : api.PyImport_ImportModule(name);
    }
    case kGetAttribute: return api.PyObject_GetAttr(first.get(), second.get());
    case kGetItem: return api.PyObject_GetItem(first.get(), second.get());
    case kIterate: return api.PyObject_GetIter(first.get());
    case kText: return api.PyObject_Str(first.get());
    case kSetAttribute: status = api.PyObject_SetAttr(first.get(), second.get(), third.get()); break;
    case kSetItem: status = api.PyObject_SetItem(first.get(), second.get(), third.get()); break;
    case kNext: {
      Object* next = api.PyIter_Next(first.get());
      *ended = next == nullptr && !api.PyErr_Occurred();
      return next;
    }
    default: break;
  }
  if (status != 0) return nullptr;
  api.Py_IncRef(api._Py_NoneStruct);
  return api._Py_NoneStruct;
}

static napi_value Do(napi_env env, napi_callback_info info) {
  napi_value values[kMaxCells];
  Texts texts = {env, values, kMaxCells, 0};
  Objects* self = ObjectsOf(env, info, &texts.count, values);
  Gil gil;
  bool ended = false;
  Object* result = Perform(self, &texts, &ended);
  self->frame->failed = 0;
  if (ended) {
    self->frame->result.kind = kEnd;
    return nullptr;
  }
  return result == nullptr ? TakeException(env, self) : FromPython(env, self, result);
}

// The tensor in the exchange frame as a Python object; its handle goes into the result cell.
static napi_value MakeTensor(napi_env env, napi_callback_info info) {
  Objects* self = ObjectsOf(env, info, nullptr, nullptr);
  Storage* storage = GetHeld(self->environment, self->environment->frame->handle);
  Frame* tensor_frame = self->environment->frame;
  tensor_frame->status = storage == nullptr ? kConsumed : CheckFrame(*tensor_frame, storage->nbytes);
  if (tensor_frame->status != kOk) return nullptr;
  Gil gil;
  self->frame->failed = 0;
  Object* tensor = NewTensor(*tensor_frame, storage);
  return tensor == nullptr ? TakeException(env, self) : FromPython(env, self, tensor);
}

// The object in cell 0 as a tensor in the exchange frame. Cell 1: copy (-1, 0, 1); cells 2 and 3: device, if any.
static napi_value Consume(napi_env env, napi_callback_info info) {
  Objects* self = ObjectsOf(env, info, nullptr, nullptr);
  ObjectFrame* frame = self->frame;
  Frame* tensor = self->environment->frame;
  frame->failed = 0;
  Object* object = GetObject(self, frame->cells[0].handle);
  if (object == nullptr) {
    tensor->status = kConsumed;
    return nullptr;
  }
  const ConsumeOptions options = {static_cast<int>(frame->cells[1].number), frame->count > 2,
                                  static_cast<int32_t>(frame->cells[2].number),
                                  static_cast<int32_t>(frame->cells[3].number)};
  Gil gil;
  Storage* storage = ConsumeObject(object, options, tensor);
  if (storage != nullptr) {
    HoldInFrame(self->environment, storage);
    return nullptr;
  }
  return tensor->status == kOk ? TakeException(env, self) : nullptr;
}

// From the collector: nothing here waits for the GIL.
static napi_value ReleaseLater(napi_env env, napi_callback_info info) {
  Objects* self = ObjectsOf(env, info, nullptr, nullptr);
  Object* object = DropObject(self, self->frame->cells[0].handle);
  if (object != nullptr) DeferDecRef(object);
  return nullptr;
}

static napi_value ReleaseNow(napi_env env, napi_callback_info info) {
  Objects* self = ObjectsOf(env, info, nullptr, nullptr);
  Object* object = DropObject(self, self->frame->cells[0].handle);
  if (object == nullptr) return nullptr;
  Gil gil;
  api.Py_DecRef(object);
  return nullptr;
}

// The environment ends: its references are dropped by whoever holds the GIL next.
static void EndObjects(void* data) {
  Objects* self = static_cast<Objects*>(data);
  for (uint32_t i = 1; i < self->capacity; ++i) {
    if (self->table[i] != nullptr) DeferDecRef(self->table[i]);
  }
  free(self->table);
  free(self->next_free);
  free(self);
}

struct Export {
  const char* name;
  napi_callback function;
};
static const Export kExports[] = {
    {"do", Do}, {"makeTensor", MakeTensor}, {"consume", Consume}, {"releaseLater", ReleaseLater}, {"releaseNow", ReleaseNow},
};

static bool GetString(napi_env env, napi_value object, const char* name, char* out, size_t size) {
  napi_value value;
  size_t length = 0;
  return napi_get_named_property(env, object, name, &value) == napi_ok &&
         napi_get_value_string_utf8(env, value, out, size, &length) == napi_ok && length + 1 < size;
}

// startPython({ library, program, frame, onCall, onSettle }): an object with the functions above, or a string that says what went wrong.
napi_value StartPython(napi_env env, napi_callback_info info) {
  napi_value options, frame, result;
  Environment* environment = EnvironmentOf(env, info, &options);
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
  self->environment = environment;
  self->frame = static_cast<ObjectFrame*>(data);
  napi_create_reference(env, frame, 1, &self->frame_ref);
  napi_add_env_cleanup_hook(env, EndObjects, self);
  napi_create_object(env, &result);
  for (const Export& entry : kExports) {
    napi_value function;
    napi_create_function(env, entry.name, NAPI_AUTO_LENGTH, entry.function, self, &function);
    napi_set_named_property(env, result, entry.name, function);
  }
  error = OpenChannel(env, self, options, result);
  if (error != nullptr) napi_create_string_utf8(env, error, NAPI_AUTO_LENGTH, &result);
  return result;
}

}  // namespace python
}  // namespace dlpack
