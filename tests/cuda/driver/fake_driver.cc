// One shared object with two roles: a CUDA driver in host memory for code that opens it by its path, and an addon
// through which tests control that driver. A process has one copy, so both roles see the same state.
#include "control.h"

// Runs when the file is loaded first, in either role.
__attribute__((constructor)) static void SetUp() { fake::SetDevices(1); }

NAPI_MODULE_INIT() {
  fake::AddControls(env, exports);
  fake::AddCalls(env, exports);
  return exports;
}
