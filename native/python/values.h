// Values between JavaScript and Python: cells of the wire, the table of references, and conversion both ways.
// JavaScript thread, GIL held.
#ifndef DLPACK_NODE_PYTHON_VALUES_H_
#define DLPACK_NODE_PYTHON_VALUES_H_

#include <atomic>

#include "../wire.h"
#include "api.h"
#include "wire_layout.h"

namespace dlpack {
namespace python {

struct Channel;
struct Snapshot;

// What one instance holds of Python.
struct Objects {
  Instance* instance;
  Channel* channel;
  ReleasedList* released;
  napi_ref released_ref;  // the ArrayBuffer of the list
  napi_ref make_bytes;    // a JavaScript function: a Uint8Array of that length, or undefined
  HandleTable<Object*> table;
  bool is_worker;
  Objects* next;  // all of the process
  // Operations in progress on this thread, one inside the other. Written by it alone.
  std::atomic<uint32_t> depth;
  Snapshot* snapshot;  // of this thread's context variables, see snapshot.h; NULL: it would be out of date
};

// What does not fit into a cell: strings, digits and bytes, in order.
struct Spill {
  napi_env env;
  napi_value* values;
  size_t count;
  size_t at;
};

// Cells behind a message.
struct Cells {
  Cell* at;
  uint32_t count;
};

// The cells behind the end of a message, as far as they lie inside the wire.
Cells CellsBehind(const Instance* instance, const void* end, uint32_t count);

// The cells of a container, as above.
Cells CellsOf(const Instance* instance, const Cell& container);

// Containers inside of containers, at most.
static const int kMaxDepth = 256;

// Takes the reference over; 0 when out of memory.
inline uint32_t HoldObject(Objects* self, Object* object) { return self->table.Add(object); }

// NULL for a number that is not held.
inline Object* GetObject(Objects* self, uint32_t handle) {
  Object** object = self->table.Find(handle);
  return object == nullptr ? nullptr : *object;
}

// Gives the reference to the caller, or NULL.
inline Object* DropObject(Objects* self, uint32_t handle) {
  Object* object = nullptr;
  return self->table.Remove(handle, &object) ? object : nullptr;
}

// Drops what JavaScript released since the last operation. Runs Python code. GIL held.
void DropReleased(Objects* self);

// Has another thread drop it. No GIL needed.
void DeferReleased(Objects* self);

// The tensor of a cell, which may still lie outside of the storage that is returned: see CheckInside. NULL when it was
// disposed. No GIL needed.
Storage* ReadTensor(Objects* self, const Cell& cell, Descriptor* descriptor);

// A new reference, or NULL with an exception set. `spill` may be NULL for cells that need none. The handle of a
// function is cleared where its pin was taken.
Object* ToPython(Objects* self, Cell* cell, Spill* spill, int depth = 0);

// Raises the error for a tensor or an object that JavaScript released, and returns NULL.
Object* RaiseReleased(uint32_t kind);

// What to do about a value that JavaScript has no room for.
static const char kLongInt[] = "work with it in Python";
static const char kLongStr[] = "take parts of it in Python";
static const char kLongBytes[] = "take parts of it, or numpy.frombuffer of it as a tensor";

// Raises an OverflowError and returns NULL. GIL held.
Object* RaiseTooLong(const char* subject, const char* advice);

// A number that JavaScript has exactly.
inline bool IsSafeInteger(long long value) { return value >= -((1LL << 53) - 1) && value <= (1LL << 53) - 1; }

// A Uint8Array with a copy of the bytes; false where JavaScript has none of that length. JavaScript thread, no GIL
// needed.
bool MakeBytes(napi_env env, Objects* self, const char* data, size_t length, napi_value* out);

// Takes the reference over. What does not fit into the outcome is returned; or the exception, as by TakeException,
// where JavaScript has no room for the value.
napi_value FromPython(napi_env env, Objects* self, Object* object, Outcome* outcome);

// Takes the reference over: the result is the object itself, whatever its type is.
void HoldResult(Objects* self, Object* object, Outcome* outcome);

// The exception that is set, as { type, message, traceback }; the outcome holds the exception itself.
napi_value TakeException(napi_env env, Objects* self, Outcome* outcome);

}  // namespace python
}  // namespace dlpack

#endif  // DLPACK_NODE_PYTHON_VALUES_H_
