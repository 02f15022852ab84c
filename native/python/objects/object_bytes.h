// What the garbage collector of JavaScript is told about a Python object.
#pragma once

#include "../../exchange/descriptor.h"
#include "../interpreter/api.h"

namespace dlpack::python {

// For an object of unknown size, so that many of them cause a collection, too.
static const int64_t kObjectFloor = 4096;

// The bytes of an array of NumPy or a tensor of PyTorch, without repetitions and at most 1 TiB, and the floor for any
// other object. GIL held, no exception set.
int64_t BytesBehind(Object* object);

// The layout of such an array or tensor; false for any other object. GIL held, no exception set.
bool DescribeObject(Object* object, Layout* layout);

}  // namespace dlpack::python
