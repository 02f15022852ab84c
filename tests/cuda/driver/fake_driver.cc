// One shared object that is two things: a CUDA driver in host memory for code that opens it by its path, and an addon
// through which tests command that driver. A process has one copy of it, so both see the same state.
#include "control.h"

NAPI_MODULE_INIT() {
  {
    fake::Lock lock(fake::machine().mutex);
    // Once for the process: a worker that loads the addon finds the machine as it is.
    if (fake::machine().devices.empty() && !fake::machine().set_up) fake::SetDevices(1);
    fake::machine().set_up = true;
  }
  fake::AddControls(env, exports);
  fake::AddCalls(env, exports);
  return exports;
}
