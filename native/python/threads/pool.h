// The threads that run asynchronous calls: one pool for the process. Threads start on demand and never end. libuv's
// pool does not fit: its few threads serve files and name lookups, which must not wait for a long computation.
#pragma once

#include <stdint.h>

namespace dlpack::python {

struct Task {
  Task* next;
  void (*run)(Task* self);  // a thread of the pool, GIL held
};

// Sets how many tasks run at the same time; 0 chooses a number for the machine. Only the first call has an effect. Any
// thread.
void SetPoolLimit(uint32_t limit);

// How many tasks run at the same time, if the program has said that; otherwise 0. Any thread.
uint32_t NamedPoolLimit();

// Queues a task. False, without taking the task, when no thread can run it. Any thread.
bool Submit(Task* task);

// Registers the exit handler of the pool for an end with this status. Handlers run last in, first out, so this is
// called again when JavaScript ends: the handler then runs before those of libraries that were loaded meanwhile. Any
// thread.
void PrepareExit(int status);

// True on a thread of the pool.
bool IsPoolThread();

// A task starts (or stops) waiting for a promise. Another task may run meanwhile, because the promise may depend on it.
// False when too many tasks wait already. Any thread.
bool BeginPoolWait();
void EndPoolWait();

// Makes a thread of the pool take the GIL soon and run the deferred actions. Any thread, no GIL needed.
void RequestDrain();

}  // namespace dlpack::python
