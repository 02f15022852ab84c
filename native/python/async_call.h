// Promises of JavaScript that Python settles: by an asynchronous call on a thread of the pool, or by a settler.
#pragma once

#include "channel.h"

namespace dlpack::python {

// A new call for the promise with this number, without anything to run; NULL when out of memory. Any thread.
AsyncCall* NewCall(Channel* channel, uint32_t number);

// Frees a call that is not in the list. Any thread, no GIL needed.
void FreeCall(AsyncCall* call);

// Adds a call to the list of calls that JavaScript waits for, which keeps the process alive. JavaScript thread.
void ListCall(AsyncCall* call);

// The outcome of a call: a value, whose reference this takes over, or the current exception. Any thread, GIL held.
void CarryResult(AsyncCall* call, Object* value);
void CarryRaised(AsyncCall* call);

// Sends the outcome to JavaScript and takes over the call. Any thread.
void PostCall(AsyncCall* call);

}  // namespace dlpack::python
