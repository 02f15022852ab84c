// SavedFrame: the exchange frame of a call that is halfway while foreign code, and JavaScript that it calls, may use
// the frame. JavaScript thread only.
#ifndef DLPACK_NODE_SAVED_FRAME_H_
#define DLPACK_NODE_SAVED_FRAME_H_

#include "environment.h"

namespace dlpack {

class SavedFrame {
 public:
  explicit SavedFrame(Environment* environment) : frame_(environment->frame), saved_(*environment->frame) {
    // JavaScript may forget what the number stands for: the frame has to say it all.
    const Kind& kind = environment->kind;
    if (saved_.kind == 0 || saved_.kind != kind.number || !kind.is_comparable) return;
    for (int32_t i = 0; i < kind.ndim; ++i) {
      saved_.shape[i] = static_cast<double>(kind.shape[i]);
      saved_.strides[i] = static_cast<double>(kind.strides[i]);
    }
  }
  // All but what JavaScript remembers now.
  void Restore() const {
    const uint32_t known = frame_->known;
    *frame_ = saved_;
    frame_->known = known;
  }

 private:
  Frame* frame_;
  Frame saved_;
};

}  // namespace dlpack

#endif  // DLPACK_NODE_SAVED_FRAME_H_
