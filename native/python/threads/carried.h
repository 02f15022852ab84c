// A value on its way from Python to JavaScript across threads. Any thread copies it with the GIL, and the JavaScript
// thread delivers it without the GIL, so that the event loop does not wait for Python.
#pragma once

#include "../../hidden.h"
#include "../tensors/consume.h"

namespace dlpack::python {

struct Carried {
  uint32_t kind;
  double number;    // of a number or boolean; the bytes behind a handle
  Characters text;  // of a string, bytes, or a bigint in base 16
  Object* object;   // of a handle
  bool has_spare;   // two references to it, see TakeSpare
  CarriedTensor* tensor;
  Carried* parts;  // of a value that values.py took apart: the kinds, and the leaves
  uint32_t count;  // of the parts
};

// Takes over the reference. Makes the same kinds of values as FromPython. GIL held, any thread.
void Carry(Object* object, Carried* out);

// Takes over the reference, and imports its tensor. False with an exception set, when it has none. GIL held, any
// thread.
DLPACK_HIDDEN bool CarryTensor(Object* object, Carried* out);

// Takes over the reference to the result of `call` in values.py, and imports the tensors among its leaves. False with
// an exception set. GIL held, any thread.
DLPACK_HIDDEN bool CarryParts(Object* object, Carried* out);

// A string; `object` is borrowed and may be NULL. GIL held, any thread.
void CarryText(Object* object, Carried* out);

// Two values for JavaScript: the kind, and the value; a handle as its number. JavaScript takes a tensor with
// nextTensor, in the order in which tensors were delivered. False, with the kind for None and undefined, when the value
// is too large for JavaScript. JavaScript thread, no GIL.
bool Deliver(napi_env env, Objects* self, Carried* value, napi_value out[2]);

// The parts arrive as an array that alternates kinds and values.
//
// nextTensor(): the next delivered tensor, as a TensorResult; or the handle of an object in device memory. JavaScript
// thread, no GIL.
uint32_t NextTensor(Objects* self, napi_env);

// Frees the delivered tensors that JavaScript has not taken. JavaScript thread, no GIL.
void DropDelivered(Objects* self);

// Releases the handle of a delivered value that JavaScript will not receive. JavaScript thread, no GIL.
void TakeBack(napi_env env, Objects* self, const napi_value delivered[2]);

// Frees a value that was not delivered. Any thread, no GIL needed.
void DropCarried(Carried* value);

}  // namespace dlpack::python
