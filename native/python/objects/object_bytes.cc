#include "object_bytes.h"

#include <string.h>

#include "../../exchange/descriptor.h"
#include "../tensors/consume.h"
#include "../tensors/numpy_array.h"

namespace dlpack::python {

// Views that use memory several times can have any size, and sums of sizes must not overflow.
static const int64_t kMostBytes = int64_t{1} << 40;

// The field tp_name, the first one after the head and the size of a type object in every version of CPython.
static const char* NameOf(Object* type) {
  return *reinterpret_cast<const char**>(reinterpret_cast<char*>(type) + api.head_size + sizeof(ptrdiff_t));
}

// The description of an array of NumPy or a tensor of PyTorch, with room for its strides; false for other objects.
static bool DescribeKnownObject(Object* object, DLTensor* tensor, int64_t strides[32]) {
  Object* type = TypeOf(object);
  const char* name = NameOf(type);
  // Other types are not looked up, because the entry of a type stays for ever.
  if (strcmp(name, "numpy.ndarray") != 0 && strcmp(name, "Tensor") != 0) return false;
  const TypeEntry* entry = LookUpType(type);
  if (entry == nullptr) {
    api.PyErr_Clear();
    return false;
  }
  uint64_t flags;
  bool is_read = entry->is_numpy && ReadNumPyArray(object, tensor, strides, &flags);
  if (entry->is_torch && entry->api != nullptr && entry->api->dltensor_from_py_object_no_sync != nullptr) {
    is_read = entry->api->dltensor_from_py_object_no_sync(object, tensor) == 0;
    if (!is_read) api.PyErr_Clear();
  }
  return is_read;
}

bool DescribeObject(Object* object, Layout* layout) {
  DLTensor tensor;
  int64_t strides[32];
  return DescribeKnownObject(object, &tensor, strides) && DescribeLayout(tensor, 0, layout) == kOk;
}

int64_t BytesBehind(Object* object) {
  DLTensor tensor;
  int64_t strides[32];
  if (!DescribeKnownObject(object, &tensor, strides)) return kObjectFloor;
  int64_t bytes = (int64_t{tensor.dtype.bits} * tensor.dtype.lanes + 7) / 8;
  for (int32_t i = 0; i < tensor.ndim; ++i) {
    const bool is_repeated = tensor.shape[i] > 0 && tensor.strides != nullptr && tensor.strides[i] == 0;
    if (!is_repeated && __builtin_mul_overflow(bytes, tensor.shape[i], &bytes)) return kMostBytes;
  }
  return bytes < kObjectFloor ? kObjectFloor : bytes < kMostBytes ? bytes : kMostBytes;
}

}  // namespace dlpack::python
