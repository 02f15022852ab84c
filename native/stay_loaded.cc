#include "stay_loaded.h"

#if !defined(_WIN32)
#include <dlfcn.h>
#endif

namespace dlpack {

void StayLoaded() {
#if !defined(_WIN32)
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&StayLoaded), &info) != 0) dlopen(info.dli_fname, RTLD_NOW | RTLD_NODELETE);
#endif
}

}  // namespace dlpack
