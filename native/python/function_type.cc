#include "function_type.h"

#include <stdio.h>

#include <initializer_list>

#include "../release_queue.h"
#include "runtime.h"

namespace dlpack {
namespace python {

namespace {

Object* type;

// PyMemberDef and PyGetSetDef, by their layout in the stable ABI.
struct MemberDef {
  const char* name;
  int type;
  ptrdiff_t offset;
  int flags;
  const char* doc;
};
struct GetSetDef {
  const char* name;
  void* get;
  void* set;
  const char* doc;
  void* closure;
};

// Any Python thread: whichever lets go last.
void Dealloc(Object* self) {
  FunctionBody* body = FunctionBodyOf(self);
  if (body->weak_references != nullptr) api.PyObject_ClearWeakRefs(self);
  if (body->pin != nullptr) ReleaseStorage(body->pin);
  if (body->name != nullptr) api.Py_DecRef(body->name);
  Object* own_type = TypeOf(self);
  api.PyObject_Free(self);
  api.Py_DecRef(own_type);
}

Object* RefuseNew(Object*, Object*, Object*) {
  api.PyErr_SetString(api.PyExc_TypeError, "dlpack.Function is made by passing a JavaScript function to Python");
  return nullptr;
}

Object* Name(Object* self, void*) {
  Object* name = FunctionBodyOf(self)->name;
  api.Py_IncRef(name);
  return name;
}

Object* Represent(Object* self) {
  const char* name = api.PyUnicode_AsUTF8AndSize(FunctionBodyOf(self)->name, nullptr);
  if (name == nullptr) return nullptr;
  char text[160];
  const int length = snprintf(text, sizeof(text), "<dlpack.Function %.120s>", name);
  return api.PyUnicode_FromStringAndSize(text, length);
}

MemberDef members[] = {
    {"__weaklistoffset__", 19 /* T_PYSSIZET */, 0, 1 /* READONLY */, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};
GetSetDef getters[] = {
    {"__name__", reinterpret_cast<void*>(Name), nullptr, "The name of the JavaScript function.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

}  // namespace

bool MakeFunctionType() {
  // Numbers of Include/typeslots.h.
  const int tp_call = 50, tp_dealloc = 52, tp_doc = 56, tp_new = 65, tp_repr = 66, tp_members = 72, tp_getset = 73;
  static TypeSlot slots[] = {
      {tp_call, reinterpret_cast<void*>(CallFunction)},
      {tp_dealloc, reinterpret_cast<void*>(Dealloc)},
      {tp_doc, const_cast<char*>("A function of JavaScript.")},
      {tp_new, reinterpret_cast<void*>(RefuseNew)},
      {tp_repr, reinterpret_cast<void*>(Represent)},
      {tp_members, members},
      {tp_getset, getters},
      {0, nullptr},
  };
  members[0].offset = static_cast<ptrdiff_t>(api.head_size + offsetof(FunctionBody, weak_references));
  TypeSpec spec = {"dlpack.Function", static_cast<int>(api.head_size + sizeof(FunctionBody)), 0, 1u << 18, slots};
  type = api.PyType_FromSpec(&spec);
  if (type == nullptr) return false;
  Ref error(api.PyErr_NewExceptionWithDoc(
      "dlpack.JavaScriptError", "A JavaScript function threw. `error` stands for what it threw.", nullptr, nullptr));
  return error && api.PyObject_SetAttrString(type, "JavaScriptError", error.get()) == 0;
}

static bool SetNumber(napi_env env, napi_value array, uint32_t index, uint32_t number) {
  napi_value value;
  return napi_create_uint32(env, number, &value) == napi_ok && napi_set_element(env, array, index, value) == napi_ok;
}

// makeFunction(number, pin, name): handles of a new callable for the value of that number, and of a weak reference to
// it; undefined when out of memory. The pin is released in any case.
napi_value MakeFunction(napi_env env, napi_callback_info info) {
  napi_value values[3], result;
  Channel* channel = ChannelOf(env, info, values);
  Objects* objects = channel->objects;
  double pin_number = 0;
  napi_get_value_double(env, values[1], &pin_number);
  Storage* pin = WrapQueued(objects->instance->queue, static_cast<uint64_t>(pin_number), nullptr, 0);
  if (pin == nullptr) return nullptr;
  Gil gil;
  Ref self(api.PyType_GenericAlloc(type, 0));  // zeroed: Dealloc is safe from here on
  if (self) {
    FunctionBody* body = FunctionBodyOf(self.get());
    body->channel = channel;
    body->number = NumberIn(env, values[0]);
    body->pin = pin;
    Spill spill = {env, &values[2], 1, 0};
    body->name = ToPython(objects, Cell{kString, 0, 0}, &spill);
    Ref weak(body->name == nullptr ? nullptr : api.PyWeakref_NewRef(self.get(), nullptr));
    if (weak && napi_create_array_with_length(env, 2, &result) == napi_ok) {
      const uint32_t handle = HoldObject(objects, self.get());
      if (handle != 0) self.take();
      const uint32_t weak_handle = HoldObject(objects, weak.get());
      if (weak_handle != 0) weak.take();
      if (handle != 0 && weak_handle != 0 && SetNumber(env, result, 0, handle) &&
          SetNumber(env, result, 1, weak_handle)) {
        return result;
      }
      for (uint32_t held : {handle, weak_handle}) {
        Ref object(held == 0 ? nullptr : DropObject(objects, held));
      }
    }
  } else {
    ReleaseStorage(pin);
  }
  api.PyErr_Clear();
  return nullptr;
}

static napi_value MakeNumber(napi_env env, uint32_t number) {
  napi_value result = nullptr;
  napi_create_uint32(env, number, &result);
  return result;
}

// reviveFunction(weak): the handle of a new reference to the callable, 0 where Python has deallocated it.
napi_value ReviveFunction(napi_env env, napi_callback_info info) {
  napi_value values[1];
  Channel* channel = ChannelOf(env, info, values);
  Gil gil;
  Object* weak = GetObject(channel->objects, NumberIn(env, values[0]));
  Ref object(weak == nullptr ? nullptr : api.PyObject_CallObject(weak, nullptr));
  api.PyErr_Clear();
  const bool is_alive = object && object.get() != api._Py_NoneStruct;
  const uint32_t handle = is_alive ? HoldObject(channel->objects, object.get()) : 0;
  if (handle != 0) object.take();
  return MakeNumber(env, handle);
}

// thrownBy(exception): the number of the value that an exception stands for; 0 for exceptions that are not ours, or not
// of this environment.
napi_value ThrownBy(napi_env env, napi_callback_info info) {
  napi_value values[1];
  Channel* channel = ChannelOf(env, info, values);
  Gil gil;
  Object* held = GetObject(channel->objects, NumberIn(env, values[0]));
  if (held != nullptr) api.Py_IncRef(held);  // the attribute may be code that releases it
  Ref exception(held);
  Ref carrier(exception ? api.PyObject_GetAttrString(exception.get(), "error") : nullptr);
  api.PyErr_Clear();
  const bool is_ours = carrier && TypeOf(carrier.get()) == type && FunctionBodyOf(carrier.get())->channel == channel;
  return MakeNumber(env, is_ours ? FunctionBodyOf(carrier.get())->number : 0);
}

}  // namespace python
}  // namespace dlpack
