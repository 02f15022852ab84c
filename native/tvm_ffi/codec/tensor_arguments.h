// The tensors among the values of a request. JavaScript describes a tensor without an object on the wire, and native
// code makes one for the length of the request. JavaScript holds the tensor as long. JavaScript thread only.
#pragma once

#include "../context.h"
#include "tensor_object.h"

namespace dlpack::tvm_ffi {

class TensorArguments {
 public:
  explicit TensorArguments(Context* self) : self_(self), count_(0) {}
  ~TensorArguments() {
    while (count_ > 0) EndTensorObject(made_[--count_], self_->instance->thread);
  }
  TensorArguments(const TensorArguments&) = delete;
  TensorArguments& operator=(const TensorArguments&) = delete;

  // Replaces each description by the object, or by the DLTensor in it for a callee that may not keep the tensor. 0, or
  // -1 with an error raised.
  int Read(TVMFFIAny* values, int32_t count) {
    for (int32_t i = 0; i < count; ++i) {
      if (values[i].type_index >= 0) continue;
      const int status = ReadOne(&values[i]);
      if (status != 0) return status;
    }
    return 0;
  }

  // The object that was made last.
  TensorObject* Last() const { return made_[count_ - 1]; }

  // The number under which the call holds the tensor of an object; 0: not one of these.
  uint32_t HeldAs(const TVMFFIObject* object) const {
    for (int32_t i = 0; i < count_; ++i) {
      if (&made_[i]->header == object) return made_[i]->held;
    }
    return 0;
  }

 private:
  int ReadOne(TVMFFIAny* value);

  static const int32_t kMost = 256;  // JavaScript has no more values on the wire at a time
  Context* self_;
  int32_t count_;
  TensorObject* made_[kMost];
};

}  // namespace dlpack::tvm_ffi
