// The parts that are simpler to write in Python and not called often: most members of our tensors (tensor.py), handling
// of signals that Python code takes, and the end of the process.
#pragma once

#include "../../hidden.h"
#include "../objects/calls.h"

namespace dlpack::python {

// Runs the prelude and makes our types. `is_ours`: this addon started Python, so its signal module may be guarded.
// False with an exception set. GIL held, once for each start of Python.
bool RunPrelude(bool is_ours);

// The types of a tensor's dtype and device in Python, which are strings. JavaScript receives their text. Set by
// RunPrelude.
DLPACK_HIDDEN extern Object* name_types[2];

// A function of the prelude. A new reference, or NULL with an exception set. GIL held.
Object* FindPrelude(const char* name);

// Calls a function of the prelude, as CallWith does.
template <class... Values>
Object* CallPrelude(const char* name, Values... values) {
  const Ref function(FindPrelude(name));
  return CallWith(function.get(), values...);
}

}  // namespace dlpack::python
