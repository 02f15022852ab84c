// NumPy arrays over our tensors, made with NumPy's own C API.
#pragma once

#include "../../exchange/descriptor.h"
#include "../../memory/storage.h"
#include "../interpreter/api.h"

namespace dlpack::python {

// Whether a class is numpy.ndarray, from a version of NumPy whose C API is known here. GIL held.
bool IsNumPyArray(Object* type);

// Whether NumPy has the dtype and can reach the memory.
bool FitsNumPy(const Layout& layout);

// Whether NumPy uses versioned capsules, as it does since 2.1. Then np.from_dlpack makes the array that NewNumPyArray
// makes, and array.__dlpack__ describes what ReadNumPyArray reads. False until IsNumPyArray was true.
bool IsVersionedNumPy();

// A NumPy array over the memory. Requires that `IsNumPyArray` and `FitsNumPy` were true. np.from_dlpack takes three
// times as long for the same array, because it needs a managed tensor, two capsules and a call with keywords. The array
// of a copy, whose writes JavaScript would not see, is read-only. GIL held; NULL with an exception set.
Object* NewNumPyArray(const Descriptor& descriptor, Storage* storage, bool is_copy = false);

// Reads the tensor of an array, whose class is numpy.ndarray itself, without a capsule. `strides` has room for 32 axes.
// The shape stays in the array. False for an array that only NumPy's own code can export or refuse: an unusual dtype,
// byte order or stride, misaligned or no elements. GIL held.
bool ReadNumPyArray(Object* array, DLTensor* tensor, int64_t* strides, uint64_t* flags);

}  // namespace dlpack::python
