// Python objects for JavaScript: one operation for each call, arguments in a frame of cells, results by kind. JavaScript
// thread, which takes the GIL for the length of the call.
#include <stdlib.h>
#include <string.h>

#include "../bindings.h"
#include "../managed_tensor.h"
#include "bindings.h"
#include "consume.h"
#include "runtime.h"
#include "tensor_type.h"

namespace dlpack {
namespace python {

// src/python/frame.ts has the same numbers.
enum Kind : uint32_t { kNone, kBool, kInt, kFloat, kString, kBytes, kBigInt, kHandle, kEnd, kTaken };
enum Operation : uint32_t {
  kImport, kCall, kGetAttribute, kSetAttribute, kGetItem, kSetItem, kIterate, kNext, kText, kTuple, kList, kDict
};

struct Cell {
  uint32_t kind;
  uint32_t handle;
  double number;
};

static const uint32_t kMaxCells = 120;

struct ObjectFrame {
  uint32_t operation;
  uint32_t count;     // cells in use
  uint32_t keywords;  // the last so many pairs of cells are names and values
  uint32_t failed;    // out: 1 with an exception
  Cell result;        // out; `number` of a handle: 1 if it can be called
  Cell cells[kMaxCells];
};
static_assert(sizeof(ObjectFrame) == 32 + 16 * kMaxCells, "src/python/frame.ts has this size");

// What one environment holds of Python. A table like environment.h's, of references.
struct Objects {
  Environment* environment;
  ObjectFrame* frame;
  napi_ref frame_ref;
  Object** table;
  uint32_t* next_free;
  uint32_t capacity;
  uint32_t free_slot;
};

static Objects* ObjectsOf(napi_env env, napi_callback_info info, size_t* count, napi_value* values) {
  void* data = nullptr;
  napi_get_cb_info(env, info, count, values, nullptr, &data);
  return static_cast<Objects*>(data);
}

// Takes the reference over; 0 when out of memory.
static uint32_t HoldObject(Objects* self, Object* object) {
  if (self->free_slot == 0) {
    const uint32_t capacity = self->capacity == 0 ? 64 : self->capacity * 2;
    Object** table = static_cast<Object**>(realloc(self->table, sizeof(Object*) * capacity));
    if (table != nullptr) self->table = table;
    uint32_t* next = static_cast<uint32_t*>(realloc(self->next_free, sizeof(uint32_t) * capacity));
    if (next != nullptr) self->next_free = next;
    if (table == nullptr || next == nullptr) return 0;
    const uint32_t first = self->capacity == 0 ? 1 : self->capacity;
    self->table[0] = nullptr;
    for (uint32_t i = first; i < capacity; ++i) {
      table[i] = nullptr;
      next[i] = i + 1 == capacity ? 0 : i + 1;
    }
    self->free_slot = first;
    self->capacity = capacity;
  }
  const uint32_t handle = self->free_slot;
  self->free_slot = self->next_free[handle];
  self->table[handle] = object;
  return handle;
}

static Object* GetObject(Objects* self, uint32_t handle) {
  return handle < self->capacity ? self->table[handle] : nullptr;
}

static Object* DropObject(Objects* self, uint32_t handle) {
  Object* object = GetObject(self, handle);
  if (object == nullptr) return nullptr;
  self->table[handle] = nullptr;
  self->next_free[handle] = self->free_slot;
  self->free_slot = handle;
  return object;
}

static Object* TextToPython(napi_env env, napi_value value, bool number) {
  size_t length = 0;
  char small[256];
  if (napi_get_value_string_utf8(env, value, nullptr, 0, &length) != napi_ok) {
    api.PyErr_SetString(api.PyExc_TypeError, "Expected a string");
    return nullptr;
  }
  char* text = length < sizeof(small) ? small : static_cast<char*>(malloc(length + 1));
  if (text == nullptr) {
    api.PyErr_SetString(api.PyExc_RuntimeError, "Out of memory for a string");
    return nullptr;
  }
  napi_get_value_string_utf8(env, value, text, length + 1, &length);
  Object* result = number ? api.PyLong_FromString(text, nullptr, 10)
                          : api.PyUnicode_FromStringAndSize(text, static_cast<ptrdiff_t>(length));
  if (text != small) free(text);
  return result;
}

static Object* BytesToPython(napi_env env, napi_value value) {
  napi_typedarray_type type;
  size_t length = 0;
  void* data = nullptr;
  if (napi_get_typedarray_info(env, value, &type, &length, &data, nullptr, nullptr) != napi_ok) length = 0;
  return api.PyBytes_FromStringAndSize(static_cast<char*>(data), static_cast<ptrdiff_t>(length));
}

// The values that do not fit into a cell, in order.
struct Texts {
  napi_env env;
  napi_value* values;
  size_t count;
  size_t at;
};

// A new reference, or NULL with an exception set.
static Object* ToPython(Objects* self, const Cell& cell, Texts* texts) {
  switch (cell.kind) {
    case kNone: api.Py_IncRef(api._Py_NoneStruct); return api._Py_NoneStruct;
    case kBool: return api.PyBool_FromLong(cell.number != 0);
    case kInt: return api.PyLong_FromLongLong(static_cast<long long>(cell.number));
    case kFloat: return api.PyFloat_FromDouble(cell.number);
    case kString: case kBigInt: case kBytes: {
      if (texts->at >= texts->count) break;
      napi_value value = texts->values[texts->at++];
      return cell.kind == kBytes ? BytesToPython(texts->env, value) : TextToPython(texts->env, value, cell.kind == kBigInt);
    }
    case kTaken: {
      Object* object = DropObject(self, cell.handle);
      if (object == nullptr) break;
      return object;
    }
    case kHandle: {
      Object* object = GetObject(self, cell.handle);
      if (object == nullptr) break;
      api.Py_IncRef(object);
      return object;
    }
    default: break;
  }
  api.PyErr_SetString(api.PyExc_RuntimeError, "Expected a live Python object but it was released");
  return nullptr;
}

static napi_value MakeString(napi_env env, Object* text) {
  ptrdiff_t length = 0;
  napi_value result = nullptr;
  const char* utf8 = text == nullptr ? nullptr : api.PyUnicode_AsUTF8AndSize(text, &length);
  if (utf8 == nullptr) {
    // Lone surrogates have no UTF-8.
    api.PyErr_Clear();
    utf8 = "?";
    length = 1;
  }
  napi_create_string_utf8(env, utf8, static_cast<size_t>(length), &result);
  return result;
}

// Takes the reference over. What does not fit into the result cell is returned.
static napi_value FromPython(napi_env env, Objects* self, Object* object) {
  Cell* result = &self->frame->result;
  Object* type = TypeOf(object);
  napi_value text = nullptr;
  bool keep = false;
  if (object == api._Py_NoneStruct) {
    result->kind = kNone;
  } else if (type == api.PyBool_Type) {
    result->kind = kBool;
    result->number = object == api._Py_TrueStruct;
  } else if (type == api.PyFloat_Type) {
    result->kind = kFloat;
    result->number = api.PyFloat_AsDouble(object);
  } else if (type == api.PyLong_Type) {
    int overflow = 0;
    const long long value = api.PyLong_AsLongLongAndOverflow(object, &overflow);
    result->number = static_cast<double>(value);
    result->kind = overflow == 0 && value >= -((1LL << 53) - 1) && value <= (1LL << 53) - 1 ? kInt : kBigInt;
    if (result->kind == kBigInt) {
      Ref digits(api.PyNumber_ToBase(object, 10));
      text = MakeString(env, digits.get());
    }
  } else if (type == api.PyUnicode_Type) {
    result->kind = kString;
    text = MakeString(env, object);
  } else if (type == api.PyBytes_Type) {
    result->kind = kBytes;
    char* data = nullptr;
    ptrdiff_t length = 0;
    void* copy = nullptr;
    napi_value buffer;
    if (api.PyBytes_AsStringAndSize(object, &data, &length) == 0 &&
        napi_create_arraybuffer(env, static_cast<size_t>(length), &copy, &buffer) == napi_ok) {
      if (length > 0) memcpy(copy, data, static_cast<size_t>(length));
      napi_create_typedarray(env, napi_uint8_array, static_cast<size_t>(length), buffer, 0, &text);
    }
  } else {
    result->kind = kHandle;
    result->number = api.PyCallable_Check(object);
    result->handle = HoldObject(self, object);
    keep = result->handle != 0;
  }
  if (!keep) api.Py_DecRef(object);
  return text;
}

static void SetString(napi_env env, napi_value object, const char* name, Object* text) {
  napi_set_named_property(env, object, name, MakeString(env, text));
}

// The exception that is set, as { type, message, traceback }; the result cell holds the exception itself.
static napi_value TakeException(napi_env env, Objects* self) {
  Object *type = nullptr, *value = nullptr, *traceback = nullptr;
  api.PyErr_Fetch(&type, &value, &traceback);
  api.PyErr_NormalizeException(&type, &value, &traceback);
  Ref type_ref(type), traceback_ref(traceback);
  napi_value result;
  napi_create_object(env, &result);
  Ref name(type == nullptr ? nullptr : api.PyObject_GetAttrString(type, "__name__"));
  SetString(env, result, "type", name.get());
  Ref message(value == nullptr ? nullptr : api.PyObject_Str(value));
  SetString(env, result, "message", message.get());
  Ref module(api.PyImport_ImportModule("traceback"));
  Ref format(module ? api.PyObject_GetAttrString(module.get(), "format_exception") : nullptr);
  Ref arguments(api.PyTuple_New(3));
  if (format && arguments && value != nullptr) {
    Object* items[3] = {type, value, traceback == nullptr ? api._Py_NoneStruct : traceback};
    for (int i = 0; i < 3; ++i) {
      api.Py_IncRef(items[i]);
      api.PyTuple_SetItem(arguments.get(), i, items[i]);
    }
    Ref lines(api.PyObject_CallObject(format.get(), arguments.get()));
    Ref empty(api.PyUnicode_FromStringAndSize("", 0));
    Ref join(empty ? api.PyObject_GetAttrString(empty.get(), "join") : nullptr);
    Ref one(api.PyTuple_New(1));
    if (lines && join && one) {
      api.PyTuple_SetItem(one.get(), 0, lines.take());
      Ref text(api.PyObject_CallObject(join.get(), one.get()));
      SetString(env, result, "traceback", text.get());
    }
  }
  api.PyErr_Clear();
  self->frame->failed = 1;
  self->frame->result.kind = kNone;
  if (value != nullptr) {
    self->frame->result.handle = HoldObject(self, value);
    self->frame->result.kind = self->frame->result.handle == 0 ? kNone : kHandle;
  }
  return result;
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
  tensor_frame->status = storage == nullptr ? kConsumed : CheckFrame(*tensor_frame, *storage);
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

// startPython({ library, program, frame }): an object with the functions above, or a string that says what went wrong.
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
  return result;
}

}  // namespace python
}  // namespace dlpack
