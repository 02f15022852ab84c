#include "forked.h"

#include <atomic>

#include "platform/platform.h"

namespace dlpack {

bool is_forked = false;

void WatchForks() {
  static std::atomic<bool> is_watching{false};
  if (!is_watching.exchange(true)) platform::OnFork([] { is_forked = true; });
}

void LeaveForked() {
  platform::EndProcess(1,
                       "dlpack: Expected Python code that ends the process it forked off, but it returned to "
                       "JavaScript there, which has "
                       "stayed behind; end it with os._exit, or use subprocess or multiprocessing\n");
}

}  // namespace dlpack
