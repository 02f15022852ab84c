// Entry of the addon: one line for each function. No logic here.
#include "bindings.h"
#include "exports.h"
#include "forked.h"
#include "platform/platform.h"
#include "python/bindings.h"

namespace dlpack {

static const Export kExports[] = {
    {"attachFrame", AttachFrame},
    {"allocate", Allocate},
    {"release", Release},
    {"collect", Collect},
    {"addressOf", AddressOf},
    {"pinArray", PinArray},
    {"pinAddress", PinAddress},
    {"createBuffer", CreateBuffer},
    {"detachBuffer", DetachBuffer},
    {"readInto", ReadInto},
    {"writeFrom", WriteFrom},
    {"convert", Convert},
    {"convertAsync", ConvertAsync},
    {"importVersioned", ImportVersioned},
    {"importLegacy", ImportLegacy},
    {"exportVersioned", ExportVersioned},
    {"exportLegacy", ExportLegacy},
    {"deleteVersioned", DeleteVersioned},
    {"deleteLegacy", DeleteLegacy},
    {"importExternal", ImportExternal},
    {"exportExternal", ExportExternal},
    {"issueTicket", IssueTicketBinding},
    {"redeemTicket", RedeemTicketBinding},
    {"exchangeApi", ExchangeApiAddress},
    {"readCounts", ReadCounts},
    {"readTraces", ReadTraces},
    {"mapFile", MapFile},
    {"partOf", PartOf},
    {"readPart", ReadPart},
    {"startPython", python::StartPython},
    {"loadCuda", LoadCuda},
    {"attachCuda", AttachCuda},
    {"loadTvmFfi", LoadTvmFfi},
    {"attachTvmFfi", AttachTvmFfi},
};

}  // namespace dlpack

NAPI_MODULE_INIT() {
  // Node unloads an addon with the last worker that loaded it, but its deleters, its threads and its Python types live
  // on.
  dlpack::platform::KeepLoaded(dlpack::kExports);
  dlpack::WatchForks();
  dlpack::Environment* self = dlpack::InitEnvironment(env);
  if (self == nullptr) {
    napi_throw_error(env, nullptr, "dlpack could not set up its environment");
    return nullptr;
  }
  if (!dlpack::DefineFunctions(env, exports, dlpack::kExports, self)) {
    napi_throw_error(env, nullptr, "dlpack could not define its functions");
    return nullptr;
  }
  return exports;
}
