// Modules of kernels, compiled by the driver from PTX.
#pragma once

#include "device.h"

namespace dlpack::cuda {

// Loads the named kernels into `functions` on first use; the last of them is NULL until then. Any thread; the context
// of the device that the functions belong to is current.
Result LoadKernels(const char* ptx, const char* const* names, int count, Function* functions);

}  // namespace dlpack::cuda
