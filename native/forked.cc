#include "forked.h"

#include "lock.h"
#include "platform/platform.h"

namespace dlpack {

bool is_forked = false;

static Lock watch_lock;
static bool is_watching = false;

void WatchForks() {
  LockScope scope(&watch_lock);
  if (!is_watching) platform::OnFork([] { is_forked = true; });
  is_watching = true;
}

void LeaveForked() {
  platform::EndProcess(1,
                       "dlpack: Expected Python code that ends the process it forked off, but it returned to "
                       "JavaScript there, which has "
                       "stayed behind; end it with os._exit, or use subprocess or multiprocessing\n");
}

}  // namespace dlpack
