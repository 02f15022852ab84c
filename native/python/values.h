// Values between JavaScript and Python: the frame of cells, the table of references, and conversion both ways.
// JavaScript thread, GIL held.
#ifndef DLPACK_NODE_PYTHON_VALUES_H_
#define DLPACK_NODE_PYTHON_VALUES_H_

#include <atomic>

#include "../descriptor.h"
#include "../wire.h"
#include "api.h"

namespace dlpack {
namespace python {

// src/python/frame.ts has the same numbers.
enum ValueKind : uint32_t {
  kNone,
  kBool,
  kInt,
  kFloat,
  kString,
  kBytes,
  kBigInt,
  kHandle,
  kEnd,
  kTaken,
  kTensor,
  kMustCopy
};
struct Cell {
  uint32_t kind;
  uint32_t handle;  // of an object; of the storage of a tensor
  double number;    // of a tensor: the word of the wire where its WireTensor begins
};

static const uint32_t kCells = 1024;
static const uint32_t kWords = 4096;
static const uint32_t kReleased = 64;

// A stack: an operation during another one, from JavaScript that Python called, uses the cells and words above.
struct ObjectFrame {
  uint32_t operation;
  uint32_t base;      // the first cell
  uint32_t count;     // cells in use
  uint32_t keywords;  // the last so many pairs of cells are names and values
  uint32_t spilled;   // arguments of the call into this addon, for what does not fit into cells
  uint32_t failed;    // out: 1 with an exception
  Cell result;        // out
  uint32_t handle;    // the object of operations that have no cells
  uint32_t released_count;
  Cell cells[kCells];
  double words[kWords];          // the end holds the ArrayFrame of cuda_array.h
  uint32_t released[kReleased];  // objects that JavaScript is done with, for the next operation to drop
  uint32_t returned_count;
  uint32_t returned[kReleased];  // the same for storages of Python's memory
  uint32_t unused;
};
static_assert(sizeof(ObjectFrame) == 56 + 16 * kCells + 8 * kWords + 8 * kReleased,
              "src/python/frame.ts has this size");

// What one environment holds of Python. A table like environment.h's, of references.
struct Objects {
  Instance* instance;
  ObjectFrame* frame;
  napi_ref frame_ref;
  napi_ref make_bytes;  // a JavaScript function: a Uint8Array of that length, or undefined
  Object** table;
  uint32_t* next_free;
  uint32_t capacity;
  uint32_t free_slot;
  uint32_t quarantined_slot;  // free, but not used again while an operation still looks handles up
  bool is_worker;
  Objects* next;  // all of the process
  // Operations in progress on this thread, one inside the other. Written by it alone.
  std::atomic<uint32_t> depth;
};

// What does not fit into a cell: strings, digits and bytes, in order.
struct Spill {
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

// Slots that became free while handles were looked up may be used again. After EndReading of the environment.
void EndQuarantine(Objects* self);

// Gives the reference to the caller, or NULL.
Object* DropObject(Objects* self, uint32_t handle);

// Drops what JavaScript released since the last operation. Runs Python code. GIL held.
void DropReleased(Objects* self);

// The tensor of a cell, which may still lie outside of the storage that is returned: see CheckInside. NULL with an
// exception set.
Storage* ReadTensor(Objects* self, const Cell& cell, Descriptor* descriptor);

// A new reference, or NULL with an exception set. `spill` may be NULL for cells that need none.
Object* ToPython(Objects* self, const Cell& cell, Spill* spill);

// Takes the reference over and puts its number into the result cell.
void HoldResult(Objects* self, Object* object);

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

// Takes the reference over. What does not fit into the result cell is returned; or the exception, as by TakeException,
// where JavaScript has no room for the value.
napi_value FromPython(napi_env env, Objects* self, Object* object);

// The exception that is set, as { type, message, traceback }; the result cell holds the exception itself.
napi_value TakeException(napi_env env, Objects* self);

}  // namespace python
}  // namespace dlpack

#endif  // DLPACK_NODE_PYTHON_VALUES_H_
