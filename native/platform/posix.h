// For the files of Linux and macOS in this folder.
#ifndef DLPACK_NODE_PLATFORM_POSIX_H_
#define DLPACK_NODE_PLATFORM_POSIX_H_

namespace dlpack {
namespace platform {

// The name of an errno value, as platform.h promises it.
const char* NameOf(int problem);

}  // namespace platform
}  // namespace dlpack

#endif  // DLPACK_NODE_PLATFORM_POSIX_H_
