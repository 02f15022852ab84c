// Import and export of managed tensors, by address, by tagged external and by ticket.
#include "abi/dlpack_abi.h"
#define DLPACK_NAPI_STRUCTS_DECLARED
#include "../include/dlpack_napi.h"
#include "bindings.h"
#include "exchange_api.h"
#include "managed_tensor.h"
#include "tickets.h"
#include "trace.h"

namespace dlpack {

// The least that can be checked of a number that is said to be an address.
static bool IsPlausible(uint64_t address) { return address >= 4096 && address % alignof(DLTensor) == 0; }

template <class Managed>
static void ImportAt(Environment* self, uint64_t address) {
  if (!IsPlausible(address)) {
    self->frame->status = kNullManaged;
    return;
  }
  Storage* storage = ImportManaged(reinterpret_cast<Managed*>(address), self->frame);
  if (storage != nullptr) HoldInFrame(self, storage);
}

napi_value ImportVersioned(napi_env env, napi_callback_info info) {
  Environment* self = EnvironmentOf(env, info);
  ImportAt<DLManagedTensorVersioned>(self, self->frame->address);
  return nullptr;
}

napi_value ImportLegacy(napi_env env, napi_callback_info info) {
  Environment* self = EnvironmentOf(env, info);
  ImportAt<DLManagedTensor>(self, self->frame->address);
  return nullptr;
}

// The storage that the frame names, if the tensor lies inside it.
static Storage* FrameStorage(Environment* self) {
  Frame* frame = self->frame;
  Storage* storage = GetHeld(self, frame->handle);
  frame->status = storage == nullptr ? kConsumed : CheckFrame(*frame, storage->nbytes);
  return frame->status == kOk ? storage : nullptr;
}

template <class Managed>
static Managed* ExportFrame(Environment* self) {
  Frame* frame = self->frame;
  Storage* storage = GetHeld(self, frame->handle);
  Status status = kConsumed;
  if (storage != nullptr) TakeReference(self, frame->handle);
  Managed* managed = storage == nullptr ? nullptr : ExportManaged<Managed>(*frame, storage, &status);
  frame->status = status;
  if (storage != nullptr && managed == nullptr) ReleaseStorage(storage);
  if (managed != nullptr) CountExport(self);
  return managed;
}

napi_value ExportVersioned(napi_env env, napi_callback_info info) {
  Environment* self = EnvironmentOf(env, info);
  self->frame->address = reinterpret_cast<uint64_t>(ExportFrame<DLManagedTensorVersioned>(self));
  return nullptr;
}

napi_value ExportLegacy(napi_env env, napi_callback_info info) {
  Environment* self = EnvironmentOf(env, info);
  self->frame->address = reinterpret_cast<uint64_t>(ExportFrame<DLManagedTensor>(self));
  return nullptr;
}

template <class Managed>
static void DeleteAt(Environment* self) {
  const uint64_t address = self->frame->address;
  const bool plausible = IsPlausible(address);
  if (plausible) DeleteManaged(reinterpret_cast<Managed*>(address));
  self->frame->status = plausible ? kOk : kNullManaged;  // last: the deleter may use the frame
}

napi_value DeleteVersioned(napi_env env, napi_callback_info info) {
  DeleteAt<DLManagedTensorVersioned>(EnvironmentOf(env, info));
  return nullptr;
}

napi_value DeleteLegacy(napi_env env, napi_callback_info info) {
  DeleteAt<DLManagedTensor>(EnvironmentOf(env, info));
  return nullptr;
}

napi_value ImportExternal(napi_env env, napi_callback_info info) {
  napi_value value;
  Environment* self = EnvironmentOf(env, info, &value);
  bool ours = false;
  if (dlpack_napi_check(env, value, &ours) != napi_ok || !ours) {
    self->frame->status = kNotExternal;
    return nullptr;
  }
  DLManagedTensorVersioned* managed = nullptr;
  if (dlpack_napi_take(env, value, &managed) != napi_ok || managed == nullptr) {
    self->frame->status = kConsumed;
    return nullptr;
  }
  ImportAt<DLManagedTensorVersioned>(self, reinterpret_cast<uint64_t>(managed));
  return nullptr;
}

napi_value ExportExternal(napi_env env, napi_callback_info info) {
  Environment* self = EnvironmentOf(env, info);
  DLManagedTensorVersioned* managed = ExportFrame<DLManagedTensorVersioned>(self);
  if (managed == nullptr) return nullptr;
  napi_value result = nullptr;
  if (dlpack_napi_create(env, managed, &result) != napi_ok) {
    DeleteManaged(managed);
    self->frame->status = kNapi;
    return nullptr;
  }
  return result;
}

napi_value IssueTicketBinding(napi_env env, napi_callback_info info) {
  Environment* self = EnvironmentOf(env, info);
  Storage* storage = FrameStorage(self);
  if (storage != nullptr && !IssueTicket(*self->frame, storage)) self->frame->status = kOutOfMemory;
  return nullptr;
}

napi_value RedeemTicketBinding(napi_env env, napi_callback_info info) {
  Environment* self = EnvironmentOf(env, info);
  Storage* storage = RedeemTicket(self->frame);
  self->frame->status = storage == nullptr ? kUnknownTicket : kOk;
  if (storage == nullptr) return nullptr;
  self->frame->nbytes = static_cast<double>(storage->nbytes);
  HoldInFrame(self, storage);
  return nullptr;
}

napi_value ExchangeApiAddress(napi_env env, napi_callback_info info) {
  EnvironmentOf(env, info)->frame->address = reinterpret_cast<uint64_t>(ExchangeApi());
  return nullptr;
}

// Into the shape of the frame, in the order src/native/stats.ts reads them.
napi_value ReadCounts(napi_env env, napi_callback_info info) {
  Environment* self = EnvironmentOf(env, info);
  double* out = self->frame->shape;
  out[0] = static_cast<double>(counts.storages.load(std::memory_order_relaxed));
  out[1] = static_cast<double>(counts.bytes.load(std::memory_order_relaxed));
  out[2] = static_cast<double>(counts.imports.load(std::memory_order_relaxed));
  out[3] = static_cast<double>(counts.exports.load(std::memory_order_relaxed) + ExportsMade());
  out[4] = static_cast<double>(counts.tickets.load(std::memory_order_relaxed));
  out[5] = static_cast<double>(self->reported);
  return nullptr;
}

// readTraces(Float64Array): numbers of the places where live exports were made; frame->nbytes is how many there are.
napi_value ReadTraces(napi_env env, napi_callback_info info) {
  napi_value array;
  Environment* self = EnvironmentOf(env, info, &array);
  napi_typedarray_type type;
  size_t length = 0;
  void* data = nullptr;
  if (napi_get_typedarray_info(env, array, &type, &length, &data, nullptr, nullptr) != napi_ok ||
      type != napi_float64_array) {
    length = 0;
  }
  self->frame->nbytes = static_cast<double>(ListTraces(static_cast<double*>(data), length));
  return nullptr;
}

}  // namespace dlpack
