// Import and export of managed tensors: by address, by tagged external and by ticket.
#include "../abi/dlpack_abi.h"
#define DLPACK_NAPI_STRUCTS_DECLARED
#define DLPACK_NAPI_STAYS_LOADED  // see addon.cc
#include "../../include/dlpack_napi.h"
#include "../bindings.h"
#include "../memory/kept_blocks.h"
#include "../memory/tickets.h"
#include "../trace.h"
#include "managed_tensor.h"

namespace dlpack {

// The minimal check for a number that should be an address.
static bool IsPlausible(uint64_t address) { return address >= 4096 && address % alignof(DLTensor) == 0; }

template <class Managed>
static Status ImportAt(Instance* self, uint64_t address, WireTensor* wire, const DLDataType* dtype = nullptr) {
  if (!IsPlausible(address)) return kNullManaged;
  Imported imported;
  Status status;
  Storage* storage = ImportManaged(reinterpret_cast<Managed*>(address), &self->layouts, &imported, &status, dtype);
  return GiveTensor(self, storage, status, imported, wire);
}

template <class Managed>
static void Import(Instance* self, ImportRequest* request) {
  request->status = ImportAt<Managed>(self, request->address, &request->tensor);
}

// Exports the tensor that the message describes; NULL with the reason in `status`.
template <class Managed>
static Managed* ExportTensor(Instance* self, const WireTensor& wire, int32_t* status) {
  LayoutRoom room;
  Descriptor tensor;
  Storage* storage = GetHeld(self, wire.handle);
  *status = storage == nullptr ? kConsumed : ReadTensor(self, wire, storage->nbytes, &room, &tensor);
  if (*status != kOk) return nullptr;
  Managed* managed = ExportChecked<Managed>(tensor, storage, self->thread);
  if (managed == nullptr) {
    *status = kOutOfMemory;
    return nullptr;
  }
  RetainStorage(storage, self->thread);
  return managed;
}

template <class Managed>
static void Export(Instance* self, ExportRequest* request) {
  request->address = reinterpret_cast<uint64_t>(ExportTensor<Managed>(self, request->tensor, &request->status));
}

template <class Managed>
static void Delete(Instance*, DeleteRequest* request) {
  const bool plausible = IsPlausible(request->address);
  if (plausible) DeleteManaged(reinterpret_cast<Managed*>(request->address));
  request->status = plausible ? kOk : kNullManaged;  // last, because the deleter may run JavaScript
}

// The dtype as which a misaligned tensor is imported: vectors of bytes, which need no alignment. False when the tensor
// is aligned, or when its elements are too wide.
static bool ByteDType(const DLManagedTensorVersioned& managed, DLDataType* bytes) {
  if (managed.version.major != DLPACK_MAJOR_VERSION || !IsMisaligned(managed.dl_tensor)) return false;
  const DLDataType& dtype = managed.dl_tensor.dtype;
  const uint32_t bits = static_cast<uint32_t>(dtype.bits) * dtype.lanes;
  if (bits == 0 || bits % 8 != 0 || bits / 8 > UINT16_MAX) return false;
  *bytes = {kDLUInt, 8, static_cast<uint16_t>(bits / 8)};
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
  DLDataType dtype = {}, bytes;
  const bool is_bytes = is_taken && IsPlausible(address) && ByteDType(*managed, &bytes);
  if (is_bytes) dtype = managed->dl_tensor.dtype;  // before the import, which may delete the tensor
  const DLDataType* given = is_bytes ? &bytes : nullptr;
  result->status = is_taken ? ImportAt<DLManagedTensorVersioned>(self, address, &result->tensor, given) : kConsumed;
  if (!is_bytes || result->status != kOk) return nullptr;
  result->status = kMisaligned;
  return NewNumber(env, dtype.code | uint32_t{dtype.bits} << 8 | uint32_t{dtype.lanes} << 16);
}

static napi_value ExportExternal(Instance* self, ExportRequest* request, napi_env env) {
  auto* managed = ExportTensor<DLManagedTensorVersioned>(self, request->tensor, &request->status);
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
  LayoutRoom room;
  Descriptor tensor;
  Status status = storage == nullptr ? kConsumed : ReadTensor(self, request->tensor, storage->nbytes, &room, &tensor);
  if (status == kOk && !IssueTicket(request->ticket, tensor, storage)) status = kOutOfMemory;
  request->status = status;
}

static void RedeemTicketBinding(Instance* self, TicketRequest* request) {
  Imported imported;
  Storage* storage = RedeemTicket(request->ticket, &imported.room, &imported.tensor.byte_offset);
  request->status = storage == nullptr ? kUnknownTicket : GiveTensor(self, storage, kOk, imported, &request->tensor);
}

// keepLayout: the LayoutRequest has a place of its own.
static void KeepLayout(Instance* self, napi_env) {
  LayoutRequest* request = MessageAt<LayoutRequest>(self, kLayoutSlot);
  LayoutRoom layout;
  const Status status = request->number == 0 ? kUnknownLayout : ReadLayout(self, request->tensor, &layout);
  request->status = status == kOk && !self->layouts.Keep(layout, request->number) ? kOutOfMemory : status;
}

static uint64_t ExchangeApiAddress(Instance*, napi_env) { return reinterpret_cast<uint64_t>(ExchangeApi()); }

// readCounts(): as Counts of src/native/binding.ts.
static napi_value ReadCounts(Instance* self, napi_env env) {
  const auto count = [env](auto number) { return NewNumber(env, static_cast<double>(number)); };
  return NewArray(env, {count(CountOf(Counter::kStorages)), count(CountOf(Counter::kBytes)),
                        count(CountOf(Counter::kImports)), count(CountOf(Counter::kExports)),
                        count(CountOf(Counter::kTickets)), count(self->reported), count(CountKeptBytes())});
}

// readTraces(places): writes the numbers of the places where live exports were made, and returns how many there are,
// also if the array is shorter.
static double ReadTraces(Instance*, napi_env, Elements<double> places) {
  return static_cast<double>(ListTraces(places.data, places.length));
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
                                            {"keepLayout", Binding<KeepLayout>::Call},
                                            {"exchangeApi", Binding<ExchangeApiAddress>::Call},
                                            {"readCounts", Binding<ReadCounts>::Call},
                                            {"readTraces", Binding<ReadTraces>::Call},
                                            {}};

}  // namespace dlpack
