#include "forked.h"

#include <stdlib.h>

#if !defined(_WIN32)
#include <pthread.h>
#include <unistd.h>
#endif

namespace dlpack {

bool is_forked = false;

#if defined(_WIN32)

void WatchForks() {}

void LeaveForked() { abort(); }

#else

void WatchForks() {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, [] { pthread_atfork(nullptr, nullptr, [] { is_forked = true; }); });
}

void LeaveForked() {
  static const char text[] =
      "dlpack: Expected Python code that ends the process it forked off, but it returned to JavaScript there, which "
      "has "
      "stayed behind; end it with os._exit, or use subprocess or multiprocessing\n";
  if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0) _exit(2);
  _exit(1);
}

#endif

}  // namespace dlpack
