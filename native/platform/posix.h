// For the files of Linux and macOS in this folder.
#pragma once

#include <stdint.h>

namespace dlpack::platform {

// The name of an errno value, as platform.h promises it.
const char* NameOf(int problem);

// Maps the first bytes of a file into `data`, which gets an address even if there are no bytes. NULL, or the name of
// the error.
const char* MapDescriptor(int file, uint64_t nbytes, bool is_writable, int flags, void** data);

}  // namespace dlpack::platform
