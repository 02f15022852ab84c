// The TVM-FFI state of one instance. A thread has one for each of its instances. JavaScript thread only.
#pragma once

#include <string.h>

#include "../abi/tvm_ffi_abi.h"
#include "../exports.h"
#include "../hidden.h"
#include "../memory/handle_table.h"
#include "../wire/wire.h"
#include "library.h"
#include "wire_layout.h"

namespace dlpack::tvm_ffi {

struct Context {
  Instance* instance;
  uint64_t* words;                             // the wire of the instance, copied here to save an indirection
  Context* next;                               // links the contexts of this thread
  napi_ref on_call;                            // runs the JavaScript function of a CallbackRequest
  uint64_t serial;                             // unique in this process
  uint32_t allocator_callback;                 // the number of the JavaScript function that allocates memory
  DLPackManagedTensorAllocator allocator;      // set for the length of each call; NULL: the thread's allocator is used
  HandleTable<TVMFFIObjectHandle> table;       // references that JavaScript holds; dropped when the environment ends
  HandleTable<TVMFFIObjectHandle> weak_table;  // weak references to objects of registered JavaScript classes; the same
};

// Puts the caller's reference into the table; 0 for NULL, and when out of memory (the reference is then released).
uint32_t Own(Context* self, TVMFFIObjectHandle object);

// Raise an error on this thread and return -1, the status of a call that raised an error.
int OutOfMemory();
int RaiseFull();  // the wire is full

// Puts the caller's reference into the table and returns [pointer, reference] for JavaScript: null for NULL, undefined
// with an error raised when out of memory.
napi_value GiveReference(Context* self, napi_env env, TVMFFIObjectHandle object);

// Drops a reference of the table. A number that is not held does nothing.
void Disown(Context* self, uint32_t number);

// NULL for a number that is not held.
inline TVMFFIObjectHandle OwnedAt(Context* self, uint32_t number) {
  const TVMFFIObjectHandle* object = self->table.Find(number);
  return object == nullptr ? nullptr : *object;
}

// The message of the current call, as MessageOf returns it.
template <class Message>
inline Message* MessageOf(const Context* self) {
  return MessageIn<Message>(self->words);
}

// The values that follow a message.
template <class Message>
inline TVMFFIAny* ValuesOf(Message* message) {
  static const size_t kSize = (sizeof(Message) + 15) / 16 * 16;
  return reinterpret_cast<TVMFFIAny*>(reinterpret_cast<char*>(message) + kSize);
}

// The values at a word of the wire that JavaScript has allocated.
inline TVMFFIAny* ValuesAt(const Context* self, uint32_t word) { return MessageAt<TVMFFIAny>(self->instance, word); }

// Makes our allocator the allocator of this thread, unless another library has set one; then each call replaces that
// allocator for its length. Setting the allocator for each call costs as much as the rest of a call in C++.
void UseOwnAllocator(Context* self);

// Sets our allocator for the length of a callback. Another host in the process (Python) may have set its own allocator
// for the call that runs the callback, but kernels that JavaScript calls meanwhile must use ours.
class AllocatorScope {
 public:
  explicit AllocatorScope(const Context* self);
  ~AllocatorScope();
  AllocatorScope(const AllocatorScope&) = delete;
  AllocatorScope& operator=(const AllocatorScope&) = delete;

 private:
  bool is_changed_;
  DLPackManagedTensorAllocator before_;
};

// The context with this serial number; NULL when it belongs to another thread or has ended.
Context* FindContext(uint64_t serial);

// The context whose JavaScript allocator serves the kernels on this thread. Set for the length of a call; NULL: none.
DLPACK_HIDDEN extern thread_local Context* allocating;

inline Context* ContextOf(napi_env env, napi_callback_info info, napi_value* values = nullptr, size_t count = 1) {
  return DataOf<Context>(env, info, values, count);
}

// The address of an object as an argument, which is the double with the same bits; NULL for other values.
struct Address {
  Address(napi_env env, napi_value value) : pointer(nullptr) {
    double bits = 0;
    if (napi_get_value_double(env, value, &bits) == napi_ok) memcpy(static_cast<void*>(&pointer), &bits, sizeof(bits));
  }
  void* pointer;
};

inline napi_value NewAddress(napi_env env, const void* pointer) {
  double bits;
  memcpy(&bits, static_cast<const void*>(&pointer), sizeof(bits));
  return NewNumber(env, bits);
}

inline void* Pointer(uint64_t address) { return reinterpret_cast<void*>(address); }

// A batch: values that do not fit into a slot, collected for one container or one call. It is a TVM-FFI object, so that
// the table of references can hold it.
struct Batch {
  TVMFFIObject header;
  TVMFFIAny* values;  // owned
  int32_t count;
  int32_t capacity;
};

// The object as a batch; NULL when it is not a batch.
Batch* AsBatch(TVMFFIObjectHandle object);

// Calls the JavaScript function `id` with borrowed arguments. 0 with an owned result, or -1 with an error raised.
int RunCallback(Context* self, uint32_t id, const TVMFFIAny* args, int32_t count, TVMFFIAny* result);

// Hands the outcome of an asynchronous call to the JavaScript function that waits for it. False when the wire is full.
bool SettleCall(Context* self, napi_ref on_end, const TVMFFIAny& result, TVMFFIObjectHandle error);

// The functions that JavaScript calls, each in the file of its name.
DLPACK_HIDDEN extern const NamedFunction kCallsFunctions[], kTensorArgumentsFunctions[], kAsyncFunctions[],
    kObjectsFunctions[], kBatchesFunctions[], kContainersFunctions[], kTypesFunctions[], kFieldsFunctions[],
    kFunctionsFunctions[], kHostObjectsFunctions[], kErrorsFunctions[], kStreamsFunctions[], kAllocatorFunctions[];

// Adds the native frames between the caller and the JavaScript function that it called to the error raised on this
// thread.
void AddNativeFrames();

// Hands a value to JavaScript. Strings and bytes are returned, a tensor is pushed onto the wire, and for every other
// object `*reference` gets the number of a reference in the table: JavaScript may be terminated at any time, so the
// table holds every reference. An object that others hold, too, returns true, and a JavaScript value that native code
// held returns its number. `is_owned`: takes over the reference of the value.
napi_value TakeObject(Context* self, napi_env env, TVMFFIAny* value, bool is_owned, uint32_t* reference,
                      int32_t* status);

}  // namespace dlpack::tvm_ffi
