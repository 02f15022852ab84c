#include "torch_tensor.h"

#include <string.h>

#include "../../platform/platform.h"
#include "../objects/calls.h"

namespace dlpack::python {

namespace {

const char kGradient[] = "Expected a tensor without gradient but it has requires_grad; call detach() first";
const char kConjugate[] = "Expected a tensor without conjugate bit but it has one; call resolve_conj() first";
const char kNegative[] =
    "Expected a tensor without negative bit but it has one, and its values would have the wrong sign; call "
    "resolve_neg() first";

// Reading the three bits through Python takes longer than the whole exchange, because is_neg() releases the GIL and
// takes it again. PyTorch exports functions that read them from a TensorImpl*, or from an at::Tensor, which is a
// pointer to a TensorImpl. An object of a PyTorch class contains an at::Tensor after its header. This is verified for
// each class before it is used: the first tensor of the class is compared with its `_cdata`.
struct Readers {
  bool (*requires_grad)(const void* impl);
  bool (*is_conj)(const void* tensor);
  bool (*is_neg)(const void* tensor);
};
Readers readers;

// Functions of PyTorch's stable C interface, which take the address of an at::Tensor and return 0. They print an error
// that they catch, so the layout is read first: only a strided tensor has the other properties.
struct Shim {
  int (*get_layout)(const void* tensor, int32_t* layout);
  int (*get_device_type)(const void* tensor, int32_t* type);
  int (*get_dtype)(const void* tensor, int32_t* dtype);
  int (*get_dim)(const void* tensor, int64_t* ndim);
  int (*get_sizes)(const void* tensor, int64_t** sizes);
  int (*get_strides)(const void* tensor, int64_t** strides);
  int (*get_data_ptr)(const void* tensor, void** data);
};
Shim shim;
std::atomic<bool> has_shim;

enum : int32_t { kStridedLayout = 0, kCpu = 0, kCuda = 1 };  // c10::Layout, c10::DeviceType

// Several threads may run this at the same time. They find the same functions.
bool FindReaders() {
  using platform::Find;
  void* tensors = platform::FindLoadedLibrary(DLPACK_LIBRARY("torch_cpu"), platform::Symbols::kLocal);
  has_shim.store(Find(tensors, "aoti_torch_get_layout", &shim.get_layout) &&
                     Find(tensors, "aoti_torch_get_device_type", &shim.get_device_type) &&
                     Find(tensors, "aoti_torch_get_dtype", &shim.get_dtype) &&
                     Find(tensors, "aoti_torch_get_dim", &shim.get_dim) &&
                     Find(tensors, "aoti_torch_get_sizes", &shim.get_sizes) &&
                     Find(tensors, "aoti_torch_get_strides", &shim.get_strides) &&
                     Find(tensors, "aoti_torch_get_data_ptr", &shim.get_data_ptr),
                 std::memory_order_release);
  void* core = platform::FindLoadedLibrary(DLPACK_LIBRARY("c10"), platform::Symbols::kLocal);
  return Find(tensors, "_ZN2at6native6is_negERKNS_6TensorE", &readers.is_neg) &&
         Find(tensors, "_ZN2at6native7is_conjERKNS_6TensorE", &readers.is_conj) &&
         Find(core, "_ZNK3c1010TensorImpl13requires_gradEv", &readers.requires_grad);
}

// Bytes from the start of the object to its at::Tensor; kNoTensor when it is not where PyTorch puts it.
int32_t Probe(Object* object, Object* type) {
  const Ref size(api.PyObject_GetAttrString(type, "__basicsize__"));
  long long bytes = 0;
  ReadInteger(size.get(), &bytes);
  const Ref address(api.PyObject_GetAttrString(object, "_cdata"));
  const void* impl = address ? api.PyLong_AsVoidPtr(address.get()) : nullptr;
  api.PyErr_Clear();
  if (impl == nullptr || !FindReaders()) return kNoTensor;
  // A flag may come first, which takes a whole word.
  for (size_t at = api.head_size; at <= api.head_size + sizeof(void*); at += sizeof(void*)) {
    if (static_cast<long long>(at) + static_cast<long long>(sizeof(void*)) > bytes) break;
    if (*reinterpret_cast<void**>(reinterpret_cast<char*>(object) + at) == impl) return static_cast<int32_t>(at);
  }
  return kNoTensor;
}

// The at::Tensor in an object; NULL when its place is unknown.
const void* TensorIn(Object* object, TypeEntry* entry) {
  int32_t at = entry->tensor_at.load(std::memory_order_acquire);
  if (at == kUnprobed) {
    at = Probe(object, entry->type);
    entry->tensor_at.store(at, std::memory_order_release);
  }
  if (at == kNoTensor) return nullptr;
  const void* tensor = reinterpret_cast<char*>(object) + at;
  return *static_cast<void* const*>(tensor) == nullptr ? nullptr : tensor;
}

// Takes over the reference.
bool IsTrue(Object* value) { return Ref(value).get() == api._Py_TrueStruct; }

// The reason to refuse the tensor; NULL when there is none, or with an exception set.
const char* AskPython(Object* object, Object* is_neg) {
  if (IsTrue(api.PyObject_GetAttr(object, names.requires_grad))) return kGradient;
  if (!api.PyErr_Occurred() && IsTrue(api.PyObject_VectorcallMethod(names.is_conj, &object, 1, nullptr)))
    return kConjugate;
  if (!api.PyErr_Occurred() && IsTrue(CallWith(is_neg, object))) return kNegative;
  return nullptr;
}

const char* AskReaders(const void* tensor) {
  if (readers.requires_grad(*static_cast<void* const*>(tensor))) return kGradient;
  if (readers.is_conj(tensor)) return kConjugate;
  return readers.is_neg(tensor) ? kNegative : nullptr;
}

// The place in the entry for the dtype of a tensor; NULL for a dtype that PyTorch added later.
std::atomic<uint32_t>* DTypeOf(const void* tensor, TypeEntry* entry) {
  int32_t number = -1;
  if (shim.get_dtype(tensor, &number) != 0 || number < 0 || number >= kTorchDTypes) return nullptr;
  return &entry->dtypes[number];
}

}  // namespace

TorchMemory DescribeTorch(Object* object, TypeEntry* entry, DLTensor* out) {
  const void* tensor = has_shim.load(std::memory_order_acquire) ? TensorIn(object, entry) : nullptr;
  int32_t layout = -1;
  int32_t device = -1;
  if (tensor == nullptr || shim.get_layout(tensor, &layout) != 0 || layout != kStridedLayout ||
      shim.get_device_type(tensor, &device) != 0)
    return TorchMemory::kUnknown;
  if (device == kCuda) return TorchMemory::kDevice;
  const std::atomic<uint32_t>* known = DTypeOf(tensor, entry);
  const uint32_t dtype = known == nullptr ? 0 : known->load(std::memory_order_relaxed);
  int64_t ndim = 0;
  if (device != kCpu || dtype == 0 || shim.get_dim(tensor, &ndim) != 0 || shim.get_sizes(tensor, &out->shape) != 0 ||
      shim.get_strides(tensor, &out->strides) != 0 || shim.get_data_ptr(tensor, &out->data) != 0)
    return TorchMemory::kUnknown;
  memcpy(&out->dtype, &dtype, sizeof(dtype));
  out->device = DLDevice{kDLCPU, 0};
  out->ndim = static_cast<int32_t>(ndim);
  out->byte_offset = 0;
  return TorchMemory::kHost;
}

void LearnDType(Object* object, TypeEntry* entry, DLDataType dtype) {
  const void* tensor = has_shim.load(std::memory_order_acquire) ? TensorIn(object, entry) : nullptr;
  std::atomic<uint32_t>* known = tensor == nullptr ? nullptr : DTypeOf(tensor, entry);
  uint32_t packed;
  memcpy(&packed, &dtype, sizeof(packed));
  if (known != nullptr) known->store(packed, std::memory_order_relaxed);
}

bool IsPlainTorch(Object* object, TypeEntry* entry) {
  const void* tensor = TensorIn(object, entry);
  return tensor != nullptr && AskReaders(tensor) == nullptr;
}

bool CheckTorchBits(Object* object, TypeEntry* entry) {
  const void* tensor = TensorIn(object, entry);
  const char* problem = tensor == nullptr ? AskPython(object, entry->is_neg) : AskReaders(tensor);
  if (problem == nullptr) return tensor != nullptr || !api.PyErr_Occurred();
  return Raise(api.PyExc_BufferError, problem);
}

}  // namespace dlpack::python
