// Short forms for what all code on Python objects does: raise, call, and read attributes. The GIL is held in all of
// them.
#pragma once

#include <string.h>

#include "../interpreter/interpreter.h"

namespace dlpack::python {

// What a function returns after it raised an exception: NULL, false, or -1 from a function for C.
struct Failure {
  operator bool() const { return false; }
  operator int() const { return -1; }
  template <class T>
  operator T*() const {
    return nullptr;
  }
};

inline Failure Raise(Object* type, const char* message) {
  api.PyErr_SetString(type, message);
  return Failure();
}

// A new reference to an object; NULL for NULL.
inline Object* NewRef(Object* object) {
  if (object != nullptr) api.Py_IncRef(object);
  return object;
}

inline Object* None() { return NewRef(api._Py_NoneStruct); }

// An attribute, as a new reference; NULL, without an exception, if there is none.
inline Object* GetOrNull(Object* object, Object* name) {
  Object* value = api.PyObject_GetAttr(object, name);
  if (value == nullptr) api.PyErr_Clear();
  return value;
}

// The functions below return a new reference, or NULL with an exception set. They pass on a NULL, so that a chain of
// them needs one check.

inline Object* Attribute(const Ref& object, const char* name) {
  return object ? api.PyObject_GetAttrString(object.get(), name) : nullptr;
}

// An attribute of a module, which is imported if need be.
inline Object* ImportFrom(const char* module, const char* name) {
  const Ref imported(api.PyImport_ImportModule(module));
  return Attribute(imported, name);
}

inline Object* NewString(const char* text) {
  return api.PyUnicode_FromStringAndSize(text, static_cast<ptrdiff_t>(strlen(text)));
}

// A tuple of the references that `make(i)` returns.
template <class Make>
inline Object* MakeTuple(ptrdiff_t count, Make make) {
  Ref tuple(api.PyTuple_New(count));
  for (ptrdiff_t i = 0; tuple && i < count; ++i) {
    Object* value = make(i);
    if (value == nullptr) return nullptr;
    api.PyTuple_SetItem(tuple.get(), i, value);
  }
  return tuple.take();
}

// A tuple of references, which this takes over.
template <class... Values>
inline Object* TupleOf(Values... values) {
  const Ref all[] = {Ref(values)...};
  return MakeTuple(sizeof...(values), [&](ptrdiff_t i) { return NewRef(all[i].get()); });
}

// Calls with `positional` arguments and one more for each of `names`, a tuple of strings or NULL. Python may use the
// element in front of the first argument during the call.
Object* CallVector(Object* callable, Object** arguments, size_t positional, Object* names);

// callable(values...)
template <class... Values>
inline Object* CallWith(Object* callable, Values... values) {
  Object* arguments[] = {nullptr, values...};
  return callable == nullptr ? nullptr : CallVector(callable, arguments + 1, sizeof...(values), nullptr);
}

// The parts of an exception that JavaScript shows. Each may be NULL, because describing an exception can fail.
struct Raised {
  Ref type_name;
  Ref message;
  Ref traceback;
  Ref exception;

  // Takes the current exception and clears it.
  Raised();
};

// The value of an int. False, with or without an exception, for other objects, NULL, and ints of more than 64 bits.
inline bool ReadInteger(Object* value, long long* out) {
  int overflow = 0;
  *out = value == nullptr ? 0 : api.PyLong_AsLongLongAndOverflow(value, &overflow);
  return value != nullptr && overflow == 0 && api.PyErr_Occurred() == nullptr;
}

// The values of a tuple of two ints. False, with or without an exception, for anything else.
bool ReadPair(Object* tuple, long long* first, long long* second);

}  // namespace dlpack::python
