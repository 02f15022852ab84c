// Imports of managed tensors for JavaScript: by address, by tagged external and by ticket.
#include "../abi/dlpack_abi.h"
#define DLPACK_NAPI_STRUCTS_DECLARED
#define DLPACK_NAPI_STAYS_LOADED  // see addon.cc
#include "../../include/dlpack_napi.h"
#include "../bindings.h"
#include "../memory/tickets.h"
#include "managed_tensor.h"

namespace dlpack {

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

static void RedeemTicketBinding(Instance* self, TensorResult* result, napi_env env, napi_value text) {
  uint64_t ticket[2];
  Imported imported;
  Storage* storage = ReadHex(env, text, ticket, sizeof(ticket))
                         ? RedeemTicket(ticket, &imported.room, &imported.tensor.byte_offset)
                         : nullptr;
  result->status = storage == nullptr ? kUnknownTicket : GiveTensor(self, storage, kOk, imported, &result->tensor);
}

const NamedFunction kImportFunctions[] = {{"importVersioned", Binding<Import<DLManagedTensorVersioned>>::Call},
                                          {"importLegacy", Binding<Import<DLManagedTensor>>::Call},
                                          {"importExternal", Binding<ImportExternal>::Call},
                                          {"redeemTicket", Binding<RedeemTicketBinding>::Call},
                                          {}};

}  // namespace dlpack
