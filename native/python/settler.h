// Settlers: Python callables that settle a JavaScript promise. A future that JavaScript waits for keeps one and calls
// it when it is done, on any thread. No thread waits meanwhile.
#pragma once

#include "channel.h"

namespace dlpack::python {

// makeSettler(number): the handle of a callable `settle(failed, value)` for the promise with this number; 0 when out of
// memory. Only its first call has an effect. If Python drops it without a call, the promise is rejected. The process
// stays alive until then. JavaScript thread.
napi_value MakeSettler(napi_env env, napi_callback_info info);

}  // namespace dlpack::python
