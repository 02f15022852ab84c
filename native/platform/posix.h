// For the files of Linux and macOS in this folder.
#pragma once

namespace dlpack::platform {

// The name of an errno value, as platform.h promises it.
const char* NameOf(int problem);

}  // namespace dlpack::platform
