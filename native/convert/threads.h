// Threads for one large piece of work. Any thread.
#ifndef DLPACK_NODE_CONVERT_THREADS_H_
#define DLPACK_NODE_CONVERT_THREADS_H_

#include <stdint.h>

namespace dlpack {

static const int32_t kMaxThreads = 64;

// Runs `work` on up to `count` threads, the calling one among them, and returns when all have ended. The others come
// from a crew that stays for the next time. Where the system gives fewer threads, or others have work for them, those
// have to do: the work shares itself out. `thread` is below kMaxThreads: 0 for the caller, and for a member of the crew
// the same every time, so that it can have the memory that is in its caches.
void RunOnThreads(int32_t count, void (*work)(void* data, int32_t thread), void* data);

}  // namespace dlpack

#endif  // DLPACK_NODE_CONVERT_THREADS_H_
