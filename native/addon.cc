// Entry of the addon: one line for each function. No logic here.
#include "bindings.h"
#include "python/bindings.h"
#include "stay_loaded.h"

namespace dlpack {

struct Export {
  const char* name;
  napi_callback function;
};

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
    {"startPython", python::StartPython},
    {"loadCuda", LoadCuda},
    {"attachCuda", AttachCuda},
    {"loadTvmFfi", LoadTvmFfi},
    {"attachTvmFfi", AttachTvmFfi},
};

}  // namespace dlpack

NAPI_MODULE_INIT() {
  dlpack::StayLoaded();
  dlpack::Environment* self = dlpack::InitEnvironment(env);
  if (self == nullptr) {
    napi_throw_error(env, nullptr, "dlpack could not set up its environment");
    return nullptr;
  }
  for (const dlpack::Export& entry : dlpack::kExports) {
    napi_value function;
    if (napi_create_function(env, entry.name, NAPI_AUTO_LENGTH, entry.function, self, &function) != napi_ok ||
        napi_set_named_property(env, exports, entry.name, function) != napi_ok) {
      napi_throw_error(env, nullptr, "dlpack could not define its functions");
      return nullptr;
    }
  }
  return exports;
}
