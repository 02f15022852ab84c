// A strided copy as the kernels of copy_kernels.cu take it: one struct, by value. NVRTC compiles this file too, so it
// includes nothing.
#pragma once

namespace dlpack::cuda {

enum { kMaxPlanAxes = 8 };

// One block: threads, and for strided_copy_N items per thread.
enum { kCopyThreads = 256, kCopyItems = 4 };

// A length and how to divide by it with a multiplication: q = (mulhi(n, multiplier) + n) >> shift, for n below 2^31.
struct PlanAxis {
  unsigned int length;
  unsigned int multiplier;
  unsigned int shift;
  unsigned int unused;
  long long source_step;  // in items
  long long target_step;
};

// Items of 1, 2, 4, 8 or 16 bytes. The outermost axis is first. `count` is the product of all lengths, below 2^31.
// strided_copy_N loops over all axes. transpose_copy_N treats the last two axes as a matrix, [row][column]: the source
// is contiguous along rows (source_step of the second last axis is 1), the target along columns (target_step of the
// last axis is 1), and the axes before them number the matrices.
struct CopyPlan {
  unsigned long long source;
  unsigned long long target;
  unsigned int count;
  unsigned int ndim;
  PlanAxis axes[kMaxPlanAxes];
};

}  // namespace dlpack::cuda
