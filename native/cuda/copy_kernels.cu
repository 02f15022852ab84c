// The copy kernels. scripts/make-ptx.mjs compiles them, by NVRTC, into copy_kernels_ptx.h, which is committed: a build
// needs no CUDA.
#include "copy_plan.h"

using dlpack::cuda::CopyPlan;
using dlpack::cuda::PlanAxis;

// A 16-byte item.
struct alignas(16) Quad {
  unsigned int words[4];
};

enum { kThreads = 256, kItems = 4 };

__device__ inline unsigned int Quotient(const PlanAxis& axis, unsigned int n) {
  return (__umulhi(n, axis.multiplier) + n) >> axis.shift;
}

// Each thread moves a few items, a block's width apart, so that their loads are under way together.
template <class Item>
__device__ inline void StridedCopy(const CopyPlan& plan) {
  const Item* source = reinterpret_cast<const Item*>(plan.source);
  Item* target = reinterpret_cast<Item*>(plan.target);
  unsigned int rest[kItems];
  long long from[kItems] = {};
  long long to[kItems] = {};
  const unsigned int first = blockIdx.x * (kThreads * kItems) + threadIdx.x;
#pragma unroll
  for (int i = 0; i < kItems; ++i) rest[i] = first + i * kThreads;
  for (int axis = static_cast<int>(plan.ndim) - 1; axis > 0; --axis) {
    const PlanAxis& step = plan.axes[axis];
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      const unsigned int quotient = Quotient(step, rest[i]);
      const unsigned int index = rest[i] - quotient * step.length;
      from[i] += index * step.source_step;
      to[i] += index * step.target_step;
      rest[i] = quotient;
    }
  }
  Item items[kItems];
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    from[i] += rest[i] * plan.axes[0].source_step;
    to[i] += rest[i] * plan.axes[0].target_step;
    if (first + i * kThreads < plan.count) items[i] = source[from[i]];
  }
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    if (first + i * kThreads < plan.count) target[to[i]] = items[i];
  }
}

// A block moves one tile through shared memory: read along rows, written along columns, both in full lines.
template <class Item, int kTile>
__device__ inline void TransposeCopy(const CopyPlan& plan) {
  constexpr int kLines = kThreads / 32;
  __shared__ Item tile[kTile][kTile + (sizeof(Item) < 4 ? 4 / sizeof(Item) : 1)];
  const Item* source = reinterpret_cast<const Item*>(plan.source);
  Item* target = reinterpret_cast<Item*>(plan.target);
  const PlanAxis& rows = plan.axes[plan.ndim - 2];
  const PlanAxis& columns = plan.axes[plan.ndim - 1];
  const unsigned int row_tiles = (rows.length + kTile - 1) / kTile;
  const unsigned int column_tiles = (columns.length + kTile - 1) / kTile;
  unsigned int rest = blockIdx.x;
  const unsigned int first_row = rest % row_tiles * kTile;
  rest /= row_tiles;
  const unsigned int first_column = rest % column_tiles * kTile;
  rest /= column_tiles;
  for (int axis = static_cast<int>(plan.ndim) - 3; axis >= 0; --axis) {
    const unsigned int index = rest % plan.axes[axis].length;
    rest /= plan.axes[axis].length;
    source += index * plan.axes[axis].source_step;
    target += index * plan.axes[axis].target_step;
  }
  const unsigned int lane = threadIdx.x % 32;
  const unsigned int line = threadIdx.x / 32;
  // The source is contiguous along rows: lanes run over rows.
#pragma unroll 4
  for (unsigned int c = line; c < kTile; c += kLines) {
#pragma unroll
    for (unsigned int r = lane; r < kTile; r += 32) {
      if (first_row + r < rows.length && first_column + c < columns.length) {
        tile[c][r] = source[(first_row + r) + (first_column + c) * columns.source_step];
      }
    }
  }
  __syncthreads();
#pragma unroll 4
  for (unsigned int r = line; r < kTile; r += kLines) {
#pragma unroll
    for (unsigned int c = lane; c < kTile; c += 32) {
      if (first_row + r < rows.length && first_column + c < columns.length) {
        target[(first_row + r) * rows.target_step + (first_column + c)] = tile[c][r];
      }
    }
  }
}

#define DLPACK_COPY_KERNELS(size, Item, tile)                                                                   \
  extern "C" __global__ void __launch_bounds__(kThreads) strided_copy_##size(const __grid_constant__ CopyPlan plan) { \
    StridedCopy<Item>(plan);                                                                                    \
  }                                                                                                             \
  extern "C" __global__ void __launch_bounds__(kThreads) transpose_copy_##size(const __grid_constant__ CopyPlan plan) { \
    TransposeCopy<Item, tile>(plan);                                                                            \
  }

DLPACK_COPY_KERNELS(1, unsigned char, 128)
DLPACK_COPY_KERNELS(2, unsigned short, 64)
DLPACK_COPY_KERNELS(4, unsigned int, 64)
DLPACK_COPY_KERNELS(8, unsigned long long, 32)
DLPACK_COPY_KERNELS(16, Quad, 32)
