// Python objects into tensors: the exchange API of their type, then versioned, then legacy capsules.
#ifndef DLPACK_NODE_PYTHON_CONSUME_H_
#define DLPACK_NODE_PYTHON_CONSUME_H_

#include "../descriptor.h"
#include "../storage.h"
#include "../tensor_signature.h"
#include "api.h"

namespace dlpack {
namespace python {

// What the consumer asks for.
struct ConsumeOptions {
  int copy;  // -1: None, 0: False, 1: True
  bool has_device;
  int32_t device_type;
  int32_t device_id;
  int64_t stream;  // as the consumer named it; 0: our current one
};

// The tensor of an object, which the result owns. NULL with the reason in `status`, or with a Python exception set and
// `status` kOk. `last` as in managed_tensor.h. GIL held.
Storage* ConsumeObject(Object* object, const ConsumeOptions& options, Descriptor* descriptor, Status* status,
                       TensorSignature* last);

// The table of a type through its chain of older versions, or NULL. Remembered for each type. GIL held.
struct TypeEntry {
  Object* type;
  ::DLPackExchangeAPI* api;
  bool is_immutable;    // its tensors are shared read-only
  bool is_copy_wrong;   // its copies are not asked for
  bool is_host;         // never on a device
  bool is_numpy;        // numpy.ndarray, which numpy_array.h makes
  bool is_cupy;         // cupy.ndarray, which cupy_array.h makes
  bool is_torch;        // has requires_grad, is_conj and is_neg, which the table does not look at
  Object* is_neg;       // the method, unbound
  Object* from_dlpack;  // of the module of the type; NULL until somebody needs it
};
TypeEntry* LookUpType(Object* type);

// The same for a type that was looked up before, NULL for anything else.
TypeEntry* FindType(Object* type);

}  // namespace python
}  // namespace dlpack

#endif  // DLPACK_NODE_PYTHON_CONSUME_H_
