#pragma once

#include "runtime.h"
#include "values.h"

namespace dlpack::python {

// An operation of an instance. It holds the GIL for its length.
class Depth {
 public:
  explicit Depth(Objects* self) : depth_(self->depth) { Add(1); }
  ~Depth() { Add(static_cast<uint32_t>(-1)); }

 private:
  void Add(uint32_t change) {
    depth_.store(depth_.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
  }
  std::atomic<uint32_t>& depth_;
};

// The part of an operation that looks up the handles in its cells. Python code that runs meanwhile, mostly finalizers,
// may call JavaScript that releases them. Then a lookup finds nothing, but never another value.
class Reading {
 public:
  explicit Reading(Objects* self) : self_(self) {
    self->instance->table.BeginReading();
    self->table.BeginReading();
  }
  ~Reading() { End(); }
  void End() {
    if (self_ == nullptr) return;
    const bool is_preparing = IsPreparing(self_->instance);
    self_->instance->table.EndReading(is_preparing);
    self_->table.EndReading(is_preparing);
    self_ = nullptr;
  }

 private:
  Objects* self_;
};

struct OperationScope {
  explicit OperationScope(Objects* self) : depth(self), reading(self), gil(self->thread_state) { DropReleased(self); }
  Depth depth;
  Reading reading;
  Gil gil;
};

}  // namespace dlpack::python
