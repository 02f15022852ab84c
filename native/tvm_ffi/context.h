// What one JavaScript environment needs for TVM-FFI. JavaScript thread only.
#ifndef DLPACK_NODE_TVM_FFI_CONTEXT_H_
#define DLPACK_NODE_TVM_FFI_CONTEXT_H_

#include "../wire.h"
#include "call_frame.h"
#include "library.h"

namespace dlpack {
namespace tvm_ffi {

struct Owned {
  TVMFFIObjectHandle object;  // NULL: free
  uint32_t next;              // the next free slot
};

struct Context {
  Instance* instance;
  CallFrame* frame;
  napi_ref frame_ref;
  napi_ref on_call;                        // runs the JavaScript function that frame->callback names
  uint64_t serial;                         // never used again in this process
  DLPackManagedTensorAllocator allocator;  // set for the length of each call; NULL: the thread's is used
  // References that JavaScript holds, by number; they go with the environment. Slot 0 is never used.
  Owned* owned;
  uint32_t capacity;
  uint32_t free_slot;
};

// Puts the caller's reference into the table; 0 when out of memory (the reference is then released).
uint32_t Own(Context* self, TVMFFIObjectHandle object);

// NULL for a number that is not held.
inline TVMFFIObjectHandle OwnedAt(const Context* self, uint32_t number) {
  return number < self->capacity ? self->owned[number].object : nullptr;
}

// Releases what the table still holds.
void DisownAll(Context* self);

// Makes our own allocator the one of this thread, unless a host of ours has set one: that one is put aside for the
// length of each call. Setting it at each call would cost as much as the rest of a call in C++.
void UseOwnAllocator(Context* self);

// For the length of a callback: another host of the process (Python) may have set its allocator for the call that the
// callback runs in, and kernels that JavaScript calls meanwhile have ours.
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

// The context of this thread, NULL on threads without one.
Context* CurrentContext();

inline Context* ContextOf(napi_env env, napi_callback_info info) {
  void* data = nullptr;
  napi_get_cb_info(env, info, nullptr, nullptr, nullptr, &data);
  return static_cast<Context*>(data);
}

// With up to `count` arguments; those that the call does not have are undefined.
inline Context* ContextOf(napi_env env, napi_callback_info info, size_t count, napi_value* values) {
  void* data = nullptr;
  napi_get_cb_info(env, info, &count, values, nullptr, &data);
  return static_cast<Context*>(data);
}

inline void* Pointer(uint64_t address) { return reinterpret_cast<void*>(address); }

// call.cc
napi_value CallFunction(napi_env env, napi_callback_info info);
napi_value CallFunctionLocked(napi_env env, napi_callback_info info);
napi_value CallWithBatch(napi_env env, napi_callback_info info);
napi_value TakeSlot(napi_env env, napi_callback_info info);

// async_call.cc
napi_value CallFunctionAsync(napi_env env, napi_callback_info info);

// objects.cc
napi_value DisownObject(napi_env env, napi_callback_info info);
napi_value RetainSlot(napi_env env, napi_callback_info info);
napi_value DropSlot(napi_env env, napi_callback_info info);
napi_value RetainObject(napi_env env, napi_callback_info info);
napi_value MakeString(napi_env env, napi_callback_info info);
napi_value MakeBytes(napi_env env, napi_callback_info info);
napi_value MakeTensorObject(napi_env env, napi_callback_info info);
napi_value BorrowTensorObject(napi_env env, napi_callback_info info);
napi_value ReadTypeKey(napi_env env, napi_callback_info info);

// containers.cc
napi_value AppendValues(napi_env env, napi_callback_info info);
napi_value MakeContainer(napi_env env, napi_callback_info info);
napi_value ReadSequence(napi_env env, napi_callback_info info);
napi_value IterateEntries(napi_env env, napi_callback_info info);
napi_value ReadEntries(napi_env env, napi_callback_info info);

// functions.cc
napi_value GetBuiltin(napi_env env, napi_callback_info info);
napi_value GetGlobal(napi_env env, napi_callback_info info);
napi_value SetGlobal(napi_env env, napi_callback_info info);
napi_value MakeCallback(napi_env env, napi_callback_info info);

// raised.cc
napi_value MoveRaised(napi_env env, napi_callback_info info);
napi_value ReadError(napi_env env, napi_callback_info info);
napi_value SetRaised(napi_env env, napi_callback_info info);

// streams.cc
napi_value SetStream(napi_env env, napi_callback_info info);
napi_value GetStream(napi_env env, napi_callback_info info);
napi_value SetAllocator(napi_env env, napi_callback_info info);
napi_value AllocTensor(napi_env env, napi_callback_info info);

// What JavaScript is to have of a slot. Strings and bytes are the result, a tensor is pushed onto the wire, and
// for every other object `slot` of the call frame becomes the number of a reference: JavaScript may be terminated at
// any time, so no reference is ever in its hands alone. `is_owned`: the slot's own reference is used up.
napi_value TakeObject(Context* self, napi_env env, TVMFFIAny* slot, bool is_owned);

}  // namespace tvm_ffi
}  // namespace dlpack

#endif  // DLPACK_NODE_TVM_FFI_CONTEXT_H_
