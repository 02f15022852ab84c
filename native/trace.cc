#include "trace.h"

#include "lock.h"
#include "memory/handle_table.h"

namespace dlpack {

static HandleTable<double> traces;
static Lock traces_lock;

uint32_t BeginTrace(double place) {
  LockScope scope(&traces_lock);
  return traces.Add(place);
}

void EndTrace(uint32_t trace) {
  if (trace == 0) return;
  LockScope scope(&traces_lock);
  double place;
  traces.Remove(trace, &place);
}

size_t ListTraces(double* places, size_t capacity) {
  size_t count = 0;
  LockScope scope(&traces_lock);
  for (uint32_t trace = 1; trace < traces.capacity; ++trace) {
    const double* place = traces.Find(trace);
    if (place == nullptr) continue;
    if (count < capacity) places[count] = *place;
    ++count;
  }
  return count;
}

}  // namespace dlpack
