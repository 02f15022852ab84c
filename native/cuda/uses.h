// Uses: the streams that have work on a piece of memory. Work on another stream is ordered after it, and whoever
// releases the memory last, on whatever thread, it goes back only when that work is done, and nobody waits for it.
#ifndef DLPACK_NODE_CUDA_USES_H_
#define DLPACK_NODE_CUDA_USES_H_

#include "../storage.h"
#include "streams.h"

namespace dlpack {
namespace cuda {

// Work that `stream` gets from now on starts after all that was noted on other streams. Any thread that holds a
// reference.
Result OrderAfterUses(Storage* storage, const StreamRef& stream);

// Remembers that work on the memory was queued on a stream, or is about to be. Any thread that holds a
// reference.
Result NoteUse(Storage* storage, const StreamRef& stream);

// A consumer gets the memory: what it queues on its stream starts after all that was noted, and is noted itself. The
// stream may be gone before the memory, and asking one that is gone ends the process: one that the legacy default
// stream is ordered with is not remembered, that is. Others have to live as long as the memory. Any thread that holds a
// reference.
Result Lend(Storage* storage, const StreamRef& stream);

// Remembers that a stream of ours waits for whoever made the data of foreign memory: work on others is ordered after
// it, and the release waits for nothing. Any thread that holds a reference.
Result NoteReady(Storage* storage, const StreamRef& stream);

}  // namespace cuda
}  // namespace dlpack

#endif  // DLPACK_NODE_CUDA_USES_H_
