// The allocator that sessions use for outputs and intermediate values: memory of this package, aligned to 256 bytes,
// from kept blocks where it is large, and given back after release. ONNX Runtime's own arena never shrinks.
#pragma once

#include "abi.h"

namespace dlpack::onnxruntime {

// The allocator of the process. Any thread.
OrtAllocator* BlockAllocator();

// Tells it the version of the library, and how the library describes host memory. Called once, before the allocator is
// used.
void PrepareAllocator(uint32_t version, const OrtMemoryInfo* host);

}  // namespace dlpack::onnxruntime
