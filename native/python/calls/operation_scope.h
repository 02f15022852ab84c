#pragma once

#include "../values/cells.h"

namespace dlpack::python {

// An operation of an instance. It holds the GIL for its length. JavaScript holds the objects and tensors that the
// request names until the request ends, so Python code that runs meanwhile cannot release them.
class OperationScope {
 public:
  explicit OperationScope(Objects* self) : self_(self), gil_(Begin(self)) { DropReleased(self); }
  ~OperationScope() { AddDepth(self_, static_cast<uint32_t>(-1)); }

 private:
  // Without the GIL.
  static Object* Begin(Objects* self) {
    AddDepth(self, 1);
    return self->thread_state;
  }
  static void AddDepth(Objects* self, uint32_t change) {
    self->depth.store(self->depth.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
  }
  Objects* self_;
  Gil gil_;
};

}  // namespace dlpack::python
