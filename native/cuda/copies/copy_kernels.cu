// The copy kernels. scripts/make-ptx.py compiles them, by NVRTC, into copy_kernels_ptx.h, which is committed: a build
// needs no CUDA.
#include "copy_plan.h"

using namespace dlpack::cuda;

// A 16-byte item.
struct alignas(16) Quad {
  unsigned int words[4];
};

__device__ inline unsigned int Quotient(const PlanAxis& axis, unsigned int n) {
  return (__umulhi(n, axis.multiplier) + n) >> axis.shift;
}

// Each thread moves a few items, a block's width apart, so that their loads are under way together.
template <class Item>
__device__ inline void StridedCopy(const CopyPlan& plan) {
  const Item* source = reinterpret_cast<const Item*>(plan.source);
  Item* target = reinterpret_cast<Item*>(plan.target);
  unsigned int rest[kCopyItems];
  long long from[kCopyItems] = {};
  long long to[kCopyItems] = {};
  const unsigned int first = blockIdx.x * (kCopyThreads * kCopyItems) + threadIdx.x;
#pragma unroll
  for (int i = 0; i < kCopyItems; ++i) rest[i] = first + i * kCopyThreads;
  for (int axis = static_cast<int>(plan.ndim) - 1; axis > 0; --axis) {
    const PlanAxis& step = plan.axes[axis];
#pragma unroll
    for (int i = 0; i < kCopyItems; ++i) {
      const unsigned int quotient = Quotient(step, rest[i]);
      const unsigned int index = rest[i] - quotient * step.length;
      from[i] += index * step.source_step;
      to[i] += index * step.target_step;
      rest[i] = quotient;
    }
  }
  Item items[kCopyItems];
#pragma unroll
  for (int i = 0; i < kCopyItems; ++i) {
    from[i] += rest[i] * plan.axes[0].source_step;
    to[i] += rest[i] * plan.axes[0].target_step;
    if (first + i * kCopyThreads < plan.count) items[i] = source[from[i]];
  }
#pragma unroll
  for (int i = 0; i < kCopyItems; ++i) {
    if (first + i * kCopyThreads < plan.count) target[to[i]] = items[i];
  }
}

// Where one tile of a block lies. Tiles follow each other along rows, which the source has side by side.
template <class Item>
struct Tile {
  const Item* source;
  Item* target;
  unsigned int rows;  // that are there, from the first of the tile on
  unsigned int columns;
  long long source_step;  // from one column to the next
  long long target_step;  // from one row to the next
};

template <class Item, int kRows, int kColumns>
__device__ inline Tile<Item> FindTile(const CopyPlan& plan) {
  const PlanAxis& rows = plan.axes[plan.ndim - 2];
  const PlanAxis& columns = plan.axes[plan.ndim - 1];
  const unsigned int row_tiles = (rows.length + kRows - 1) / kRows;
  const unsigned int column_tiles = (columns.length + kColumns - 1) / kColumns;
  unsigned int rest = blockIdx.x;
  const unsigned int row = rest % row_tiles * kRows;
  rest /= row_tiles;
  const unsigned int column = rest % column_tiles * kColumns;
  rest /= column_tiles;
  Tile<Item> tile;
  tile.source_step = columns.source_step;
  tile.target_step = rows.target_step;
  tile.source = reinterpret_cast<const Item*>(plan.source) + row + column * tile.source_step;
  tile.target = reinterpret_cast<Item*>(plan.target) + row * tile.target_step + column;
  tile.rows = rows.length - row;
  tile.columns = columns.length - column;
  for (int axis = static_cast<int>(plan.ndim) - 3; axis >= 0; --axis) {
    const unsigned int index = rest % plan.axes[axis].length;
    rest /= plan.axes[axis].length;
    tile.source += index * plan.axes[axis].source_step;
    tile.target += index * plan.axes[axis].target_step;
  }
  return tile;
}

enum { kLines = kCopyThreads / 32 };

// A tile through shared memory: read along rows, written along columns, both in full lines.
template <class Item, int kRows, int kColumns>
__device__ inline void MoveWholeTile(const Tile<Item>& tile, Item (*shared)[kRows + 1]) {
  const unsigned int lane = threadIdx.x % 32;
  const unsigned int line = threadIdx.x / 32;
#pragma unroll
  for (unsigned int c = line; c < kColumns; c += kLines) {
#pragma unroll
    for (unsigned int r = lane; r < kRows; r += 32) shared[c][r] = tile.source[r + c * tile.source_step];
  }
  __syncthreads();
#pragma unroll
  for (unsigned int r = line; r < kRows; r += kLines) {
#pragma unroll
    for (unsigned int c = lane; c < kColumns; c += 32) tile.target[r * tile.target_step + c] = shared[c][r];
  }
}

// The same for a tile at an edge.
template <class Item, int kRows, int kColumns>
__device__ inline void MoveTile(const Tile<Item>& tile, Item (*shared)[kRows + 1]) {
  const unsigned int lane = threadIdx.x % 32;
  const unsigned int line = threadIdx.x / 32;
  const unsigned int rows = tile.rows < kRows ? tile.rows : kRows;
  const unsigned int columns = tile.columns < kColumns ? tile.columns : kColumns;
#pragma unroll 1
  for (unsigned int c = line; c < columns; c += kLines) {
#pragma unroll 2
    for (unsigned int r = lane; r < rows; r += 32) shared[c][r] = tile.source[r + c * tile.source_step];
  }
  __syncthreads();
#pragma unroll 1
  for (unsigned int r = line; r < rows; r += kLines) {
#pragma unroll 2
    for (unsigned int c = lane; c < columns; c += 32) tile.target[r * tile.target_step + c] = shared[c][r];
  }
}

