#include "pool.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../detached_thread.h"
#include "runtime.h"

namespace dlpack {
namespace python {

namespace {

const uint32_t kMaxThreads = 256;
// What Python's own main thread has: macOS and musl give other threads far less.
const size_t kStackSize = 8 * 1024 * 1024;

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;  // guards all below
pthread_cond_t has_task = PTHREAD_COND_INITIALIZER;
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
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  return cores < 4 ? 4 : cores > 16 ? 16 : static_cast<uint32_t>(cores);
}

// The thread that ends the process. Libraries would take down what our threads compute with, or wait for it to end:
// OpenBLAS joins threads that never do. A process that ends in the middle of a computation ends without that.
[[maybe_unused]] void LeaveAtOnce(int status, void*) {
  pthread_mutex_lock(&mutex);
  const bool is_busy = running > 0;
  pthread_mutex_unlock(&mutex);
  if (!is_busy) return;
  fflush(nullptr);
  _exit(status);
}

void* Work(void*);

// Mutex held.
void StartThread() {
  if (threads == 0) PrepareExit();
  if (!StartDetachedThread(Work, nullptr, kStackSize)) return;
  ++threads;
  ++starting;
}

// Mutex held. Whoever takes a task and leaves another behind calls this too, so one wake-up is enough for many tasks.
void WakeOne() {
  if (first == nullptr || running >= limit) return;
  if (idle > 0) {
    pthread_cond_signal(&has_task);
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
  pthread_mutex_lock(&mutex);
  --starting;
  for (;;) {
    while (first == nullptr || running >= limit) {
      ++idle;
      pthread_cond_wait(&has_task, &mutex);
      --idle;
    }
    Task* task = first;
    first = task->next;
    ++running;
    WakeOne();
    pthread_mutex_unlock(&mutex);
    {
      Gil gil;
      task->run(task);
    }
    pthread_mutex_lock(&mutex);
    --running;
  }
  return nullptr;
}

}  // namespace

void PrepareExit() {
#if defined(__GLIBC__)
  on_exit(LeaveAtOnce, nullptr);
#endif
}

void SetPoolLimit(uint32_t count) {
  pthread_mutex_lock(&mutex);
  if (limit == 0) limit = count == 0 ? DefaultLimit() : count > kMaxThreads / 2 ? kMaxThreads / 2 : count;
  pthread_mutex_unlock(&mutex);
}

bool Submit(Task* task) {
  task->next = nullptr;
  pthread_mutex_lock(&mutex);
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
  pthread_mutex_unlock(&mutex);
  return good;
}

bool IsPoolThread() { return is_pool_thread; }

bool BeginPoolWait() {
  pthread_mutex_lock(&mutex);
  const bool good = waiting + limit < kMaxThreads;
  if (good) {
    ++waiting;
    --running;
    WakeOne();
  }
  pthread_mutex_unlock(&mutex);
  return good;
}

void EndPoolWait() {
  pthread_mutex_lock(&mutex);
  --waiting;
  ++running;
  pthread_mutex_unlock(&mutex);
}

}  // namespace python
}  // namespace dlpack
