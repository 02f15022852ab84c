// The TVM-FFI state of one instance. A thread has one for each of its instances. JavaScript thread only.
#pragma once

#include "../abi/tvm_ffi_abi.h"
#include "../handle_table.h"
#include "../wire.h"
#include "library.h"
#include "wire_layout.h"

namespace dlpack::tvm_ffi {

struct Context {
  Instance* instance;
  uint64_t* words;                             // the wire of the instance, copied here to save an indirection
  Context* next;                               // links the contexts of this thread
  napi_ref on_call;                            // runs the JavaScript function of a CallbackRequest
  napi_ref on_settle;                          // settles the promise of a SettleRequest
  uint64_t serial;                             // unique in this process
  DLPackManagedTensorAllocator allocator;      // set for the length of each call; NULL: the thread's allocator is used
  HandleTable<TVMFFIObjectHandle> table;       // references that JavaScript holds; dropped when the environment ends
  HandleTable<TVMFFIObjectHandle> weak_table;  // weak references to objects of registered JavaScript classes; the same
};

// Puts the caller's reference into the table; 0 when out of memory (the reference is then released).
uint32_t Own(Context* self, TVMFFIObjectHandle object);

// Raises MemoryError on this thread and returns -1, the status of a call that raised an error.
int OutOfMemory();

// NULL for a number that is not held.
inline TVMFFIObjectHandle OwnedAt(Context* self, uint32_t number) {
  const TVMFFIObjectHandle* object = self->table.Find(number);
  return object == nullptr ? nullptr : *object;
}

// The message of the current call, as MessageOf returns it.
template <class Message>
inline Message* RequestOf(const Context* self) {
  static const uint32_t kLast = kWireWords - sizeof(Message) / sizeof(uint64_t);
  const uint32_t slot = reinterpret_cast<const WireHeader*>(self->words)->slot;
  return reinterpret_cast<Message*>(self->words + (slot <= kLast ? slot : kLast));
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
extern thread_local Context* allocating;

inline Context* ContextOf(napi_env env, napi_callback_info info) {
  void* data = nullptr;
  napi_get_cb_info(env, info, nullptr, nullptr, nullptr, &data);
  return static_cast<Context*>(data);
}

// The same, with up to `count` arguments. Missing arguments are undefined.
inline Context* ContextOf(napi_env env, napi_callback_info info, size_t count, napi_value* values) {
  void* data = nullptr;
  napi_get_cb_info(env, info, &count, values, nullptr, &data);
  return static_cast<Context*>(data);
}

inline void* Pointer(uint64_t address) { return reinterpret_cast<void*>(address); }

// call.cc
napi_value CallFunction(napi_env env, napi_callback_info info);
napi_value CallFunctionLocked(napi_env env, napi_callback_info info);
napi_value CallDescribed(napi_env env, napi_callback_info info);
napi_value CallWithBatch(napi_env env, napi_callback_info info);
napi_value TakeValue(napi_env env, napi_callback_info info);

// async_call.cc
napi_value CallFunctionAsync(napi_env env, napi_callback_info info);

// objects.cc
napi_value DisownObject(napi_env env, napi_callback_info info);
napi_value RetainValue(napi_env env, napi_callback_info info);
napi_value DropValue(napi_env env, napi_callback_info info);
napi_value RetainObject(napi_env env, napi_callback_info info);
napi_value MakeString(napi_env env, napi_callback_info info);
napi_value MakeBytes(napi_env env, napi_callback_info info);
napi_value MakeTensorObject(napi_env env, napi_callback_info info);
napi_value BorrowTensorObject(napi_env env, napi_callback_info info);
napi_value ReadAddress(napi_env env, napi_callback_info info);
napi_value ReadTypeKey(napi_env env, napi_callback_info info);

// containers.cc
napi_value AppendValues(napi_env env, napi_callback_info info);
napi_value MakeContainer(napi_env env, napi_callback_info info);
napi_value ReadSequence(napi_env env, napi_callback_info info);
napi_value IterateEntries(napi_env env, napi_callback_info info);
napi_value ReadEntries(napi_env env, napi_callback_info info);

// reflection.cc
napi_value FindType(napi_env env, napi_callback_info info);
napi_value ReadType(napi_env env, napi_callback_info info);
napi_value GetMethod(napi_env env, napi_callback_info info);
napi_value GetConstructor(napi_env env, napi_callback_info info);
napi_value GetField(napi_env env, napi_callback_info info);
napi_value SetField(napi_env env, napi_callback_info info);

// functions.cc
napi_value GetBuiltin(napi_env env, napi_callback_info info);
napi_value GetGlobal(napi_env env, napi_callback_info info);
napi_value SetGlobal(napi_env env, napi_callback_info info);

// host_object.cc
napi_value MakeHostFunction(napi_env env, napi_callback_info info);
napi_value MakeHostObject(napi_env env, napi_callback_info info);
napi_value MakeTypedObject(napi_env env, napi_callback_info info);
napi_value FindHostObject(napi_env env, napi_callback_info info);
napi_value DropHostObject(napi_env env, napi_callback_info info);
napi_value RegisterHostType(napi_env env, napi_callback_info info);
napi_value RegisterHostField(napi_env env, napi_callback_info info);
napi_value RegisterHostMethod(napi_env env, napi_callback_info info);

// raised.cc
napi_value MoveRaised(napi_env env, napi_callback_info info);
napi_value ReadError(napi_env env, napi_callback_info info);
napi_value SetRaised(napi_env env, napi_callback_info info);
napi_value RaiseAgain(napi_env env, napi_callback_info info);

// Adds the native frames between the caller and the JavaScript function that it called to the error raised on this
// thread.
void AddNativeFrames();

// streams.cc
napi_value SetStream(napi_env env, napi_callback_info info);
napi_value GetStream(napi_env env, napi_callback_info info);
napi_value SetAllocator(napi_env env, napi_callback_info info);
napi_value AllocTensor(napi_env env, napi_callback_info info);

// Hands a value to JavaScript. Strings and bytes are returned, a tensor is pushed onto the wire, and for every other
// object `*reference` gets the number of a reference in the table: JavaScript may be terminated at any time, so the
// table holds every reference. An object that others hold, too, returns true, and a JavaScript value that native code
// held returns its number. `is_owned`: takes over the reference of the value.
napi_value TakeObject(Context* self, napi_env env, TVMFFIAny* value, bool is_owned, uint32_t* reference,
                      int32_t* status);

}  // namespace dlpack::tvm_ffi
