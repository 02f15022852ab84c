// Modules of kernels, compiled by the driver from PTX.
#ifndef DLPACK_NODE_CUDA_KERNEL_MODULE_H_
#define DLPACK_NODE_CUDA_KERNEL_MODULE_H_

#include "device.h"

namespace dlpack {
namespace cuda {

// Loads the named kernels into `functions` on first use; the last of them is NULL until then. Any thread; the context
// of the device that the functions belong to is current.
Result LoadKernels(const char* ptx, const char* const* names, int count, Function* functions);

}  // namespace cuda
}  // namespace dlpack

#endif  // DLPACK_NODE_CUDA_KERNEL_MODULE_H_
