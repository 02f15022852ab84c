#include "pool.h"

#include <stdio.h>

#include "../forked.h"
#include "../memory/shared_memory.h"
#include "../platform/platform.h"
#include "run.h"

namespace dlpack::onnxruntime {

namespace {

// Sessions bound how many of their own runs are in the pool, so this only bounds a program with very many sessions.
const uint32_t kMaxThreads = 128;
// ONNX Runtime needs more than the small stacks of musl and macOS.
const size_t kStackSize = size_t{8} << 20;
// How long the end of the process waits for kernels that were asked to stop.
const uint32_t kExitMilliseconds = 100;

// How often a thread without a task looks for another one before it sleeps, about 20 microseconds: a program that
// awaits runs of microseconds starts the next one in that time, and waking a thread would cost more than such a run.
const int kLooks = 32;

platform::Mutex mutex;  // guards all below
platform::Condition has_task;
Task* first;
Task* last;
uint32_t threads;
bool is_watching_exit;
uint32_t idle;     // threads without a task, also those that look for one or wake up
uint32_t looking;  // threads that will find a task by themselves, because they do not sleep
uint32_t waking;   // threads that were woken
uint32_t queued;
uint32_t running;

bool IsIdle() {
  platform::MutexScope scope(&mutex);
  return running == 0 && queued == 0;
}

// Runs on the thread that ends the process, before the exit handlers of the library, which destroy what running kernels
// use. Kernels that do not stop soon are left behind: the process then ends without those handlers.
void LeaveInOrder(int status) {
  if (is_forked) return;  // it has no threads, and one that exists no longer may hold a lock
  StopAllRuns();
  for (uint32_t i = 0; i < kExitMilliseconds && !IsIdle(); ++i) platform::SleepMicroseconds(1000);
  if (IsIdle()) return;
  RemoveSharedNames();
  fflush(nullptr);
  platform::EndProcess(status, nullptr);
}

// Whether the caller has to wake a thread after it has released the mutex: a thread that wakes while the mutex is held
// only waits again. A thread that takes a task and leaves others in the queue asks too, so that the JavaScript thread
// wakes one thread for many tasks. Mutex held.
bool MustWake() {
  if (queued == 0 || looking + waking > 0 || idle == 0) return false;
  ++waking;
  return true;
}

// Returns when there is a task. Mutex held, but not all the time.
void WaitForTask() {
  ++idle;
  ++looking;
  for (int i = 0; i < kLooks && first == nullptr; ++i) {
    mutex.Release();
    platform::YieldThread();
    mutex.Acquire();
  }
  --looking;
  while (first == nullptr) {
    has_task.Wait(&mutex);
    if (waking > 0) --waking;
  }
  --idle;
}

void* Work(void*) {
  mutex.Acquire();
  for (;;) {
    if (first == nullptr) WaitForTask();
    Task* task = first;
    first = task->next;
    --queued;
    ++running;
    const bool must_wake = MustWake();
    mutex.Release();
    if (must_wake) has_task.Signal();
    task->run(task);
    mutex.Acquire();
    --running;
  }
  return nullptr;
}

}  // namespace

bool Submit(Task* task) {
  if (is_forked) return false;
  bool must_wake = false;
  {
    platform::MutexScope scope(&mutex);
    if (queued >= idle && threads < kMaxThreads) {
      if (!is_watching_exit) platform::OnExit(LeaveInOrder, 0);
      is_watching_exit = true;
      if (platform::StartThread(Work, nullptr, kStackSize)) ++threads;
    }
    if (threads == 0) return false;
    task->next = nullptr;
    *(first == nullptr ? &first : &last->next) = task;
    last = task;
    ++queued;
    must_wake = MustWake();
  }
  if (must_wake) has_task.Signal();
  return true;
}

}  // namespace dlpack::onnxruntime
