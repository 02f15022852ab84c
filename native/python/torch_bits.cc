#include "torch_bits.h"

#include <atomic>

#include "../platform/platform.h"
#include "calls.h"
#include "runtime.h"

namespace dlpack {
namespace python {

namespace {

const char kGradient[] = "Expected a tensor without gradient but it has requires_grad; call detach() first";
const char kConjugate[] = "Expected a tensor without conjugate bit but it has one; call resolve_conj() first";
const char kNegative[] =
    "Expected a tensor without negative bit but it has one, and its values would have the wrong sign; call "
    "resolve_neg() first";

// Reading the three bits through Python takes longer than the whole exchange, because is_neg() releases the GIL and
// takes it again. PyTorch exports functions that read them from a TensorImpl*, or from an at::Tensor, which is a
// pointer to a TensorImpl. The context of a managed tensor of PyTorch begins with an at::Tensor. This is verified in
// each process before it is used: the first tensor is compared with its `_cdata`. Every later tensor must have the same
// deleter and the same offset of the struct in its context.
struct Readers {
  bool (*requires_grad)(const void* impl);
  bool (*is_conj)(const void* tensor);
  bool (*is_neg)(const void* tensor);
};
Readers readers;
enum State { kUnknown, kTrusted, kMissing };
std::atomic<int> state{kUnknown};
ptrdiff_t trusted_offset;
void (*trusted_deleter)(DLManagedTensorVersioned*);

template <class Function>
bool Find(void* library, const char* name, Function* out) {
  *out = library == nullptr ? nullptr : reinterpret_cast<Function>(platform::FindSymbol(library, name));
  return *out != nullptr;
}

ptrdiff_t OffsetInContext(const DLManagedTensorVersioned* managed) {
  return reinterpret_cast<const char*>(managed) - static_cast<const char*>(managed->manager_ctx);
}

// Verifies this once, with a tensor that PyTorch has just exported.
State Probe(Object* object, const DLManagedTensorVersioned* managed) {
  void* tensors = platform::FindLoadedLibrary(DLPACK_LIBRARY("torch_cpu"), platform::Symbols::kLocal);
  void* core = platform::FindLoadedLibrary(DLPACK_LIBRARY("c10"), platform::Symbols::kLocal);
  const bool found = Find(tensors, "_ZN2at6native6is_negERKNS_6TensorE", &readers.is_neg) &&
                     Find(tensors, "_ZN2at6native7is_conjERKNS_6TensorE", &readers.is_conj) &&
                     Find(core, "_ZNK3c1010TensorImpl13requires_gradEv", &readers.requires_grad);
  Ref address(found ? api.PyObject_GetAttrString(object, "_cdata") : nullptr);
  void* impl = address ? api.PyLong_AsVoidPtr(address.get()) : nullptr;
  api.PyErr_Clear();
  const ptrdiff_t offset = OffsetInContext(managed);
  // The struct is a member of its context, near the start.
  if (impl == nullptr || offset < static_cast<ptrdiff_t>(sizeof(void*)) || offset > 256 ||
      *static_cast<void**>(managed->manager_ctx) != impl) {
    return kMissing;
  }
  trusted_offset = offset;
  trusted_deleter = managed->deleter;
  return kTrusted;
}

// Takes over the reference.
bool IsTrue(Object* value) {
  const bool is_true = value == api._Py_TrueStruct;
  if (value != nullptr) api.Py_DecRef(value);
  return is_true;
}

// The reason to refuse the tensor; NULL when there is none, or with an exception set.
const char* AskPython(Object* object, Object* is_neg) {
  Object* arguments[2] = {nullptr, object};
  if (IsTrue(api.PyObject_GetAttr(object, names.requires_grad))) return kGradient;
  if (!api.PyErr_Occurred() && IsTrue(api.PyObject_VectorcallMethod(names.is_conj, arguments + 1, 1, nullptr))) {
    return kConjugate;
  }
  if (!api.PyErr_Occurred() && IsTrue(CallVector(is_neg, arguments + 1, 1, nullptr))) return kNegative;
  return nullptr;
}

const char* AskReaders(const void* tensor) {
  if (readers.requires_grad(*static_cast<void* const*>(tensor))) return kGradient;
  if (readers.is_conj(tensor)) return kConjugate;
  return readers.is_neg(tensor) ? kNegative : nullptr;
}

}  // namespace

bool CheckTorchBits(Object* object, Object* is_neg, const DLManagedTensorVersioned* managed) {
  const char* problem;
  const bool has_context = managed != nullptr && managed->manager_ctx != nullptr;
  if (has_context && state.load(std::memory_order_acquire) == kUnknown) {
    state.store(Probe(object, managed), std::memory_order_release);
  }
  if (has_context && state.load(std::memory_order_acquire) == kTrusted && managed->deleter == trusted_deleter &&
      OffsetInContext(managed) == trusted_offset) {
    problem = AskReaders(managed->manager_ctx);
  } else {
    problem = AskPython(object, is_neg);
    if (problem == nullptr) return !api.PyErr_Occurred();
  }
  if (problem == nullptr) return true;
  api.PyErr_SetString(api.PyExc_BufferError, problem);
  return false;
}

}  // namespace python
}  // namespace dlpack
