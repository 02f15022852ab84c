#include "copy_kernels.h"

#include <stdio.h>

#include "../lock.h"
#include "copy_kernels_ptx.h"

namespace dlpack {
namespace cuda {

static Lock kernels_lock;

Result LoadCopyKernels(Device* device) {
  LockScope lock(&kernels_lock);
  if (device->transpose_copy[kItemSizes - 1] != nullptr) return kSuccess;
  RelaxedScope relaxed;
  Module module = nullptr;
  Result result = driver.ModuleLoadData(&module, kCopyKernelsPtx);
  for (int i = 0; i < kItemSizes && result == kSuccess; ++i) {
    char name[32];
    snprintf(name, sizeof(name), "strided_copy_%d", 1 << i);
    result = driver.ModuleGetFunction(&device->strided_copy[i], module, name);
    if (result != kSuccess) break;
    snprintf(name, sizeof(name), "transpose_copy_%d", 1 << i);
    result = driver.ModuleGetFunction(&device->transpose_copy[i], module, name);
  }
  if (result != kSuccess) device->transpose_copy[kItemSizes - 1] = nullptr;
  return result;
}

}  // namespace cuda
}  // namespace dlpack
