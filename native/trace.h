// Traces: the live exports for which JavaScript recorded where they were made (debug mode). Any thread.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace dlpack {

// The number of a new trace; 0 when out of memory, and the export then has no trace.
uint32_t BeginTrace(double place);

// 0 is allowed.
void EndTrace(uint32_t trace);

// Writes up to `capacity` places and returns how many exist.
size_t ListTraces(double* places, size_t capacity);

}  // namespace dlpack
