// The threads that run asynchronous calls: one pool for the process, made on demand, never ended. Not libuv's, whose
// few threads serve files and names: a computation of a minute must not keep a file from being read.
#ifndef DLPACK_NODE_PYTHON_POOL_H_
#define DLPACK_NODE_PYTHON_POOL_H_

#include <stdint.h>

namespace dlpack {
namespace python {

struct Task {
  Task* next;
  void (*run)(Task* self);  // a thread of the pool, GIL held
};

// How many tasks run at once; 0 for what suits the machine. The first call decides; later ones do nothing. Any thread.
void SetPoolLimit(uint32_t limit);

// Queues a task. False, with nothing taken, when there is no thread to run it. Any thread.
bool Submit(Task* task);

// The process is about to end, with this status. What is registered last runs first: called again when JavaScript ends,
// this comes before all libraries that were loaded meanwhile. Any thread.
void PrepareExit(int status);

// True on a thread of the pool.
bool IsPoolThread();

// A task waits for a promise (or waits no more): another may run meanwhile, because the promise may need it. False when
// too many wait already. Any thread.
bool BeginPoolWait();
void EndPoolWait();

// Has a thread of the pool take the GIL soon, and do what was put off until then. Any thread, no GIL needed.
void RequestDrain();

}  // namespace python
}  // namespace dlpack

#endif  // DLPACK_NODE_PYTHON_POOL_H_
