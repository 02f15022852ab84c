#include "torch_threads.h"

#include <stdlib.h>

#include "../../platform/platform.h"
#include "../objects/calls.h"
#include "../threads/pool.h"

namespace dlpack::python {

void ShareCores(Object* module) {
  const uint32_t calls = NamedPoolLimit();
  if (calls == 0 || getenv("OMP_NUM_THREADS") != nullptr || getenv("MKL_NUM_THREADS") != nullptr) return;
  const uint32_t each = platform::CountProcessors() / calls;
  // PyTorch keeps one number for the process, and each thread takes it over when it first computes in parallel.
  const Ref set_num_threads(api.PyObject_GetAttrString(module, "set_num_threads"));
  const Ref number(set_num_threads ? api.PyLong_FromLongLong(each > 1 ? each : 1) : nullptr);
  Ref(number ? CallWith(set_num_threads.get(), number.get()) : nullptr).reset(nullptr);
  api.PyErr_Clear();
}

}  // namespace dlpack::python
