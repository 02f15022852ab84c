#pragma once

#include "values.h"

namespace dlpack::python {

// The part of a request that looks up the handles in its cells. Python code that runs in that part, mostly finalizers,
// may call JavaScript that releases them. Then a lookup finds nothing, but never another value.
class ReadingScope {
 public:
  explicit ReadingScope(Objects* self) : self_(self), is_reading_(true) {
    self->instance->table.BeginReading();
    self->table.BeginReading();
  }
  ~ReadingScope() { EndReading(); }
  void EndReading() {
    if (!is_reading_) return;
    is_reading_ = false;
    const bool is_preparing = IsPreparing(self_->instance);
    self_->instance->table.EndReading(is_preparing);
    self_->table.EndReading(is_preparing);
  }

 protected:
  Objects* self_;

 private:
  bool is_reading_;
};

// An operation of an instance. It holds the GIL for its length.
class OperationScope : public ReadingScope {
 public:
  explicit OperationScope(Objects* self) : ReadingScope(self), gil_(Begin(self)) { DropReleased(self); }
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
  Gil gil_;
};

}  // namespace dlpack::python
