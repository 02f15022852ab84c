// Entry of the addon.
#include "bindings.h"
#include "conformance/peer.h"
#include "forked.h"
#include "platform/platform.h"

static const dlpack::NamedFunction kExports[] = {
    {"createInstance", dlpack::CreateInstance}, {"conformancePeer", dlpack::ConformancePeer}, {}};

// Runs once for each environment. The package's JavaScript calls createInstance each time it is evaluated.
NAPI_MODULE_INIT() {
  // Node unloads an addon when the last worker that loaded it ends, but deleters, threads and Python types still need
  // its code.
  dlpack::platform::KeepLoaded(kExports);
  dlpack::WatchForks();
  if (!dlpack::DefineFunctions(env, exports, {kExports}, nullptr)) {
    napi_throw_error(env, nullptr, "dlpack could not define its functions");
    return nullptr;
  }
  return exports;
}
