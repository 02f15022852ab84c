// One shared object that is two things: a CUDA driver in host memory for code that opens it by its path, and an addon
// through which tests command that driver. A process has one copy of it, so both see the same state.
#include "control.h"

// For whoever loads the file first.
__attribute__((constructor)) static void SetUp() { fake::SetDevices(1); }

NAPI_MODULE_INIT() {
  fake::AddControls(env, exports);
  fake::AddCalls(env, exports);
  return exports;
}
