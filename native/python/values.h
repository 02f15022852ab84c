// Values between JavaScript and Python: the frame of cells, the table of references, and conversion both ways. JavaScript
// thread, GIL held.
#ifndef DLPACK_NODE_PYTHON_VALUES_H_
#define DLPACK_NODE_PYTHON_VALUES_H_

#include "../environment.h"
#include "api.h"

namespace dlpack {
namespace python {

// src/python/frame.ts has the same numbers.
enum Kind : uint32_t { kNone, kBool, kInt, kFloat, kString, kBytes, kBigInt, kHandle, kEnd, kTaken };
struct Cell {
  uint32_t kind;
  uint32_t handle;
  double number;
};

static const uint32_t kMaxCells = 120;

struct ObjectFrame {
  uint32_t operation;
  uint32_t count;     // cells in use
  uint32_t keywords;  // the last so many pairs of cells are names and values
  uint32_t failed;    // out: 1 with an exception
  Cell result;        // out; `number` of a handle: 1 if it can be called
  Cell cells[kMaxCells];
};
static_assert(sizeof(ObjectFrame) == 32 + 16 * kMaxCells, "src/python/frame.ts has this size");

// What one environment holds of Python. A table like environment.h's, of references.
struct Objects {
  Environment* environment;
  ObjectFrame* frame;
  napi_ref frame_ref;
  Object** table;
  uint32_t* next_free;
  uint32_t capacity;
  uint32_t free_slot;
};

// The values that do not fit into a cell, in order.
struct Texts {
  napi_env env;
  napi_value* values;
  size_t count;
  size_t at;
};

// Takes the reference over; 0 when out of memory.
uint32_t HoldObject(Objects* self, Object* object);

// NULL for a number that is not held.
inline Object* GetObject(Objects* self, uint32_t handle) {
  return handle < self->capacity ? self->table[handle] : nullptr;
}

// Gives the reference to the caller, or NULL.
Object* DropObject(Objects* self, uint32_t handle);

// A new reference, or NULL with an exception set.
Object* ToPython(Objects* self, const Cell& cell, Texts* texts);

// Takes the reference over. What does not fit into the result cell is returned.
napi_value FromPython(napi_env env, Objects* self, Object* object);

// The exception that is set, as { type, message, traceback }; the result cell holds the exception itself.
napi_value TakeException(napi_env env, Objects* self);

}  // namespace python
}  // namespace dlpack

#endif  // DLPACK_NODE_PYTHON_VALUES_H_
