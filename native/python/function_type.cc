#include "function_type.h"

#include <stdio.h>

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
  Ref error(api.PyErr_NewExceptionWithDoc("dlpack.JavaScriptError",
                                          "A JavaScript function threw. `error` stands for what it threw.", nullptr, nullptr));
  return error && api.PyObject_SetAttrString(type, "JavaScriptError", error.get()) == 0;
}

// makeFunction(name): the result cell holds a new callable for the function that cell 0 numbers; byte_offset of the exchange
// frame is its pin.
napi_value MakeFunction(napi_env env, napi_callback_info info) {
  napi_value name;
  Channel* channel = ChannelOf(env, info, &name);
  Objects* objects = channel->objects;
  Environment* environment = objects->environment;
  const uint32_t number = static_cast<uint32_t>(objects->frame->cells[0].number);
  // First: from here on the pin is released whatever happens.
  Storage* pin = WrapQueued(environment->queue, static_cast<uint64_t>(environment->frame->byte_offset), nullptr, 0);
  Gil gil;
  Ref self(pin == nullptr ? nullptr : api.PyType_GenericAlloc(type, 0));  // zeroed: Dealloc is safe from here on
  Texts texts = {env, &name, 1, 0};
  if (self) {
    FunctionBody* body = FunctionBodyOf(self.get());
    body->channel = channel;
    body->number = number;
    body->pin = pin;
    body->name = ToPython(objects, Cell{kString, 0, 0}, &texts);
    objects->frame->failed = 0;
    if (body->name != nullptr) return FromPython(env, objects, self.take());
  } else if (pin != nullptr) {
    ReleaseStorage(pin);
  }
  if (!api.PyErr_Occurred()) api.PyErr_SetString(api.PyExc_RuntimeError, "Out of memory for a function");
  return TakeException(env, objects);
}

// numberOf(): the number of the result cell is that of the function, of this environment, that cell 0 is; 0 for all else.
napi_value NumberOf(napi_env env, napi_callback_info info) {
  Channel* channel = ChannelOf(env, info);
  ObjectFrame* frame = channel->objects->frame;
  Object* object = GetObject(channel->objects, frame->cells[0].handle);
  frame->result.number = 0;
  // The type of a live object does not change, and the body is written once: no GIL is needed to look.
  if (object != nullptr && TypeOf(object) == type && FunctionBodyOf(object)->channel == channel) {
    frame->result.number = FunctionBodyOf(object)->number;
  }
  return nullptr;
}

}  // namespace python
}  // namespace dlpack
