// Values between JavaScript and Python: cells of the wire, the table of references, and conversion in both directions.
// JavaScript thread, GIL held.
#pragma once

#include <atomic>

#include "../../platform/platform.h"
#include "../../wire/wire.h"
#include "../objects/object_bytes.h"
#include "../wire_layout.h"
#include "text.h"

namespace dlpack::python {

enum { kConverters = 4 };  // see tensors/conversion.h

// A reference to a Python object that JavaScript holds.
struct HeldObject {
  Object* object;
  int64_t bytes;    // see object_bytes.h
  bool is_lasting;  // its bytes are in `lasting` of the instance, otherwise in `young_bytes`
  bool has_spare;   // a second reference, see TakeSpare
  napi_ref proxy;   // weak; NULL: not watched
};

struct AsyncCall;
struct CarriedTensor;
struct FunctionRequest;
struct Message;

// The Python state of one instance. Never freed, because threads and Python objects refer to it after the end of the
// environment, like a release queue. This costs one small block for each environment.
struct Objects {
  // What most operations use comes first, in as few cache lines as possible.
  Instance* instance;  // JavaScript thread, as all that follows up to the mutex
  ReleasedList* released;
  Object* thread_state;  // of this thread, see AttachThread; NULL: unknown
  Storage* snapshot;     // of this thread's context variables, see async.cc; NULL: none is up to date
  HandleTable<HeldObject> table;
  int64_t object_count;  // of the table
  int64_t object_bytes;
  int64_t young_bytes;  // of objects that have not outlived their tick
  uint32_t operations;  // since the last asynchronous call, see async.cc
  // Nested operations in progress on this thread. Only this thread writes it.
  std::atomic<uint32_t> depth;
  napi_ref released_ref;  // the ArrayBuffer of the list
  napi_ref make_bytes;    // a JavaScript function that returns a Uint8Array of a length, or undefined
  napi_ref on_call;       // the JavaScript functions that get messages of the channel
  napi_ref on_settle;
  uint32_t converters[kConverters];  // their handles, by number, never released; 0: JavaScript has not seen it
  bool is_worker;
  AsyncCall* calls;          // calls that JavaScript waits for
  CarriedTensor* delivered;  // tensors of the result that is being delivered, see carried.h
  Objects* next;             // links the Objects of all instances
  Object* functions;         // a dict of weak references to callables, by function number; guarded by the GIL
  const void* thread;        // an address that identifies the JavaScript thread; any thread may compare it
  // The channel, see channel.h.
  platform::Mutex mutex;  // guards the rest
  bool is_closed;         // the environment has ended
  bool is_leaving;        // the process ends, so its event loop answers no thread
  napi_threadsafe_function wake;
  Message* first;
  Message* last;
  FunctionRequest* requests;  // calls of JavaScript functions without an answer
  uint32_t last_request;
};

// The data of a function that JavaScript called.
inline Objects* ObjectsOf(napi_env env, napi_callback_info info, napi_value* values = nullptr, size_t count = 1) {
  return DataOf<Objects>(env, info, values, count);
}

// Values that do not fit into a cell: strings, digits and bytes, in order.
struct Spill {
  napi_env env;
  napi_value* values;
  size_t count;
  size_t at;
};

// Cells that follow a message.
struct Cells {
  Cell* at;
  uint32_t count;
};

// The cells that follow a message, as far as they lie inside the wire.
Cells CellsBehind(const Instance* instance, const void* end, uint32_t count);

// The cells of a container, as above.
Cells CellsOf(const Instance* instance, const Cell& container);

// The limit for nested containers.
static const int kMaxDepth = 256;

// The bytes of the objects of one tick from which on JavaScript registers them with the garbage collector at once.
static const int64_t kCrowd = 64 << 20;

// Takes over the reference, or with `has_spare` two; 0 when out of memory.
inline uint32_t HoldObject(Objects* self, Object* object, int64_t bytes = kObjectFloor, bool has_spare = false) {
  const uint32_t handle = self->table.Add(HeldObject{object, bytes, false, has_spare, nullptr});
  if (handle == 0) return 0;
  ++self->object_count;
  self->object_bytes += bytes;
  self->young_bytes += bytes;
  if (self->young_bytes >= kCrowd) self->released->crowded = 1;
  return handle;
}

// NULL for a number that is not held.
inline Object* GetObject(Objects* self, uint32_t handle) {
  const HeldObject* held = self->table.Find(handle);
  return held == nullptr ? nullptr : held->object;
}

// A handle for the tensor of an asynchronous call has a second reference, because nobody can make one without the GIL.
// The first that uses the object takes it: fromDLPack, which then does not wait for the GIL, or an operation. NULL when
// there is none. No GIL needed.
inline Object* TakeSpare(Objects* self, uint32_t handle) {
  HeldObject* held = self->table.Find(handle);
  if (held == nullptr || !held->has_spare) return nullptr;
  held->has_spare = false;
  return held->object;
}

// A new reference to the object; NULL for a number that is not held. GIL held.
inline Object* NewReference(Objects* self, uint32_t handle) {
  Object* spare = TakeSpare(self, handle);
  if (spare != nullptr) return spare;
  Object* object = GetObject(self, handle);
  if (object != nullptr) api.Py_IncRef(object);
  return object;
}

// Removes the handle and returns its reference; NULL for a number that is not held.
inline Object* DropObject(Objects* self, uint32_t handle) {
  HeldObject held;
  if (!self->table.Remove(handle, &held)) return nullptr;
  if (held.has_spare) DeferDecRef(held.object);
  --self->object_count;
  self->object_bytes -= held.bytes;
  if (held.is_lasting)
    AddLasting(self->instance, -held.bytes);
  else
    self->young_bytes -= held.bytes;
  if (held.proxy != nullptr) napi_delete_reference(self->instance->env, held.proxy);
  return held.object;
}

// Drops the objects that JavaScript released since the last operation. Runs Python code. GIL held.
void DropReleased(Objects* self);

// Makes another thread drop these objects. No GIL needed.
void DeferReleased(Objects* self);

// Reads the tensor of a cell, which lies inside the returned storage. `room` is for a layout without a number. NULL
// when the storage was released, or when the description is wrong. Valid until the request ends.
Storage* ReadTensorCell(Objects* self, const Cell& cell, LayoutRoom* room, Descriptor* tensor);

// A new reference, or NULL with an exception set. `spill` may be NULL for cells that need no spill. Clears the handle
// of a function once its pin is owned.
Object* ToPython(Objects* self, Cell* cell, Spill* spill, int depth = 0);

// Raises the error for a tensor or an object that JavaScript released, and returns NULL.
Object* RaiseReleased(uint32_t kind);

// Whether a JavaScript number represents the value exactly.
inline bool IsSafeInteger(long long value) { return value >= -((1LL << 53) - 1) && value <= (1LL << 53) - 1; }

// How JavaScript receives an object: the kind of its value, and the value of a number or boolean. Only an object of
// exactly the type of a value has its kind. GIL held, any thread.
uint32_t KindOf(Object* object, double* number);

// Whether values of a kind do not fit into a cell or an outcome, and travel as characters.
inline bool IsSpilled(uint32_t kind) { return kind == kString || kind == kBytes || kind == kBigInt; }

// The JavaScript value for the characters of a spilled value; false when it is too large for JavaScript. JavaScript
// thread, no GIL needed.
bool MakeSpilled(napi_env env, Objects* self, uint32_t kind, const Characters& characters, napi_value* out);

// A list, set or dict of the elements that `make(i)` makes; for a dict, alternating keys and values. A new reference,
// or NULL with an exception set.
template <class Make>
Object* MakeContainer(uint32_t kind, uint32_t count, Make make) {
  Ref result(kind == kDict ? api.PyDict_New() : api.PyList_New(count));
  for (uint32_t i = 0; result && kind == kDict && i + 1 < count; i += 2) {
    const Ref key(make(i));
    const Ref value(key ? make(i + 1) : nullptr);
    if (!value || api.PyDict_SetItem(result.get(), key.get(), value.get()) != 0) return nullptr;
  }
  for (uint32_t i = 0; result && kind != kDict && i < count; ++i) {
    Object* element = make(i);
    if (element == nullptr) return nullptr;
    api.PyList_SetItem(result.get(), i, element);
  }
  return kind == kSet && result ? api.PySet_New(result.get()) : result.take();
}

// Takes over the reference. Returns a value that does not fit into the outcome, or an exception as TakeException does
// when the value is too large for JavaScript.
napi_value FromPython(napi_env env, Objects* self, Object* object, Outcome* outcome);

// Takes over the reference. The result is the object itself, whatever its type.
void HoldResult(Objects* self, Object* object, Outcome* outcome, int64_t bytes = kObjectFloor);

// The current exception as { type, message, traceback }. The outcome holds the exception itself.
napi_value TakeException(napi_env env, Objects* self, Outcome* outcome);

}  // namespace dlpack::python
