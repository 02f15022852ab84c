#include "copy_kernels.h"

#include "../platform/platform.h"
#include "kernel_module.h"
#if DLPACK_HAS_CUDA && __has_include("copy_kernels_ptx.h")
#include "copy_kernels_ptx.h"
#else
static const char kCopyKernelsPtx[] = "";
#endif

namespace dlpack::cuda {

// In the order of Device::copies.
static const char* const kNames[2 * kItemSizes] = {
    "strided_copy_1",   "strided_copy_2",   "strided_copy_4",   "strided_copy_8",   "strided_copy_16",
    "transpose_copy_1", "transpose_copy_2", "transpose_copy_4", "transpose_copy_8", "transpose_copy_16"};

Result LoadCopyKernels(Device* device) { return LoadKernels(kCopyKernelsPtx, kNames, 2 * kItemSizes, device->copies); }

}  // namespace dlpack::cuda
