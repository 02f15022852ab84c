// Requests garbage collections, for memory whose bytes the engine does not count. JavaScript thread.
#pragma once

#define NAPI_VERSION 8
#include <node_api.h>
#include <stdint.h>

namespace dlpack {

// The engine compares the total with its own limits at once, so the amount can be taken back. A large amount makes it
// collect at once. With a small amount it only begins to mark, which Deno does not continue while timers run.
inline void RequestCollection(napi_env env, int64_t amount) {
  int64_t total;
  napi_adjust_external_memory(env, amount, &total);
  napi_adjust_external_memory(env, -amount, &total);
}

}  // namespace dlpack
