// The memory of the tensors of runs. ONNX Runtime does not notice if an output overlaps an input, or if two runs write
// to one tensor, and then computes wrong values. So runs with given outputs are compared here, by address.
#pragma once

#include "../memory/storage.h"
#include "failure.h"
#include "list.h"

namespace dlpack::onnxruntime {

// A tensor that a run reads, or an output that it was given.
struct UsedTensor {
  Storage* storage;  // held until the run has ended, so that the memory is not freed under it
  const char* start;
  size_t nbytes;
  const char* name;  // of the input or output; belongs to the session
  bool is_written;
};

// The tensors of a run. All zero bits: none.
struct UsedMemory {
  List<UsedTensor> tensors;
  uint32_t written_count;
  bool is_listed;
  UsedMemory* before;  // in the list of runs that have not ended
  UsedMemory* after;

  // Adds a reference to the storage; false when out of memory. JavaScript thread.
  bool Add(const UsedTensor& tensor);
  // Whether this address lies in the storage of one of them.
  bool Contain(const void* address) const;
  // Fails if a given output overlaps another tensor of its run, or of a listed run. Lists this run if `is_async`:
  // nothing starts on its thread before a synchronous run has ended.
  void Use(bool is_async, Failure* failure);
  // The run has ended. Any thread.
  void Release();
};

}  // namespace dlpack::onnxruntime
