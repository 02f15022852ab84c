// Entry of the addon: one line for each function of an instance. No logic here.
#include "addon.h"

#include "bindings.h"
#include "exports.h"
#include "forked.h"
#include "platform/platform.h"
#include "python/bindings.h"

namespace dlpack {

static const Export kExports[] = {
    {"allocate", Allocate},
    {"release", Release},
    {"collect", Collect},
    {"outlive", OutliveTick},
    {"addressOf", AddressOf},
    {"pinArray", PinArray},
    {"pinAddress", PinAddress},
    {"createBuffer", CreateBuffer},
    {"detachBuffer", DetachBuffer},
    {"readInto", ReadInto},
    {"writeFrom", WriteFrom},
    {"takeStaged", TakeStaged},
    {"copy", Copy},
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
    {"trim", Trim},
    {"mapFile", MapFile},
    {"partOf", PartOf},
    {"readPart", ReadPart},
    {"createShared", CreateShared},
    {"sealShared", SealShared},
    {"unnameShared", UnnameShared},
    {"unnameAllShared", UnnameAllShared},
    {"openShared", OpenShared},
    {"startPython", python::StartPython},
    {"loadCuda", LoadCuda},
    {"attachCuda", AttachCuda},
    {"loadTvmFfi", LoadTvmFfi},
    {"attachTvmFfi", AttachTvmFfi},
};

bool DefineInstanceFunctions(napi_env env, napi_value object, Instance* self) {
  return DefineFunctions(env, object, kExports, self);
}

static const Export kModuleExports[] = {{"createInstance", CreateInstance}};

}  // namespace dlpack

// Runs once for each environment. The package's JavaScript calls createInstance each time it is evaluated.
NAPI_MODULE_INIT() {
  // Node unloads an addon when the last worker that loaded it ends, but deleters, threads and Python types still need
  // its code.
  dlpack::platform::KeepLoaded(dlpack::kExports);
  dlpack::WatchForks();
  if (!dlpack::DefineFunctions(env, exports, dlpack::kModuleExports, nullptr)) {
    napi_throw_error(env, nullptr, "dlpack could not define its functions");
    return nullptr;
  }
  return exports;
}
