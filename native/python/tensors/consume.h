// Imports tensors from Python objects: through the exchange API of their type, then versioned capsules, then legacy
// capsules.
#pragma once

#include "../../exchange/managed_tensor.h"
#include "../../hidden.h"
#include "../values/cells.h"
#include "type_entry.h"

namespace dlpack::python {

// The consumer's request.
struct ConsumeOptions {
  int copy;  // -1: None, 0: False, 1: True
  bool has_device;
  int32_t device_type;
  int32_t device_id;
  int64_t stream;  // as the consumer named it; 0: our current stream
};

// Imports the tensor of an object, and takes over the reference to it. Nothing that may run JavaScript follows, except
// RenewSnapshot. False when it has none: when no exception is set, the status of the result tells
// what went wrong. JavaScript thread, GIL held.
bool ConsumeTensor(Objects* self, Object* object, const ConsumeOptions& options, TensorResult* result);

// A tensor that a thread of the pool imported, on its way to the JavaScript thread.
struct CarriedTensor {
  Storage* storage;  // NULL when it was refused: `status` has the reason, and `imported` the fields for the message
  Status status;
  Object* object;       // of device memory: the JavaScript thread imports it, because its streams have to wait
  CarriedTensor* next;  // in the list of delivered tensors
  Imported imported;
};

// Whether the object is an array of NumPy or a tensor of PyTorch that Consume can describe without the GIL: it reads
// their fields. False for the first tensors of a class and dtype of PyTorch, which teach where they are, and for all
// but host memory. GIL held, any thread; leaves no exception set.
bool CanDescribe(Object* object);

// Imports the tensor of an object, and takes over the reference to it. False with an exception set. Any thread, GIL
// held.
bool ImportAnywhere(Object* object, CarriedTensor* out);

// consume(): imports the tensor of the object of a ConsumeRequest. Returns the exception, if there is one. Does not
// wait for the GIL if the object has a spare reference and the request asks for nothing special. JavaScript thread.
napi_value Consume(napi_env env, napi_callback_info info);

// The `destroy` of a storage whose owner is a Python object: drops the object. Any thread, and without waiting for the
// GIL in a finalizer.
DLPACK_HIDDEN void DropOwner(Storage* self);

}  // namespace dlpack::python
