// Traces: a list of the live exports for which JavaScript recorded where they were made (debug mode). Any thread.
#pragma once

#include <stddef.h>

namespace dlpack {

struct Trace;

// NULL when out of memory; the export then has no trace.
Trace* BeginTrace(double place);

// NULL is allowed.
void EndTrace(Trace* trace);

// Writes up to `capacity` places and returns how many exist.
size_t ListTraces(double* places, size_t capacity);

}  // namespace dlpack
