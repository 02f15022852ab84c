// Releases of linked objects without recursion.
#pragma once

#include "../../abi/tvm_ffi_abi.h"

namespace dlpack::tvm_ffi {

// Makes the release of a container or error use a bounded part of the stack: the library releases what an object holds
// recursively, and a program can link more objects than any stack has room for. Does nothing to an object that others
// hold, too, because they may read its deleter. JavaScript thread; the release itself runs on any thread.
void ReleaseFlat(TVMFFIObject* object);

}  // namespace dlpack::tvm_ffi
