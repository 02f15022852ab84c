// Runs one large piece of work on several threads. Any thread.
#pragma once

#include <stdint.h>

namespace dlpack {

static const int32_t kMaxThreads = 64;

// Runs `work` on up to `count` threads, including the calling thread, and returns when all have finished. The other
// threads come from a pool that is kept for the next call. Fewer threads may run if the system has no more, or if other
// tasks use them; `work` must divide itself among the threads that run. `thread` is below kMaxThreads. It is 0 for the
// caller, and always the same for a thread of the pool, so that the thread can process the memory that is in its
// caches.
void RunOnThreads(int32_t count, void (*work)(void* data, int32_t thread), void* data);

}  // namespace dlpack
