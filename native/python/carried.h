// A value on its way from Python to JavaScript across threads. Any thread copies it with the GIL, and the JavaScript
// thread delivers it without the GIL, so that the event loop does not wait for Python.
#pragma once

#include "values.h"

namespace dlpack::python {

struct Carried {
  uint32_t kind;
  double number;
  Characters text;  // of a string, bytes, or a bigint in base 16
  Object* object;   // of a handle
};

// Takes over the reference. Makes the same kinds of values as FromPython. GIL held, any thread.
void Carry(Object* object, Carried* out);

// A string; `object` is borrowed and may be NULL. GIL held, any thread.
void CarryText(Object* object, Carried* out);

// Two values for JavaScript: the kind, and the value; a handle as its number. False, with the kind for None and
// undefined, when the value is too large for JavaScript. JavaScript thread, no GIL.
bool Deliver(napi_env env, Objects* self, Carried* value, napi_value out[2]);

// Releases the handle of a delivered value that JavaScript will not receive. JavaScript thread, no GIL.
void TakeBack(napi_env env, Objects* self, const napi_value delivered[2]);

// Frees a value that was not delivered. Any thread, no GIL needed.
void DropCarried(Carried* value);

}  // namespace dlpack::python
