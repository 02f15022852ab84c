#include "pool.h"

#include <atomic>

#include <stdio.h>
#include <stdlib.h>

#include "../platform/platform.h"
#include "runtime.h"

namespace dlpack {
namespace python {

namespace {

const uint32_t kMaxThreads = 256;
// What Python's own main thread has: macOS and musl give other threads far less.
const size_t kStackSize = 8 * 1024 * 1024;

platform::Mutex mutex;  // guards all below
platform::Condition has_task;
Task* first;
Task* last;
uint32_t threads;
uint32_t starting;
uint32_t idle;
uint32_t running;  // tasks, less those that wait for promises
uint32_t waiting;  // for promises
uint32_t limit;

thread_local bool is_pool_thread;

uint32_t DefaultLimit() {
  const uint32_t cores = platform::CountProcessors();
  return cores < 4 ? 4 : cores > 16 ? 16 : cores;
}

// The thread that ends the process. Libraries would take down what our threads compute with, or wait for it to end:
// OpenBLAS joins threads that never do. A process that ends in the middle of a computation ends without that.
void LeaveAtOnce(int status) {
  mutex.Acquire();
  const bool is_busy = running > 0;
  mutex.Release();
  if (!is_busy) return;
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

// Mutex held. Whoever takes a task and leaves another behind calls this too, so one wake-up is enough for many tasks.
void WakeOne() {
  if (first == nullptr || running >= limit) return;
  if (idle > 0) {
    has_task.Signal();
  } else if (running + starting < limit && threads < kMaxThreads) {
    StartThread();
  }
}

// Its thread state lasts as long as the thread: thread-local values of Python stay from one task to the next, as they
// do in Python's own pools.
void* Work(void*) {
  is_pool_thread = true;
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

// What was put off is done by the Gil around every task; what came meanwhile by the one here.
std::atomic<bool> is_draining{false};
void Drain(Task*) {
  is_draining.store(false, std::memory_order_release);
  Gil again;
}
Task drain_task = {nullptr, Drain};

}  // namespace

void RequestDrain() {
  if (is_draining.exchange(true, std::memory_order_acq_rel)) return;
  if (!Submit(&drain_task)) is_draining.store(false, std::memory_order_release);
}

void PrepareExit(int status) { platform::OnExit(LeaveAtOnce, status); }

void SetPoolLimit(uint32_t count) {
  mutex.Acquire();
  if (limit == 0) limit = count == 0 ? DefaultLimit() : count > kMaxThreads / 2 ? kMaxThreads / 2 : count;
  mutex.Release();
}

bool Submit(Task* task) {
  task->next = nullptr;
  mutex.Acquire();
  Task* const behind = first == nullptr ? nullptr : last;
  if (behind == nullptr) {
    first = task;
  } else {
    behind->next = task;
  }
  last = task;
  WakeOne();
  const bool good = threads > 0;
  if (!good) first = nullptr;  // the queue held this task alone: nobody was ever there to take one
  mutex.Release();
  return good;
}

bool IsPoolThread() { return is_pool_thread; }

bool BeginPoolWait() {
  mutex.Acquire();
  const bool good = waiting + limit < kMaxThreads;
  if (good) {
    ++waiting;
    --running;
    WakeOne();
  }
  mutex.Release();
  return good;
}

void EndPoolWait() {
  mutex.Acquire();
  --waiting;
  ++running;
  mutex.Release();
}

}  // namespace python
}  // namespace dlpack