template <class Item, int kRows, int kColumns>
__device__ inline void TransposeCopy(const CopyPlan& plan) {
  __shared__ Item shared[kColumns][kRows + 1];
  const Tile<Item> tile = FindTile<Item, kRows, kColumns>(plan);
  if (tile.rows >= kRows && tile.columns >= kColumns) {
    MoveWholeTile<Item, kRows, kColumns>(tile, shared);
  } else {
    MoveTile<Item, kRows, kColumns>(tile, shared);
  }
}

// Items in words of four bytes: a square of them is turned in registers, squares through shared memory.
template <int kPack>
__device__ inline void TurnSquare(const unsigned int* in, unsigned int* out) {
  if (kPack == 2) {
    out[0] = __byte_perm(in[0], in[1], 0x5410);
    out[1] = __byte_perm(in[0], in[1], 0x7632);
    return;
  }
  const unsigned int low01 = __byte_perm(in[0], in[1], 0x5140);
  const unsigned int low23 = __byte_perm(in[2 % kPack], in[3 % kPack], 0x5140);
  const unsigned int high01 = __byte_perm(in[0], in[1], 0x7362);
  const unsigned int high23 = __byte_perm(in[2 % kPack], in[3 % kPack], 0x7362);
  out[0] = __byte_perm(low01, low23, 0x5410);
  out[1] = __byte_perm(low01, low23, 0x7632);
  out[2 % kPack] = __byte_perm(high01, high23, 0x5410);
  out[3 % kPack] = __byte_perm(high01, high23, 0x7632);
}

// For items of 1 and 2 bytes: whole tiles at addresses of whole words travel as words, all others as items.
template <class Item, int kRowWords, int kColumnWords>
__device__ inline void TransposeSmall(const CopyPlan& plan) {
  constexpr int kPack = 4 / sizeof(Item);
  constexpr int kRows = kRowWords * kPack;
  constexpr int kColumns = kColumnWords * kPack;
  __shared__ unsigned int shared[kPack][kColumnWords][kRowWords + 1];
  static_assert(sizeof(shared) >= sizeof(Item) * kColumns * (kRows + 1), "items fit where words do");
  const Tile<Item> tile = FindTile<Item, kRows, kColumns>(plan);
  const unsigned long long places = reinterpret_cast<unsigned long long>(tile.source) |
                                    reinterpret_cast<unsigned long long>(tile.target) |
                                    tile.source_step * sizeof(Item) | tile.target_step * sizeof(Item);
  if (tile.rows < kRows || tile.columns < kColumns || places % 4 != 0) {
    MoveTile<Item, kRows, kColumns>(tile, reinterpret_cast<Item(*)[kRows + 1]>(shared));
    return;
  }
  const unsigned int* source = reinterpret_cast<const unsigned int*>(tile.source);
  unsigned int* target = reinterpret_cast<unsigned int*>(tile.target);
  const long long source_step = tile.source_step / kPack;
  const long long target_step = tile.target_step / kPack;
  const unsigned int lane = threadIdx.x % 32;
  const unsigned int line = threadIdx.x / 32;
#pragma unroll
  for (unsigned int c = line; c < kColumnWords; c += kLines) {
#pragma unroll
    for (unsigned int r = lane; r < kRowWords; r += 32) {
      unsigned int in[kPack], out[kPack];
#pragma unroll
      for (int i = 0; i < kPack; ++i) in[i] = source[r + (c * kPack + i) * source_step];
      TurnSquare<kPack>(in, out);
#pragma unroll
      for (int i = 0; i < kPack; ++i) shared[i][c][r] = out[i];
    }
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kPack; ++i) {
#pragma unroll
    for (unsigned int r = line; r < kRowWords; r += kLines) {
#pragma unroll
      for (unsigned int c = lane; c < kColumnWords; c += 32) {
        target[(r * kPack + i) * target_step + c] = shared[i][c][r];
      }
    }
  }
}

#define DLPACK_KERNEL extern "C" __global__ void __launch_bounds__(kCopyThreads)

DLPACK_KERNEL strided_copy_1(const __grid_constant__ CopyPlan plan) { StridedCopy<unsigned char>(plan); }
DLPACK_KERNEL strided_copy_2(const __grid_constant__ CopyPlan plan) { StridedCopy<unsigned short>(plan); }
DLPACK_KERNEL strided_copy_4(const __grid_constant__ CopyPlan plan) { StridedCopy<unsigned int>(plan); }
DLPACK_KERNEL strided_copy_8(const __grid_constant__ CopyPlan plan) { StridedCopy<unsigned long long>(plan); }
DLPACK_KERNEL strided_copy_16(const __grid_constant__ CopyPlan plan) { StridedCopy<Quad>(plan); }

// Tiles as kTiles in copy.cc has them; small items in words.
DLPACK_KERNEL transpose_copy_1(const __grid_constant__ CopyPlan plan) { TransposeSmall<unsigned char, 64, 32>(plan); }
DLPACK_KERNEL transpose_copy_2(const __grid_constant__ CopyPlan plan) { TransposeSmall<unsigned short, 64, 64>(plan); }
DLPACK_KERNEL transpose_copy_4(const __grid_constant__ CopyPlan plan) { TransposeCopy<unsigned int, 128, 64>(plan); }
DLPACK_KERNEL transpose_copy_8(const __grid_constant__ CopyPlan plan) {
  TransposeCopy<unsigned long long, 64, 32>(plan);
}
DLPACK_KERNEL transpose_copy_16(const __grid_constant__ CopyPlan plan) { TransposeCopy<Quad, 32, 32>(plan); }
