// Release queue: how any thread releases memory that JavaScript owns. The last release of such a Storage puts its
// number into the queue and wakes the environment, which then drops the JavaScript object that kept the memory alive.
//
// The queue outlives its environment. The JavaScript objects do not, so a number that arrives after the end of the
// environment is dropped.
#pragma once

#define NAPI_VERSION 8
#include <node_api.h>
#include <stdint.h>

#include "storage.h"

namespace dlpack {

struct ReleaseQueue;

// `on_release` is a JavaScript function that takes a number. NULL on failure. JavaScript thread.
ReleaseQueue* CreateReleaseQueue(napi_env env, napi_value on_release);

// Hands the numbers that wait to `on_release` now, instead of in the next turn of the event loop. JavaScript thread.
void RunReleased(ReleaseQueue* queue, napi_env env);

// Tells JavaScript to watch the kept blocks, see kept_blocks.h. Other numbers are larger.
static const uint64_t kWatchBlocks = 0;

// Hands a number to `on_release` of any environment that has not ended, and returns its queue; NULL when there is none.
// Any thread.
ReleaseQueue* PostToAnyQueue(uint64_t id);

// A Storage over memory that JavaScript keeps alive under `id` until the number is handed to `on_release`. `is_new`:
// the memory of a new tensor, whose bytes wait for the garbage collector from then on. NULL when out of memory. Any
// thread.
Storage* WrapQueued(ReleaseQueue* queue, uint64_t id, void* data, uint64_t nbytes, bool is_new = false);

// The number under which JavaScript keeps the memory of a storage for this queue; 0 for other storages. Any thread.
uint64_t QueuedId(const Storage* storage, const ReleaseQueue* queue);

}  // namespace dlpack
