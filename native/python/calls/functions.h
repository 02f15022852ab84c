// dlpack.Function: a JavaScript function as a Python callable.
#pragma once

#include "../threads/channel.h"

namespace dlpack::python {

// Follows the object header. Written once.
struct FunctionBody {
  Objects* objects;
  uint32_t number;  // of the function in JavaScript
  Storage* pin;     // its release tells JavaScript that Python has dropped this object
  Object* name;
  Object* weak;  // the weak reference in the channel's dict
  Object* weak_references;
};

inline FunctionBody* FunctionBodyOf(Object* self) {
  return reinterpret_cast<FunctionBody*>(reinterpret_cast<char*>(self) + api.head_size);
}

// Makes the type. A new reference, or NULL with an exception set. GIL held, once for each start of Python.
Object* MakeFunctionType();

// The existing callable for a JavaScript function: a new reference, or NULL without an exception. GIL held.
Object* FindFunction(Objects* objects, uint32_t number);

// A new callable. Takes over the pin, even on failure. NULL with an exception set. GIL held.
Object* NewFunction(Objects* objects, uint32_t number, Storage* pin, const Characters& name);

// callbacks.cc: tp_call of the type. GIL held, any thread.
Object* CallFunction(Object* self, Object* arguments, Object* keywords);

}  // namespace dlpack::python
