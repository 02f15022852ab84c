// Exports of managed tensors for JavaScript: by address, by tagged external and by ticket.
#include "../abi/dlpack_abi.h"
#define DLPACK_NAPI_STRUCTS_DECLARED
#define DLPACK_NAPI_STAYS_LOADED  // see addon.cc
#include "../../include/dlpack_napi.h"
#include "../bindings.h"
#include "../memory/tickets.h"
#include "managed_tensor.h"

namespace dlpack {

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

// False for an address that cannot be right.
template <class Managed>
static bool Delete(Instance*, napi_env, uint64_t address) {
  if (!IsPlausible(address)) return false;
  DeleteManaged(reinterpret_cast<Managed*>(address));
  return true;
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

static void IssueTicketBinding(Instance* self, TensorResult* request, napi_env env, napi_value text) {
  uint64_t ticket[2];
  request->status = kUnknownTicket;
  if (!ReadHex(env, text, ticket, sizeof(ticket))) return;
  Storage* storage = GetHeld(self, request->tensor.handle);
  LayoutRoom room;
  Descriptor tensor;
  Status status = storage == nullptr ? kConsumed : ReadTensor(self, request->tensor, storage->nbytes, &room, &tensor);
  if (status == kOk && !IssueTicket(ticket, tensor, storage)) status = kOutOfMemory;
  request->status = status;
}

static uint64_t ExchangeApiAddress(Instance*, napi_env) { return reinterpret_cast<uint64_t>(ExchangeApi()); }

const NamedFunction kExportFunctions[] = {{"exportVersioned", Binding<Export<DLManagedTensorVersioned>>::Call},
                                          {"exportLegacy", Binding<Export<DLManagedTensor>>::Call},
                                          {"deleteVersioned", Binding<Delete<DLManagedTensorVersioned>>::Call},
                                          {"deleteLegacy", Binding<Delete<DLManagedTensor>>::Call},
                                          {"exportExternal", Binding<ExportExternal>::Call},
                                          {"issueTicket", Binding<IssueTicketBinding>::Call},
                                          {"exchangeApi", Binding<ExchangeApiAddress>::Call},
                                          {}};

}  // namespace dlpack
