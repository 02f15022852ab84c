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

// makeFunction(number, pin, name): handles of a new callable for the function of that number, and of a weak reference
// to it.
napi_value MakeFunction(napi_env env, napi_callback_info info) {
  napi_value values[3], result;
  Channel* channel = ChannelOf(env, info, values);
  Objects* objects = channel->objects;
  double pin_number = 0;
  napi_get_value_double(env, values[1], &pin_number);
  objects->frame->failed = 0;
  // First: from here on the pin is released whatever happens.
  Storage* pin = WrapQueued(objects->environment->queue, static_cast<uint64_t>(pin_number), nullptr, 0);
  Gil gil;
  Ref self(pin == nullptr ? nullptr : api.PyType_GenericAlloc(type, 0));  // zeroed: Dealloc is safe from here on
  if (self) {
    FunctionBody* body = FunctionBodyOf(self.get());
    body->channel = channel;
    body->number = NumberIn(env, values[0]);
    body->pin = pin;
    Texts texts = {env, &values[2], 1, 0};
    body->name = ToPython(objects, Cell{kString, 0, 0}, &texts);
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
  } else if (pin != nullptr) {
    ReleaseStorage(pin);
  }
  if (!api.PyErr_Occurred()) api.PyErr_SetString(api.PyExc_RuntimeError, "Out of memory for a function");
  return TakeException(env, objects);
}

// numberOf(handle): the number of the function, of this environment, that an object is; 0 for all else.
napi_value NumberOf(napi_env env, napi_callback_info info) {
  napi_value values[1], result = nullptr;
  Channel* channel = ChannelOf(env, info, values);
  Object* object = GetObject(channel->objects, NumberIn(env, values[0]));
  // The type of a live object does not change, and the body is written once: no GIL is needed to look.
  const bool is_ours = object != nullptr && TypeOf(object) == type && FunctionBodyOf(object)->channel == channel;
  napi_create_uint32(env, is_ours ? FunctionBodyOf(object)->number : 0, &result);
  return result;
}

}  // namespace python
}  // namespace dlpack
