#include "interpreter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>

#include "../../lock.h"
#include "../../platform/platform.h"
#include "../../signals.h"
#include "../threads/pool.h"
#include "prelude.h"

namespace dlpack::python {

Names names;

namespace {

struct Pending {
  Pending* next;
  void (*action)(void*);
  void* argument;
};

std::atomic<Pending*> pending{nullptr};
std::atomic<Pending*> backlog{nullptr};  // the rest of a long list
Lock start_lock;
void* started;  // a handle of dlopen; NULL until an interpreter runs
const char* kept_record;

bool MakeNames() {
#define DLPACK_PYTHON_INTERN(name, text)             \
  names.name = api.PyUnicode_InternFromString(text); \
  if (names.name == nullptr) return false;
  DLPACK_PYTHON_NAMES(DLPACK_PYTHON_INTERN)
#undef DLPACK_PYTHON_INTERN
  names.version_tuple = TupleOf(api.PyLong_FromLongLong(1), api.PyLong_FromLongLong(3));
  names.copy_tuple = TupleOf(NewRef(names.copy));
  return names.version_tuple != nullptr && names.copy_tuple != nullptr;
}

// GIL held.
const char* Prepare(bool is_ours) {
  const Ref object(ImportFrom("builtins", "object"));
  const Ref size(Attribute(object, "__basicsize__"));
  long long head = 0;
  if (!ReadInteger(size.get(), &head) || (head != 16 && head != 32))
    return "this Python lays its objects out in an unknown way";
  api.head_size = static_cast<size_t>(head);
  if (!MakeNames()) return "Python ran out of memory";
  if (!RunPrelude(is_ours)) {
    api.PyErr_Clear();
    return "the first lines of Python code failed";
  }
  return nullptr;
}

}  // namespace

bool HasText(Object* object, const char* attribute, const char* text, bool is_prefix) {
  Ref value(api.PyObject_GetAttrString(object, attribute));
  const char* found = value ? api.PyUnicode_AsUTF8AndSize(value.get(), nullptr) : nullptr;
  api.PyErr_Clear();
  return found != nullptr && strncmp(found, text, strlen(text) + (is_prefix ? 0 : 1)) == 0;
}

// Nodes for a process that has no memory left. Any thread.
static const size_t kReserved = 256;
static Pending reserve[kReserved];
static std::atomic<bool> is_reserve_used[kReserved];

static Pending* NewPending() {
  Pending* node = static_cast<Pending*>(malloc(sizeof(Pending)));
  for (size_t i = 0; node == nullptr && i < kReserved; ++i) {
    if (!is_reserve_used[i].exchange(true, std::memory_order_acquire)) node = &reserve[i];
  }
  return node;
}

static void FreePending(Pending* node) {
  if (node >= reserve && node < reserve + kReserved) {
    is_reserve_used[node - reserve].store(false, std::memory_order_release);
  } else {
    free(node);
  }
}

// A thread runs this many actions before it continues, and the pool runs the rest. The garbage collector may drop a
// thousand references of Ray at once, which kept the JavaScript thread for 10 ms.
static const uint32_t kMostActions = 8;

bool HasPending() {
  return pending.load(std::memory_order_relaxed) != nullptr || backlog.load(std::memory_order_relaxed) != nullptr;
}

void Gil::RunPending() {
  if (!HasPending()) return;
  Pending* node = backlog.exchange(nullptr, std::memory_order_acquire);
  if (node == nullptr) node = pending.exchange(nullptr, std::memory_order_acquire);
  // The rest waits in the backlog before an action runs, because an action may release the GIL, and RunDeferred on
  // another thread must find the rest.
  Pending* last = node;
  for (uint32_t count = 1; last != nullptr && count < kMostActions; ++count) last = last->next;
  Pending* none = nullptr;
  // Without a GIL, another thread may have left its rest there meanwhile. Then this thread runs all.
  if (last != nullptr && last->next != nullptr &&
      backlog.compare_exchange_strong(none, last->next, std::memory_order_release)) {
    last->next = nullptr;
    RequestDrain();
  }
  while (node != nullptr) {
    Pending* next = node->next;
    node->action(node->argument);
    FreePending(node);
    node = next;
  }
}

void RunDeferred() {
  while (HasPending()) Gil again;
}

// Values of PyGILState_STATE.
static const int kWasLocked = 0, kWasUnlocked = 1;

static thread_local uint32_t attached;
static thread_local Object* attached_state;

Object* AttachThread() {
  if (attached++ > 0) return attached_state;
  // Never released, so that the count keeps the thread state alive, even if other code made it.
  Object* state = api.PyGILState_Ensure() == kWasUnlocked ? api.PyEval_SaveThread() : nullptr;
  attached_state = api.PyThreadState_GetUnchecked == nullptr ? nullptr : state;
  return attached_state;
}

void DetachThread(bool may_wait) {
  if (--attached > 0 || !may_wait) return;
  api.PyGILState_Ensure();
  api.PyGILState_Release(kWasLocked);
  api.PyGILState_Release(kWasUnlocked);  // deletes a state that AttachThread made, and releases the GIL
}

void Defer(void (*action)(void*), void* argument) {
  Pending* node = NewPending();
  if (node == nullptr) return;  // leaks the object instead of ending the process
  node->action = action;
  node->argument = argument;
  node->next = pending.load(std::memory_order_relaxed);
  while (!pending.compare_exchange_weak(node->next, node, std::memory_order_release, std::memory_order_relaxed)) {
  }
  if (node->next == nullptr) RequestDrain();
}

void DeferDecRef(Object* object) {
  if (object != nullptr) Defer([](void* argument) { api.Py_DecRef(static_cast<Object*>(argument)); }, object);
}

const char* FindRecord() {
  LockScope scope(&start_lock);
  return kept_record;
}

const char* Start(const char* library, const char* program, const char* record, char* buffer, size_t size) {
  LockScope scope(&start_lock);
  // Global, because extension modules in wheels find CPython's symbols in the process.
  void* handle = platform::OpenLibrary(library, platform::Symbols::kGlobal, buffer, size);
  if (handle == nullptr) return buffer;
  if (started != nullptr) {
    if (handle == started) return nullptr;
    snprintf(buffer, size, "this process runs another Python already");
    return buffer;
  }
  const char* missing = LoadApi(handle);
  if (missing != nullptr) {
    snprintf(buffer, size, "%s has no %s: Python 3.9 or newer is needed", library, missing);
    return buffer;
  }
  const char* error;
  if (api.Py_IsInitialized()) {
    // Another embedder started the interpreter; its settings stay.
    const int state = api.PyGILState_Ensure();
    error = Prepare(false);
    api.PyGILState_Release(state);
  } else {
    if (program[0] != '\0' && api.Py_SetProgramName != nullptr && api.Py_DecodeLocale != nullptr) {
      wchar_t* decoded = api.Py_DecodeLocale(program, nullptr);  // must live as long as the interpreter
      if (decoded != nullptr) api.Py_SetProgramName(decoded);
    }
    platform::SignalHandler interrupt;
    const bool has_interrupt = interrupt.Read(platform::Signal::kInterrupt);
    RememberSignals();
    api.Py_InitializeEx(0);  // 0: signals stay with the JavaScript runtime
    error = Prepare(true);
    RestoreSignals();  // PYTHONFAULTHANDLER, for example, replaces handlers
    if (has_interrupt) interrupt.Install(platform::Signal::kInterrupt);
    api.PyEval_SaveThread();
  }
  if (error == nullptr) {
    started = handle;
    const size_t length = strlen(record) + 1;
    void* copy = malloc(length);  // if it is NULL, other threads search for this Python
    if (copy != nullptr) kept_record = static_cast<char*>(memcpy(copy, record, length));
  }
  return error;
}

}  // namespace dlpack::python
