// The copy kernels of a device.
#pragma once

#include "device.h"

namespace dlpack::cuda {

// Items of 1 << log2 bytes.
inline int LogSize(int64_t item) { return item == 1 ? 0 : item == 2 ? 1 : item == 4 ? 2 : item == 8 ? 3 : 4; }

// Rows and columns of a matrix that one block of transpose_copy moves; the same as in copy_kernels.cu. Measured on an
// H200: these reach nine tenths of the copy bandwidth; smaller tiles have too few requests in flight and reach half of
// it.
struct TileShape {
  uint32_t rows;
  uint32_t columns;
};
static const TileShape kTiles[kItemSizes] = {{256, 128}, {128, 128}, {128, 64}, {64, 32}, {32, 32}};

enum { kCopyThreads = 256, kItemsPerThread = 4 };

// Compiles the kernels for the device on first use. Any thread; the device's context is current.
Result LoadCopyKernels(Device* device);

}  // namespace dlpack::cuda
