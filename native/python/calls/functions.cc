#include "functions.h"

#include "../objects/calls.h"

namespace dlpack::python {

namespace {

Object* type;

// Removes a function from the dict of its objects, unless another object has replaced it. An exception may be set.
void Forget(const FunctionBody& body) {
  SavedError error;
  Ref key(api.PyLong_FromLongLong(body.number));
  if (key && api.PyDict_GetItemWithError(body.objects->functions, key.get()) == body.weak) {
    api.PyDict_DelItem(body.objects->functions, key.get());
  }
  api.Py_DecRef(body.weak);
}

// Any Python thread.
void Dealloc(Object* self) {
  FunctionBody* body = FunctionBodyOf(self);
  if (body->weak != nullptr) Forget(*body);
  if (body->weak_references != nullptr) api.PyObject_ClearWeakRefs(self);
  if (body->pin != nullptr) ReleaseStorage(body->pin);
  api.Py_DecRef(body->name);
  Object* own_type = TypeOf(self);
  api.PyObject_Free(self);
  api.Py_DecRef(own_type);
}

Object* RefuseNew(Object*, Object*, Object*) {
  return Raise(api.PyExc_TypeError, "dlpack.Function is made by passing a JavaScript function to Python");
}

MemberDef members[] = {
    {"__weaklistoffset__", 19 /* T_PYSSIZET */, 0, 1 /* READONLY */, nullptr},
    {"__name__", 6 /* T_OBJECT */, 0, 1, "The name of the JavaScript function."},
    {"__qualname__", 6, 0, 1, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

}  // namespace

Object* MakeFunctionType() {
  // The slot numbers of Include/typeslots.h.
  const int tp_call = 50, tp_dealloc = 52, tp_doc = 56, tp_new = 65, tp_members = 72;
  static TypeSlot slots[] = {
      {tp_call, reinterpret_cast<void*>(CallFunction)},
      {tp_dealloc, reinterpret_cast<void*>(Dealloc)},
      {tp_doc, const_cast<char*>("A JavaScript function.")},
      {tp_new, reinterpret_cast<void*>(RefuseNew)},
      {tp_members, members},
      {0, nullptr},
  };
  // Set, not added, because a program may start Python again after a start that failed.
  members[0].offset = static_cast<ptrdiff_t>(api.head_size + offsetof(FunctionBody, weak_references));
  members[1].offset = members[2].offset = static_cast<ptrdiff_t>(api.head_size + offsetof(FunctionBody, name));
  TypeSpec spec = {"dlpack.Function", static_cast<int>(api.head_size + sizeof(FunctionBody)), 0, 1u << 18, slots};
  type = api.PyType_FromSpec(&spec);
  return NewRef(type);
}

Object* FindFunction(Objects* objects, uint32_t number) {
  SavedError error;
  Ref key(api.PyLong_FromLongLong(number));
  Ref weak(NewRef(key ? api.PyDict_GetItemWithError(objects->functions, key.get()) : nullptr));
  Ref object(CallWith(weak.get()));
  return object && object.get() != api._Py_NoneStruct ? object.take() : nullptr;
}

Object* NewFunction(Objects* objects, uint32_t number, Storage* pin, const Characters& name) {
  Ref self(api.PyType_GenericAlloc(type, 0));  // zeroed, so Dealloc is safe from here on
  if (!self) {
    ReleaseStorage(pin);
    return nullptr;
  }
  FunctionBody* body = FunctionBodyOf(self.get());
  body->objects = objects;
  body->number = number;
  body->pin = pin;
  body->name = MakeObject(name, kString);
  Ref key(body->name == nullptr ? nullptr : api.PyLong_FromLongLong(number));
  Ref weak(key ? api.PyWeakref_NewRef(self.get(), nullptr) : nullptr);
  if (!weak || api.PyDict_SetItem(objects->functions, key.get(), weak.get()) != 0) return nullptr;
  body->weak = weak.take();
  return self.take();
}

uint32_t ThrownBy(Objects* self, napi_env, uint32_t handle) {
  Gil gil;
  // A reference, because reading the attribute may run code that releases the object.
  const Ref exception(NewRef(GetObject(self, handle)));
  const Ref carrier(Attribute(exception, "error"));
  api.PyErr_Clear();
  const bool is_ours = carrier && TypeOf(carrier.get()) == type && FunctionBodyOf(carrier.get())->objects == self;
  return is_ours ? FunctionBodyOf(carrier.get())->number : 0;
}

}  // namespace dlpack::python
