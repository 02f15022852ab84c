// The parts that are simpler to write in Python: pickling of our types, handling of signals that Python code takes, and
// the end of the process.
#pragma once

#include "api.h"

namespace dlpack::python {

// Runs the prelude. `is_ours`: this addon started Python, so its signal module may be guarded. Once, after the types
// were made. False with an exception set. GIL held.
bool RunPrelude(bool is_ours);

// Lets executors finish, and runs the functions that Python code registered with atexit. Ends the process with the
// status if they take longer than this many milliseconds. Only the first call has an effect. Runs on the JavaScript
// thread that ends the process, without the GIL.
void RunExitFunctions(int status, uint32_t milliseconds);

}  // namespace dlpack::python
