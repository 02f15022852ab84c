// The threads that load models and run them: one pool for the process. Threads start on demand and never end. libuv's
// pool does not fit: eight runs on it made one fs.stat wait for seven seconds.
#pragma once

#include <stdint.h>

namespace dlpack::onnxruntime {

struct Task {
  Task* next;
  void (*run)(Task* self);  // a thread of the pool
};

// Queues a task. False, without taking it, when no thread can run it. Any thread.
bool Submit(Task* task);

}  // namespace dlpack::onnxruntime
