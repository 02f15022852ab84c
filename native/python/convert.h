// Converts JavaScript tensors into objects of Python classes.
#pragma once

#include "consume.h"
#include "values.h"

namespace dlpack::python {

// The tensor of a request as an object of the target. A new reference; or NULL with an exception set, or with an
// outcome: kMustCopy for a class that needs a copy, kDeclined for a converter that has to be called. JavaScript thread,
// GIL held.
Object* ConvertTensor(Objects* self, ConversionRequest* request);

// converters.cc: converters are from_dlpack of NumPy, PyTorch and CuPy. A call with one tensor need not run the
// function, because native code makes the same object faster. A converter is recognised by its identity, so a function
// that a program put in its place is called as it is.

// The number of a converter, below kConverters; -1 for other functions. May run Python code. GIL held; leaves no
// exception set.
int NumberOfConverter(Object* function);

// The class of the objects that a function makes which has a number; NULL for other functions. GIL held.
const TypeEntry* FindConverter(Object* function);

}  // namespace dlpack::python
