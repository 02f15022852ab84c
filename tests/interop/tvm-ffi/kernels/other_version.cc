// A library with every required function but an unknown version. Its layouts may differ, so only the version may be
// read.
#include <stdlib.h>
#include <string.h>

#include "../../../../native/tvm_ffi/library.h"

#define DEFINE(name, result, arguments)                                                         \
  extern "C" __attribute__((visibility("default"))) void TVMFFI##name(TVMFFIVersion* version) { \
    if (strcmp(#name, "GetVersion") != 0) abort();                                              \
    *version = TVMFFIVersion{0, 2, 7};                                                          \
  }
DLPACK_TVM_FFI_SYMBOLS(DEFINE)
