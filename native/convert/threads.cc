// Starting a thread takes longer than converting a megabyte, so a pool of threads is kept. Between two tasks its
// members spin for a moment, then they sleep.
#include "threads.h"

#include <atomic>

#include "../forked.h"
#include "../lock.h"
#include "../platform/platform.h"

namespace dlpack {

namespace {

// Iterations of a loop of some 40 nanoseconds each. In total about as long as waking a thread takes.
const int32_t kPatience = 2000;
const size_t kStackSize = 1 << 20;

// A task lies on the stack of the thread that waits for it.
struct Task {
  void (*work)(void*, int32_t);
  void* data;
  int32_t wanted;               // members that may still join; guarded by tasks_lock
  std::atomic<int32_t> joined;  // members at work; written under tasks_lock
  Task* next;
};

Lock tasks_lock;
Task* tasks;      // guarded by tasks_lock
int32_t members;  // guarded by tasks_lock

// Members sleep until this number changes.
std::atomic<uint32_t> announced;
// The number of sleeping threads, members and callers. While it is zero, no thread is woken and no mutex is used.
std::atomic<int32_t> sleepers;
platform::Mutex sleep_mutex;
platform::Condition awake;
platform::Condition left;

// Sleeps until `done`. Another thread makes `done` true before it calls AnyoneAsleep.
template <class Done>
void SleepUntil(platform::Condition* condition, Done done) {
  sleep_mutex.Acquire();
  sleepers.fetch_add(1);
  while (!done()) condition->Wait(&sleep_mutex);
  sleepers.fetch_sub(1);
  sleep_mutex.Release();
}

// Whether a thread may be asleep. A thread that is not asleep now sees everything that was written before this call.
bool AnyoneAsleep() {
  if (sleepers.load() == 0) return false;
  sleep_mutex.Acquire();
  sleep_mutex.Release();
  return true;
}

// Wakes two sleeping threads, and each of them wakes two more. A single thread that wakes all the others would be the
// last to start working.
void WakeTwo() {
  if (!AnyoneAsleep()) return;
  awake.Signal();
  awake.Signal();
}

// Joins a task that can use more threads; NULL when there is none.
Task* Join(bool* wants_more) {
  LockScope lock(&tasks_lock);
  for (Task* task = tasks; task != nullptr; task = task->next) {
    if (task->wanted == 0) continue;
    --task->wanted;
    task->joined.fetch_add(1, std::memory_order_relaxed);
    *wants_more = task->wanted > 0;
    return task;
  }
  return nullptr;
}

// The task may no longer exist when this returns.
void Leave(Task* task) {
  tasks_lock.Acquire();
  const bool is_last = task->joined.fetch_sub(1) == 1;
  tasks_lock.Release();
  if (is_last && AnyoneAsleep()) left.Broadcast();
}

void SleepUnlessAnnounced(uint32_t seen) {
  for (int32_t i = 0; i < kPatience; ++i) {
    if (announced.load(std::memory_order_relaxed) != seen) return;
    Breathe();
  }
  SleepUntil(&awake, [seen] { return announced.load() != seen; });
}

// Never ends. It holds no lock or resource that the end of the process needs.
void* Serve(void* argument) {
  const int32_t number = static_cast<int32_t>(reinterpret_cast<intptr_t>(argument));
  for (;;) {
    const uint32_t seen = announced.load(std::memory_order_acquire);
    bool wants_more = false;
    Task* task = Join(&wants_more);
    if (task == nullptr) {
      SleepUnlessAnnounced(seen);
      continue;
    }
    if (wants_more) WakeTwo();
    task->work(task->data, number);
    Leave(task);
  }
}

// Starts threads until there are `count` members, or the system has no more.
void Enlist(int32_t count) {
  while (members < count && platform::StartThread(Serve, reinterpret_cast<void*>(intptr_t{members} + 1), kStackSize))
    ++members;
}

void Announce(Task* task, int32_t count) {
  {
    LockScope lock(&tasks_lock);
    Enlist(count);
    task->next = tasks;
    tasks = task;
  }
  announced.fetch_add(1);
  WakeTwo();
}

// Lets no more threads join, and waits for the threads that did.
void Retract(Task* task) {
  {
    LockScope lock(&tasks_lock);
    Task** at = &tasks;
    while (*at != task) at = &(*at)->next;
    *at = task->next;
  }
  for (int32_t i = 0; i < kPatience && task->joined.load(std::memory_order_acquire) > 0; ++i) Breathe();
  if (task->joined.load(std::memory_order_acquire) > 0) {
    SleepUntil(&left, [task] { return task->joined.load() == 0; });
  }
  // The last thread that left may still hold the lock.
  LockScope lock(&tasks_lock);
}

}  // namespace

void RunOnThreads(int32_t count, void (*work)(void*, int32_t), void* data) {
  if (count <= 1 || is_forked) return work(data, 0);  // a forked process has no pool threads
  const int32_t others = count <= kMaxThreads ? count - 1 : kMaxThreads - 1;
  Task task = {work, data, others, {0}, nullptr};
  Announce(&task, others);
  work(data, 0);
  Retract(&task);
}

}  // namespace dlpack
