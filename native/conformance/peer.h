// The peer of dlpack/conformance, which `npx dlpack conformance` sets beside an addon under test.
#pragma once

#define NAPI_VERSION 8
#include <node_api.h>

#include "../hidden.h"

namespace dlpack {

// conformancePeer(): an object with the functions that src/conformance/native/peer.ts declares. JavaScript thread.
DLPACK_HIDDEN napi_value ConformancePeer(napi_env env, napi_callback_info info);

}  // namespace dlpack
