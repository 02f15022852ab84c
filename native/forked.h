// A process that Python forks (os.fork, multiprocessing) has a single thread and, on V8, no usable JavaScript heap.
// Python can continue in it, but JavaScript cannot.
#pragma once

#include "hidden.h"

namespace dlpack {

// True in a forked process. Written once, before the thread of that process runs other code.
DLPACK_HIDDEN extern bool is_forked;

// Installs the fork handler once. Any thread, any number of calls.
void WatchForks();

// Ends a forked process that would return to JavaScript, and prints the reason.
[[noreturn]] void LeaveForked();

}  // namespace dlpack
