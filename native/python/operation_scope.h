#ifndef DLPACK_NODE_PYTHON_OPERATION_SCOPE_H_
#define DLPACK_NODE_PYTHON_OPERATION_SCOPE_H_

#include "runtime.h"
#include "values.h"

namespace dlpack {
namespace python {

// An operation of an environment, which holds the GIL for its length.
class Depth {
 public:
  explicit Depth(Objects* self) : depth_(self->depth) { Add(1); }
  ~Depth() { Add(static_cast<uint32_t>(-1)); }

 private:
  void Add(uint32_t change) { depth_.store(depth_.load(std::memory_order_relaxed) + change, std::memory_order_relaxed); }
  std::atomic<uint32_t>& depth_;
};
struct OperationScope {
  explicit OperationScope(Objects* self) : depth(self) { DropReleased(self); }
  Depth depth;
  Gil gil;
};

}  // namespace python
}  // namespace dlpack

#endif  // DLPACK_NODE_PYTHON_OPERATION_SCOPE_H_
