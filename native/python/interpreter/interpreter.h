// The Python interpreter: one for the process, loaded at run time, shared by all JavaScript environments, never
// finalized.
#pragma once

#include <initializer_list>

#include "../../hidden.h"
#include "../../memory/thread_cache.h"
#include "api.h"

namespace dlpack::python {

// Loads libpython and starts, or attaches to, the interpreter. Returns NULL, or the error message (static or in
// `buffer`). Any thread; only the first call has an effect.
const char* Start(const char* library, const char* program, const char* record, char* buffer, size_t size);

// The record of the call of Start that had an effect, for threads that attach to its interpreter; NULL before. Any
// thread.
const char* FindRecord();

// A JavaScript thread keeps its Python thread state between operations, because making a new state costs ten times as
// much as taking the GIL. An environment calls AttachThread when it starts and DetachThread when it ends, both on its
// thread. AttachThread returns the state for the Gil of an operation, or NULL.
Object* AttachThread();
// Takes the GIL and deletes the thread state. If `may_wait` is false, it leaves the thread state in place instead.
void DetachThread(bool may_wait);

// Holds the GIL. First runs some of the actions that were deferred until a thread holds it.
class Gil {
 public:
  Gil() : state_(api.PyGILState_Ensure()) { RunPending(); }
  // For a thread that has attached this state. Python need not look it up, which saves a tenth of the time. If the
  // thread holds the GIL already, because Python called JavaScript through another library, the state is the current
  // one.
  explicit Gil(Object* attached) {
    if (attached != nullptr && api.PyThreadState_GetUnchecked() != attached) {
      state_ = kAttached;
      api.PyEval_RestoreThread(attached);
    } else {
      state_ = api.PyGILState_Ensure();
    }
    RunPending();
  }
  ~Gil() {
    if (state_ == kAttached) {
      api.PyEval_SaveThread();
    } else {
      api.PyGILState_Release(state_);
    }
  }

 private:
  static const int kAttached = -1;  // not a PyGILState_STATE
  static void RunPending();
  int state_;
};

// With `has_gil`, a scope in which this thread is known to hold the GIL, so that a storage of Python memory can be
// dropped without taking and releasing the GIL again (about 20 ns). It ends with the first storage that is dropped,
// because the Python code that runs then may release the GIL.
class ReturnScope {
 public:
  ReturnScope(ThreadCache* thread, bool has_gil) : thread_(thread) { thread->is_returning = has_gil; }
  ~ReturnScope() { thread_->is_returning = false; }
  // Ends the scope; false outside a scope.
  static bool Leave(ThreadCache* thread) {
    if (thread == nullptr || !thread->is_returning) return false;
    thread->is_returning = false;
    return true;
  }

 private:
  ThreadCache* thread_;
};

// Runs `action(argument)` when a thread of this addon next holds the GIL. A thread of the pool takes the GIL soon for
// this. Any thread, no GIL needed.
void Defer(void (*action)(void*), void* argument);

// Whether deferred actions wait. Any thread.
bool HasPending();

// Runs all deferred actions, before code that must not run while another thread drops references. GIL held.
void RunDeferred();

// Drops a reference, which may be NULL, in the same way. Any thread, no GIL needed.
void DeferDecRef(Object* object);

// Whether an attribute equals `text`, or with `is_prefix` begins with it. GIL needed; leaves no exception set.
bool HasText(Object* object, const char* attribute, const char* text, bool is_prefix = false);

// A reference that is dropped at the end of its scope. GIL needed.
class Ref {
 public:
  explicit Ref(Object* object) : object_(object) {}
  ~Ref() {
    if (object_ != nullptr) api.Py_DecRef(object_);
  }
  Ref(const Ref&) = delete;
  Ref& operator=(const Ref&) = delete;
  Object* get() const { return object_; }
  void reset(Object* object) {
    if (object_ != nullptr) api.Py_DecRef(object_);
    object_ = object;
  }
  Object* take() {
    Object* object = object_;
    object_ = nullptr;
    return object;
  }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  Object* object_;
};

// Hides the current exception, if any, from Python code that runs in this scope, and sets it again at the end. GIL
// needed.
class SavedError {
 public:
  SavedError() : is_kept_(true) { api.PyErr_Fetch(&type_, &value_, &traceback_); }
  ~SavedError() {
    if (is_kept_) api.PyErr_Restore(type_, value_, traceback_);
  }
  SavedError(const SavedError&) = delete;
  SavedError& operator=(const SavedError&) = delete;
  // Drops the saved exception. An exception that is set at the end of the scope stays.
  void Drop() {
    is_kept_ = false;
    for (Object* object : {type_, value_, traceback_}) api.Py_DecRef(object);
  }

 private:
  bool is_kept_;
  Object* type_;
  Object* value_;
  Object* traceback_;
};

// Strings that are looked up often, interned once. GIL needed.
// clang-format off: its layout changes each time it runs.
#define DLPACK_PYTHON_NAMES(F) \
  F(dlpack, "__dlpack__") \
  F(max_version, "max_version") \
  F(stream, "stream") \
  F(dl_device, "dl_device") \
  F(copy, "copy") \
  F(dlpack_api, "__dlpack_c_exchange_api__") \
  F(dlpack_api_address, "__c_dlpack_exchange_api__") \
  F(cuda_array_interface, "__cuda_array_interface__") \
  F(from_dlpack, "from_dlpack") \
  F(requires_grad, "requires_grad") \
  F(is_conj, "is_conj") \
  F(is_neg, "is_neg") \
  F(dlpack_device, "__dlpack_device__") \
  F(ptr, "ptr") \
  F(shape, "shape") \
  F(strides, "strides") \
  F(dtype, "dtype") \
  F(data, "data") \
  F(c_contiguous, "_c_contiguous")
// clang-format on
struct Names {
#define DLPACK_PYTHON_MEMBER(name, text) Object* name;
  DLPACK_PYTHON_NAMES(DLPACK_PYTHON_MEMBER)
#undef DLPACK_PYTHON_MEMBER
  Object* version_tuple;  // (1, 3)
  Object* copy_tuple;     // ("copy",)
};
DLPACK_HIDDEN extern Names names;

}  // namespace dlpack::python
