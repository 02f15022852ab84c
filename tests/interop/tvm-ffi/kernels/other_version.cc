// Has every function that is looked for, and a version whose layouts may differ: nothing but the version may be asked.
#include <stdlib.h>
#include <string.h>

#include "../../../../native/tvm_ffi/library.h"

#define DEFINE(name, result, arguments)                                                         \
  extern "C" __attribute__((visibility("default"))) void TVMFFI##name(TVMFFIVersion* version) { \
    if (strcmp(#name, "GetVersion") != 0) abort();                                              \
    *version = TVMFFIVersion{0, 2, 7};                                                          \
  }
DLPACK_TVM_FFI_SYMBOLS(DEFINE)
