// PyTorch's own threads. By default each call uses all cores, so that the calls of a server, which run on several
// threads of our pool, get in each other's way.
#pragma once

#include "api.h"

namespace dlpack::python {

// If the program has named the number of threads of the pool, PyTorch gets the cores that this leaves for each of them.
// It changes nothing if the program has set OMP_NUM_THREADS or MKL_NUM_THREADS. Called once, before the program can use
// PyTorch, so that torch.set_num_threads has the last word. `module` is torch._C. GIL held; leaves no exception set.
void ShareCores(Object* module);

}  // namespace dlpack::python
