// A thread of our own that nobody waits for.
#ifndef DLPACK_NODE_DETACHED_THREAD_H_
#define DLPACK_NODE_DETACHED_THREAD_H_

#include <stddef.h>

namespace dlpack {

// Runs `work` on a new thread that takes no signals: those belong to threads that the program knows of. 0 is the
// system's size of a stack. False when there is no thread to be had. Any thread.
bool StartDetachedThread(void* (*work)(void*), void* argument, size_t stack_size = 0);

}  // namespace dlpack

#endif  // DLPACK_NODE_DETACHED_THREAD_H_
