// The watcher: one thread that waits for work on devices, so that no other thread has to wait.
#pragma once

#include "../devices.h"

namespace dlpack::cuda {

// Calls `done(argument)` on the watcher's thread once the event has happened, or can no longer happen because the
// device failed. The event must live until then; with `owns_event` it is destroyed before `done` is called. False when
// out of memory or threads. Any thread.
bool Watch(const Device* device, EventHandle event, bool owns_event, void (*done)(void* argument), void* argument);

// The same for the end of a capture, once the stream, which must live until then, is no longer captured into a graph.
bool WatchCapture(const Device* device, StreamHandle stream, void (*done)(void* argument), void* argument);

}  // namespace dlpack::cuda
