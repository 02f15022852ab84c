#include "pool.h"

#include <stdio.h>

#include <atomic>

#include "../../forked.h"
#include "../../memory/shared_memory.h"
#include "../../platform/platform.h"
#include "../interpreter/interpreter.h"

namespace dlpack::python {

namespace {

const uint32_t kMaxThreads = 256;
// The stack size of Python's main thread. macOS and musl give other threads far less.
const size_t kStackSize = size_t{8} << 20;

platform::Mutex mutex;  // guards all below
platform::Condition has_task;
Task* first;
Task* last;
uint32_t threads;
uint32_t starting;
uint32_t idle;
uint32_t running;  // tasks, not counting those that wait for promises
uint32_t waiting;  // tasks that wait for promises
uint32_t limit;
uint32_t named_limit;  // what the program said, or 0

thread_local bool is_pool_thread;

uint32_t DefaultLimit() {
  const uint32_t cores = platform::CountProcessors();
  return cores < 4 ? 4 : cores > 16 ? 16 : cores;
}

// Runs on the thread that ends the process. Exit handlers of libraries would destroy data that our threads still use,
// or, as OpenBLAS does, wait for threads that never end. So while a computation runs, the process ends without these
// handlers.
void LeaveAtOnce(int status) {
  {
    platform::MutexScope scope(&mutex);
    if (running == 0) return;
  }
  RemoveSharedNames();
  fflush(nullptr);
  platform::EndProcess(status, nullptr);
}

void* Work(void*);

// Mutex held.
void StartThread() {
  if (threads == 0) PrepareExit(0);
  if (!platform::StartThread(Work, nullptr, kStackSize)) return;
  ++threads;
  ++starting;
}

// Mutex held. A thread that takes a task and leaves others in the queue calls this too, so one wake-up is enough for
// many tasks.
void WakeOne() {
  if (first == nullptr || running >= limit) return;
  if (idle > 0) {
    has_task.Signal();
  } else if (running + starting < limit && threads < kMaxThreads) {
    StartThread();
  }
}

// The Python thread state lasts as long as the thread, so thread-local values stay from one task to the next, as in
// Python's own pools.
void* Work(void*) {
  is_pool_thread = true;
  platform::UseSignalMask();  // Python code may start processes, such as those of Ray
  api.PyGILState_Ensure();
  api.PyEval_SaveThread();
  mutex.Acquire();
  --starting;
  for (;;) {
    while (first == nullptr || running >= limit) {
      ++idle;
      has_task.Wait(&mutex);
      --idle;
    }
    Task* task = first;
    first = task->next;
    ++running;
    WakeOne();
    mutex.Release();
    {
      Gil gil;
      task->run(task);
    }
    mutex.Acquire();
    --running;
  }
  return nullptr;
}

// Every Gil runs some of the deferred actions. Other threads take the GIL during the pauses; without a pause this
// thread would have it again before they wake up.
std::atomic<bool> is_draining{false};
void Drain(Task*) {
  do {
    while (HasPending()) {
      Object* state = api.PyEval_SaveThread();
      platform::SleepMicroseconds(50);
      api.PyEval_RestoreThread(state);
      Gil again;
    }
    is_draining.exchange(false, std::memory_order_acq_rel);
  } while (HasPending() && !is_draining.exchange(true, std::memory_order_acq_rel));
}
Task drain_task = {nullptr, Drain};

}  // namespace

void RequestDrain() {
  // A forked process has no pool, and a thread that exists no longer may hold the mutex. The next Gil runs the actions.
  if (is_forked) return;
  if (is_draining.exchange(true, std::memory_order_acq_rel)) return;
  if (!Submit(&drain_task)) is_draining.store(false, std::memory_order_release);
}

void PrepareExit(int status) { platform::OnExit(LeaveAtOnce, status); }

void SetPoolLimit(uint32_t count) {
  platform::MutexScope scope(&mutex);
  if (limit != 0) return;
  named_limit = count > kMaxThreads / 2 ? kMaxThreads / 2 : count;
  limit = named_limit == 0 ? DefaultLimit() : named_limit;
  platform::RememberSignalMask();
}

uint32_t NamedPoolLimit() {
  platform::MutexScope scope(&mutex);
  return named_limit;
}

bool Submit(Task* task) {
  platform::MutexScope scope(&mutex);
  task->next = nullptr;
  *(first == nullptr ? &first : &last->next) = task;
  last = task;
  WakeOne();
  const bool good = threads > 0;
  if (!good) first = nullptr;  // the queue held only this task, because no thread exists
  return good;
}

bool IsPoolThread() { return is_pool_thread; }

bool BeginPoolWait() {
  platform::MutexScope scope(&mutex);
  if (waiting + limit >= kMaxThreads) return false;
  ++waiting;
  --running;
  WakeOne();
  return true;
}

void EndPoolWait() {
  platform::MutexScope scope(&mutex);
  --waiting;
  ++running;
}

}  // namespace dlpack::python
