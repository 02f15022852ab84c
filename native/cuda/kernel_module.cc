#include "kernel_module.h"

#include "../lock.h"

namespace dlpack::cuda {

static Lock kernels_lock;

Result LoadKernels(const char* ptx, const char* const* names, int count, Function* functions) {
  LockScope lock(&kernels_lock);
  if (functions[count - 1] != nullptr) return kSuccess;
  RelaxedScope relaxed;
  Module module = nullptr;
  Result result = driver.ModuleLoadData(&module, ptx);
  for (int i = 0; i < count && result == kSuccess; ++i) {
    result = driver.ModuleGetFunction(&functions[i], module, names[i]);
  }
  if (result != kSuccess) {
    functions[count - 1] = nullptr;
    if (module != nullptr) driver.ModuleUnload(module);  // the next request loads it again
  }
  return result;
}

}  // namespace dlpack::cuda
