// Converts JavaScript tensors into objects of Python classes.
#pragma once

#include "values.h"

namespace dlpack::python {

// The tensor of a request as an object of the target. A new reference; or NULL with an exception set, or with an
// outcome: kMustCopy for a class that needs a copy, kDeclined for a converter that has to be called. JavaScript thread,
// GIL held.
Object* ConvertTensor(Objects* self, ConversionRequest* request);

}  // namespace dlpack::python
