// The watcher: one thread that waits for work on devices to be done, so that nobody else has to.
#ifndef DLPACK_NODE_CUDA_WATCHER_H_
#define DLPACK_NODE_CUDA_WATCHER_H_

#include "device.h"

namespace dlpack {
namespace cuda {

// Calls `done(argument)` on the watcher's thread once the event has happened, or can happen no more because the device
// failed. The event lives until then; whether it ends there is for `done` to say. False, when out of memory or threads.
// Any thread.
bool Watch(const Device* device, EventHandle event, void (*done)(void* argument), void* argument);

// The same, for an event that is destroyed before `done` is called.
bool WatchAndDestroy(const Device* device, EventHandle event, void (*done)(void* argument), void* argument);

// Calls `done(argument)` on the watcher's thread once a stream, which must live until then, is captured into a graph no
// more.
bool WatchCapture(const Device* device, StreamHandle stream, void (*done)(void* argument), void* argument);

}  // namespace cuda
}  // namespace dlpack

#endif  // DLPACK_NODE_CUDA_WATCHER_H_
