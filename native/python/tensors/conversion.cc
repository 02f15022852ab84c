#include "conversion.h"

#include <atomic>

#include "../../forked.h"
#include "../calls/operation_scope.h"
#include "../interpreter/prelude.h"
#include "../threads/channel.h"
#include "array_interface.h"
#include "device_exchange.h"
#include "numpy_array.h"

namespace dlpack::python {

namespace {

// A table takes a managed tensor over even when it fails, and may delete it on any thread at any time. PyTorch 2.13
// does not take it over when it refuses the dtype. A deleter that is installed only during the call detects this.
// Meanwhile the context of the managed tensor is the Handover, and otherwise the managed tensor itself.
struct Handover {
  void (*deleter)(DLManagedTensorVersioned*);
  bool is_deleted;
};

void DeleteDuringHandover(DLManagedTensorVersioned* managed) {
  if (managed->manager_ctx == managed) return managed->deleter(managed);  // a consumer has copied this pointer
  Handover* current = static_cast<Handover*>(managed->manager_ctx);
  current->is_deleted = true;
  current->deleter(managed);
}

// Returns the object, or NULL with an exception set. Takes over the managed tensor in both cases: dlpack.h says that
// the table steals its ownership, with no exception for failures, and deleting what a table has taken over would free
// it twice. A table that fails without taking it over leaks it.
Object* HandToTable(const DLPackExchangeAPI& table, DLManagedTensorVersioned* managed) {
  void* object = nullptr;
  return table.managed_tensor_to_py_object_no_sync(managed, &object) == 0 ? static_cast<Object*>(object) : nullptr;
}

// As above. PyTorch deletes a tensor that it does not keep during the call and on this thread, which the Handover on
// the stack relies on.
Object* HandToTorch(const DLPackExchangeAPI& table, DLManagedTensorVersioned* managed) {
  Handover current = {managed->deleter, false};
  managed->deleter = DeleteDuringHandover;
  managed->manager_ctx = &current;
  void* object = nullptr;
  const bool good = table.managed_tensor_to_py_object_no_sync(managed, &object) == 0;
  if (!current.is_deleted) {
    managed->deleter = current.deleter;
    managed->manager_ctx = managed;
  }
  if (good) return static_cast<Object*>(object);
  if (!current.is_deleted) DeleteManaged(managed);  // our own deleter, which runs no Python code
  return nullptr;
}

// A table does not synchronise, so the memory must be ready for what its library queues on its current stream from now
// on. False, without an exception, when that stream is unknown; then __dlpack__ is called with a stream.
bool OfferToTable(const Descriptor& descriptor, Storage* storage, const DLPackExchangeAPI& table) {
  const DLDevice device = descriptor.layout->device;
  if (device.device_type == kDLCPU) return true;
  if (!cuda::IsLoaded() || !cuda::IsCudaDevice(device.device_type) || table.current_work_stream == nullptr)
    return false;
  void* stream = nullptr;
  const auto type = static_cast<DLDeviceType>(device.device_type);
  const bool offered = table.current_work_stream(type, device.device_id, &stream) == 0 &&
                       HandOver(storage, device, cuda::Normalize(stream));
  if (!offered) api.PyErr_Clear();
  return offered;
}

// Converts through the table of the class, without running Python code.
Object* ConvertByTable(const TypeEntry& entry, const Descriptor& descriptor, Storage* storage, Outcome* outcome) {
  // Libraries ignore the read-only flag when they import through a table, and PyTorch up to 2.13 ends the process when
  // it meets a negative stride (pytorch#188047).
  const Layout& layout = *descriptor.layout;
  bool must_copy = (layout.flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0 && entry.api != ExchangeApi();
  for (int32_t i = 0; i < layout.ndim && entry.is_torch; ++i) must_copy |= layout.strides[i] < 0;
  if (must_copy) {
    outcome->result_kind = kMustCopy;
    return nullptr;
  }
  ThreadCache* thread = this_thread;
  DLManagedTensorVersioned* managed = ExportChecked<DLManagedTensorVersioned>(descriptor, storage, thread);
  if (managed == nullptr) return Raise(api.PyExc_BufferError, "Out of memory for a managed tensor");
  RetainStorage(storage, thread);
  Ref result(entry.is_torch ? HandToTorch(*entry.api, managed) : HandToTable(*entry.api, managed));
  if (!result || TypeOf(result.get()) == entry.type || api.PyType_IsSubtype(TypeOf(result.get()), entry.type))
    return result.take();
  return Raise(api.PyExc_TypeError,
               "Expected a class that its exchange table makes objects of, not one derived from it");
}

Object* ConvertByFunction(TypeEntry* entry, Object* tensor, bool may_copy) {
  if (entry->from_dlpack == nullptr) entry->from_dlpack = CallPrelude("find_from_dlpack", entry->type);
  if (entry->from_dlpack == nullptr) return nullptr;
  Object* arguments[3] = {nullptr, tensor, api._Py_FalseStruct};
  return CallVector(entry->from_dlpack, arguments + 1, 1, may_copy ? nullptr : names.copy_tuple);
}

// `may_copy`: see ConversionRequest.
Object* ConvertTo(TypeEntry* entry, const Descriptor& descriptor, Storage* storage, uint32_t may_copy,
                  Outcome* outcome) {
  const bool is_copy = may_copy == 2;
  if (entry->api != nullptr && OfferToTable(descriptor, storage, *entry->api)) {
    Ref result(ConvertByTable(*entry, descriptor, storage, outcome));
    // A table has no flag that says that a write is lost. Last, because this runs Python code.
    const bool is_told = result.get() == nullptr || !is_copy || entry->api == ExchangeApi() || WarnOfCopy();
    return is_told ? result.take() : nullptr;
  }
  if (entry->is_numpy && FitsNumPy(*descriptor.layout)) return NewNumPyArray(descriptor, storage, is_copy);
  // What library code takes, and may keep.
  Ref tensor(NewTensor(descriptor, storage, is_copy));
  if (!tensor) return nullptr;
  if (entry->is_cupy && cuda::IsLoaded() && FitsCuPy(tensor.get())) {
    Object* array = NewCuPyArray(tensor.get());
    if (array != nullptr) return array;
    api.PyErr_Clear();  // an unknown version of CuPy has from_dlpack as well
  }
  return ConvertByFunction(entry, tensor.get(), may_copy != 0);
}

// The object, or NULL, perhaps with an exception or another outcome, when the class's from_dlpack has to be called.
Object* ConvertDirectly(const TypeEntry& entry, const Descriptor& descriptor, Storage* storage, Outcome* outcome) {
  if (entry.api != nullptr) {
    return OfferToTable(descriptor, storage, *entry.api) ? ConvertByTable(entry, descriptor, storage, outcome)
                                                         : nullptr;
  }
  if (entry.is_numpy) return FitsNumPy(*descriptor.layout) ? NewNumPyArray(descriptor, storage) : nullptr;
  if (!entry.is_cupy || !cuda::IsLoaded()) return nullptr;
  Ref tensor(NewTensor(descriptor, storage));
  return tensor && FitsCuPy(tensor.get()) ? NewCuPyArray(tensor.get()) : nullptr;
}

// The object that the from_dlpack of the class would make; or NULL, without an exception, and the outcome kDeclined.
Object* ServeConverter(const TypeEntry& entry, const Descriptor& descriptor, Storage* storage, Outcome* outcome) {
  Object* result = ConvertDirectly(entry, descriptor, storage, outcome);
  if (result != nullptr) return result;
  api.PyErr_Clear();  // the function raises its own exception
  outcome->result_kind = kDeclined;
  return nullptr;
}

// The tensor of a request as an object of the target. A new reference; or NULL with an exception set, or with an
// outcome: kMustCopy for a class that needs a copy, kDeclined for a converter that has to be called. JavaScript holds
// the target and the tensor until the request ends (src/python/calls/held.ts). JavaScript thread, GIL held.
Object* ConvertTensor(Objects* self, ConversionRequest* request, const Descriptor& descriptor) {
  Outcome* outcome = reinterpret_cast<Outcome*>(request);
  Object* held = GetObject(self, request->target);
  if (held == nullptr) return RaiseReleased(kHandle);
  Storage* storage = GetHeld(self->instance, request->tensor.handle);
  if (storage == nullptr) return RaiseReleased(kTensor);
  const TypeEntry* converter = FindConverter(held);
  if (converter != nullptr) return ServeConverter(*converter, descriptor, storage, outcome);
  const uint32_t may_copy = request->may_copy;
  TypeEntry* entry = FindType(held);
  if (entry != nullptr) return ConvertTo(entry, descriptor, storage, may_copy, outcome);
  if (!api.PyType_IsSubtype(TypeOf(held), api.PyType_Type)) {
    return Raise(api.PyExc_TypeError, "Expected a class of tensors, such as torch.Tensor or numpy.ndarray");
  }
  entry = LookUpType(held);
  if (entry == nullptr) return Raise(api.PyExc_RuntimeError, "Out of memory for a class");
  return ConvertTo(entry, descriptor, storage, may_copy, outcome);
}

}  // namespace

napi_value Convert(napi_env env, napi_callback_info info) {
  Objects* self = ObjectsOf(env, info);
  ConversionRequest* request = MessageOf<ConversionRequest>(self->instance);
  Outcome* outcome = reinterpret_cast<Outcome*>(request);
  request->failed = 0;
  LayoutRoom room;
  Descriptor tensor;
  const Storage* storage = GetHeld(self->instance, request->tensor.handle);
  const bool is_sent =
      storage != nullptr && ReadTensor(self->instance, request->tensor, storage->nbytes, &room, &tensor) == kOk;
  OperationScope scope(self);
  Object* result = is_sent ? ConvertTensor(self, request, tensor) : RaiseReleased(kTensor);
  if (is_forked) LeaveForked();
  if (self->snapshot != nullptr) RenewSnapshot(self);
  if (result != nullptr) {
    HoldResult(self, result, outcome);
    return nullptr;
  }
  return api.PyErr_Occurred() ? TakeException(env, self, outcome) : nullptr;
}

}  // namespace dlpack::python
