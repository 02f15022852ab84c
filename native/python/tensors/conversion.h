// Converts JavaScript tensors into objects of Python classes.
#pragma once

#include "consume.h"

namespace dlpack::python {

// convert(): makes the object of a ConversionRequest. Returns the exception, if there is one. JavaScript thread.
napi_value Convert(napi_env env, napi_callback_info info);

// converters.cc: converters are from_dlpack of NumPy, PyTorch and CuPy. A call with one tensor need not run the
// function, because native code makes the same object faster. A converter is recognised by its identity, so a function
// that a program put in its place is called as it is.

// The number of a converter, below kConverters; -1 for other functions. May run Python code. GIL held; leaves no
// exception set.
int NumberOfConverter(Object* function);

// The class of the objects that a converter makes; NULL for functions without a number. GIL held.
const TypeEntry* FindConverter(Object* function);

}  // namespace dlpack::python
