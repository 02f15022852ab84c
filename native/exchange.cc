// Import and export of managed tensors: by address, by tagged external and by ticket.
#include "abi/dlpack_abi.h"
#define DLPACK_NAPI_STRUCTS_DECLARED
#include "../include/dlpack_napi.h"
#include "bindings.h"
#include "kept_blocks.h"
#include "managed_tensor.h"
#include "tickets.h"
#include "trace.h"

namespace dlpack {

// The minimal check for a number that should be an address.
static bool IsPlausible(uint64_t address) { return address >= 4096 && address % alignof(DLTensor) == 0; }

template <class Managed>
static Status ImportAt(Instance* self, uint64_t address, WireTensor* wire) {
  if (!IsPlausible(address)) return kNullManaged;
  Descriptor descriptor;
  Status status;
  Storage* storage = ImportManaged(reinterpret_cast<Managed*>(address), &descriptor, &status, &self->signature,
                                   HeaderOf(self)->known_signature);
  return GiveTensor(self, storage, status, descriptor, wire, true);
}

template <class Managed>
static void Import(Instance* self, ImportRequest* request) {
  request->status = ImportAt<Managed>(self, request->address, &request->tensor);
}

// Exports the tensor that the message describes; NULL with the reason in `status`.
template <class Managed>
static Managed* ExportTensor(Instance* self, WireTensor* wire, int32_t* status) {
  const Descriptor* descriptor;
  Storage* storage = GetHeld(self, wire->handle);
  *status = storage == nullptr ? kConsumed : ReadInside(self, wire, storage->nbytes, &descriptor);
  if (*status != kOk) return nullptr;
  Managed* managed = ExportChecked<Managed>(*descriptor, storage, self->thread);
  if (managed == nullptr) {
    *status = kOutOfMemory;
    return nullptr;
  }
  RetainStorage(storage, self->thread);
  return managed;
}

template <class Managed>
static void Export(Instance* self, ExportRequest* request) {
  request->address = reinterpret_cast<uint64_t>(ExportTensor<Managed>(self, &request->tensor, &request->status));
}

template <class Managed>
static void Delete(Instance*, DeleteRequest* request) {
  const bool plausible = IsPlausible(request->address);
  if (plausible) DeleteManaged(reinterpret_cast<Managed*>(request->address));
  request->status = plausible ? kOk : kNullManaged;  // last, because the deleter may run JavaScript
}

// Turns a misaligned tensor into vectors of bytes, which need no alignment. `dtype` gets its original dtype. False when
// the tensor is aligned, or when its elements are too wide.
static bool ViewAsBytes(DLManagedTensorVersioned* managed, DLDataType* dtype) {
  if (managed->version.major != DLPACK_MAJOR_VERSION || !IsMisaligned(managed->dl_tensor)) return false;
  *dtype = managed->dl_tensor.dtype;
  const uint32_t bits = static_cast<uint32_t>(dtype->bits) * dtype->lanes;
  if (bits == 0 || bits % 8 != 0 || bits / 8 > UINT16_MAX) return false;
  managed->dl_tensor.dtype = {kDLUInt, 8, static_cast<uint16_t>(bits / 8)};
  return true;
}

// A misaligned tensor is imported as vectors of bytes, with the status kMisaligned and its dtype as the result. The
// caller copies or releases it.
static napi_value ImportExternal(Instance* self, TensorResult* result, napi_env env, napi_value value) {
  bool ours = false;
  if (dlpack_napi_check(env, value, &ours) != napi_ok || !ours) {
    result->status = kNotExternal;
    return nullptr;
  }
  DLManagedTensorVersioned* managed = nullptr;
  const bool is_taken = dlpack_napi_take(env, value, &managed) == napi_ok && managed != nullptr;
  const uint64_t address = reinterpret_cast<uint64_t>(managed);
  DLDataType dtype;
  const bool is_bytes = is_taken && IsPlausible(address) && ViewAsBytes(managed, &dtype);
  result->status = is_taken ? ImportAt<DLManagedTensorVersioned>(self, address, &result->tensor) : kConsumed;
  if (!is_bytes || result->status != kOk) return nullptr;
  managed->dl_tensor.dtype = dtype;  // restored for the producer's deleter
  result->status = kMisaligned;
  return NewNumber(env, dtype.code | uint32_t{dtype.bits} << 8 | uint32_t{dtype.lanes} << 16);
}

static napi_value ExportExternal(Instance* self, ExportRequest* request, napi_env env) {
  auto* managed = ExportTensor<DLManagedTensorVersioned>(self, &request->tensor, &request->status);
  if (managed == nullptr) return nullptr;
  napi_value result = nullptr;
  if (dlpack_napi_create(env, managed, &result) != napi_ok) {
    DeleteManaged(managed);
    request->status = kNapi;
    return nullptr;
  }
  return result;
}

static void IssueTicketBinding(Instance* self, TicketRequest* request) {
  Storage* storage = GetHeld(self, request->tensor.handle);
  Descriptor descriptor;
  Status status = storage == nullptr ? kConsumed : ReadWire(self, request->tensor, &descriptor);
  if (status == kOk) status = CheckInside(descriptor, storage->nbytes);
  if (status == kOk && !IssueTicket(request->ticket, descriptor, storage)) status = kOutOfMemory;
  request->status = status;
}

static void RedeemTicketBinding(Instance* self, TicketRequest* request) {
  Descriptor descriptor;
  Storage* storage = RedeemTicket(request->ticket, &descriptor);
  request->status =
      storage == nullptr ? kUnknownTicket : GiveTensor(self, storage, kOk, descriptor, &request->tensor, true);
}

static void ExchangeApiAddress(Instance*, AddressResult* result) {
  result->address = reinterpret_cast<uint64_t>(ExchangeApi());
}

static void ReadCounts(Instance* self, CountsResult* result) {
  result->storages = static_cast<double>(CountOf(counts.storages));
  result->bytes = static_cast<double>(CountOf(counts.bytes));
  result->imports = static_cast<double>(CountOf(counts.imports));
  result->exports = static_cast<double>(CountOf(counts.exports));
  result->tickets = static_cast<double>(CountOf(counts.tickets));
  result->reported = static_cast<double>(self->reported);
  result->kept = static_cast<double>(CountKeptBytes());
}

// readTraces(Float64Array): numbers of the places where live exports were made.
static void ReadTraces(Instance*, TracesResult* result, napi_env env, napi_value array) {
  const Elements<double> places(env, array);
  result->count = static_cast<double>(ListTraces(places.data, places.length));
}

const NamedFunction kExchangeFunctions[] = {{"importVersioned", Binding<Import<DLManagedTensorVersioned>>::Call},
                                            {"importLegacy", Binding<Import<DLManagedTensor>>::Call},
                                            {"exportVersioned", Binding<Export<DLManagedTensorVersioned>>::Call},
                                            {"exportLegacy", Binding<Export<DLManagedTensor>>::Call},
                                            {"deleteVersioned", Binding<Delete<DLManagedTensorVersioned>>::Call},
                                            {"deleteLegacy", Binding<Delete<DLManagedTensor>>::Call},
                                            {"importExternal", Binding<ImportExternal>::Call},
                                            {"exportExternal", Binding<ExportExternal>::Call},
                                            {"issueTicket", Binding<IssueTicketBinding>::Call},
                                            {"redeemTicket", Binding<RedeemTicketBinding>::Call},
                                            {"exchangeApi", Binding<ExchangeApiAddress>::Call},
                                            {"readCounts", Binding<ReadCounts>::Call},
                                            {"readTraces", Binding<ReadTraces>::Call},
                                            {}};

}  // namespace dlpack
