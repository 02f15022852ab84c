#include "threads.h"

#if !defined(_WIN32)
#include <pthread.h>
#include <signal.h>
#endif

// The C library of Debian 12 has newer names for the same functions, which would keep the addon from loading on older
// systems; there they are in a library that every JavaScript runtime has loaded.
#if defined(__GLIBC__) && defined(__x86_64__)
__asm__(".symver pthread_create, pthread_create@GLIBC_2.2.5");
__asm__(".symver pthread_join, pthread_join@GLIBC_2.2.5");
__asm__(".symver pthread_sigmask, pthread_sigmask@GLIBC_2.2.5");
#elif defined(__GLIBC__) && defined(__aarch64__)
__asm__(".symver pthread_create, pthread_create@GLIBC_2.17");
__asm__(".symver pthread_join, pthread_join@GLIBC_2.17");
__asm__(".symver pthread_sigmask, pthread_sigmask@GLIBC_2.17");
#endif

namespace dlpack {

#if defined(_WIN32)

void RunOnThreads(int32_t, void (*work)(void*), void* data) { work(data); }

#else

static const int32_t kMaxThreads = 64;

struct Task {
  void (*work)(void*);
  void* data;
};

static void* Start(void* argument) {
  Task* task = static_cast<Task*>(argument);
  task->work(task->data);
  return nullptr;
}

void RunOnThreads(int32_t count, void (*work)(void*), void* data) {
  pthread_t threads[kMaxThreads];
  Task task = {work, data};
  int32_t started = 0;
  if (count > 1) {
    // Signals belong to the threads that the program knows of.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (started < count - 1 && started < kMaxThreads &&
           pthread_create(&threads[started], nullptr, Start, &task) == 0) {
      ++started;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  work(data);
  for (int32_t i = 0; i < started; ++i) pthread_join(threads[i], nullptr);
}

#endif

}  // namespace dlpack
