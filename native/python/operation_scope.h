#pragma once

#include "values.h"

namespace dlpack::python {

// An operation of an instance. It holds the GIL for its length.
class OperationScope {
 public:
  explicit OperationScope(Objects* self) : self_(self), is_reading_(true), gil_(Begin(self)) { DropReleased(self); }
  ~OperationScope() {
    EndReading();
    AddDepth(self_, static_cast<uint32_t>(-1));
  }
  // Ends the part of the operation that looks up the handles in its cells. Python code that runs in that part, mostly
  // finalizers, may call JavaScript that releases them. Then a lookup finds nothing, but never another value.
  void EndReading() {
    if (!is_reading_) return;
    is_reading_ = false;
    const bool is_preparing = IsPreparing(self_->instance);
    self_->instance->table.EndReading(is_preparing);
    self_->table.EndReading(is_preparing);
  }

 private:
  // Without the GIL.
  static Object* Begin(Objects* self) {
    AddDepth(self, 1);
    self->instance->table.BeginReading();
    self->table.BeginReading();
    return self->thread_state;
  }
  static void AddDepth(Objects* self, uint32_t change) {
    self->depth.store(self->depth.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
  }
  Objects* self_;
  bool is_reading_;
  Gil gil_;
};

}  // namespace dlpack::python
