// A value on its way from JavaScript to Python across threads: copied from the wire on the JavaScript thread, without
// the GIL, and made into a Python object on another thread, which holds the GIL. The counterpart of carried.h.
#pragma once

#include "carried.h"

namespace dlpack::python {

// Zeroed memory is None. The text may also be the name of a function.
struct Staged : Carried {
  uint32_t length;     // elements of a container
  uint32_t function;   // the number of a function
  Object* borrowed;    // of a handle; `object` is the reference of this, see OwnObjects, or a spare one
  Storage* storage;    // of a tensor; the pin of a function
  LayoutRoom* layout;  // of a tensor
  uint64_t byte_offset;
  bool is_copy;  // a tensor that was copied for this call
  Staged* elements;
};

// Copies a cell. Objects are borrowed, because JavaScript keeps their handles until the call has settled. False when
// out of memory, or when the cell refers to a released object; call DropStaged in both cases. JavaScript thread, no
// GIL.
bool Stage(Objects* self, Cell* cell, Spill* spill, Staged* out, int depth = 0);

// Takes references of its own to all objects. Runs no Python code. GIL held, before the environment can have ended.
void OwnObjects(Staged* value);

// A new reference, or NULL with an exception set. After OwnObjects, once. GIL held.
Object* Unstage(Objects* objects, Staged* value);

// Any thread, no GIL needed.
void DropStaged(Staged* value);

}  // namespace dlpack::python
