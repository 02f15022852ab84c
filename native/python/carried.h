// A value on its way from Python to JavaScript across threads: taken with the GIL on any thread, given to JavaScript
// without it, so that the event loop never waits for a computation that is over.
#ifndef DLPACK_NODE_PYTHON_CARRIED_H_
#define DLPACK_NODE_PYTHON_CARRIED_H_

#include "values.h"

namespace dlpack {
namespace python {

struct Carried {
  uint32_t kind;
  double number;
  char* text;     // of a string, bytes, or a bigint in base 16
  size_t length;  // bytes
  bool is_utf16;
  Object* object;  // of a handle
};

// Takes the reference over. The same kinds as FromPython makes. GIL held, any thread.
void Carry(Object* object, Carried* out);

// A string; `object` is borrowed and may be NULL. GIL held, any thread.
void CarryText(Object* object, Carried* out);

// Two values for JavaScript: the kind, and the value; a handle as its number. False, with none and undefined, where
// JavaScript has no room for the value. JavaScript thread, no GIL.
bool Deliver(napi_env env, Objects* self, Carried* value, napi_value out[2]);

// For a value that was not delivered. Any thread, no GIL needed.
void DropCarried(Carried* value);

}  // namespace python
}  // namespace dlpack

#endif  // DLPACK_NODE_PYTHON_CARRIED_H_
