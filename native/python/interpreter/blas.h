// OpenBLAS, the linear algebra in the wheels of NumPy and SciPy, has threads of its own. When the process forks, as
// Node does to start a process, a handler of OpenBLAS ends these threads. If another thread computes with them at that
// moment, the handler or the computation waits forever. So OpenBLAS gets one thread, and the threads of our pool make
// calls run at the same time.
#pragma once

#include "api.h"

namespace dlpack::python {

// For the prelude: watch_loads(create_dynamic) returns a function that does the same, and lets OpenBLAS use one thread
// if the module that was loaded is the first that uses it. It changes nothing if the program has set
// OPENBLAS_NUM_THREADS. The module of PyTorch goes to torch_threads.h. GIL held.
Object* WatchLoads(Object*, Object* create_dynamic);

}  // namespace dlpack::python
