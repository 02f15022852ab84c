#include "trace.h"

#include <stdlib.h>

#include "lock.h"

namespace dlpack {

struct Trace {
  Trace* previous;
  Trace* next;
  double place;
};

static Trace* first;
static Lock list_lock;

Trace* BeginTrace(double place) {
  Trace* trace = static_cast<Trace*>(malloc(sizeof(Trace)));
  if (trace == nullptr) return nullptr;
  trace->previous = nullptr;
  trace->place = place;
  LockScope scope(&list_lock);
  trace->next = first;
  if (first != nullptr) first->previous = trace;
  first = trace;
  return trace;
}

void EndTrace(Trace* trace) {
  if (trace == nullptr) return;
  {
    LockScope scope(&list_lock);
    if (trace->previous == nullptr) {
      first = trace->next;
    } else {
      trace->previous->next = trace->next;
    }
    if (trace->next != nullptr) trace->next->previous = trace->previous;
  }
  free(trace);
}

size_t ListTraces(double* places, size_t capacity) {
  size_t count = 0;
  LockScope scope(&list_lock);
  for (Trace* trace = first; trace != nullptr; trace = trace->next) {
    if (count < capacity) places[count] = trace->place;
    ++count;
  }
  return count;
}

}  // namespace dlpack
