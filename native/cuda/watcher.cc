#include "watcher.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "../detached_thread.h"
#include "../storage.h"
#include "streams.h"

namespace dlpack {
namespace cuda {

namespace {

struct Watched {
  const Device* device;
  EventHandle event;  // NULL: the end of a capture
  bool owns_event;
  StreamHandle captured;
  void (*done)(void*);
  void* argument;
  Watched* next;
};

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
Watched* incoming;  // guarded by mutex
bool has_thread;    // guarded by mutex

// Queries cost a microsecond: often at first, for work that is nearly done, then a thousand times a second.
void Pause(int round) {
  timespec time = {0, round < 20 ? 20000 : round < 100 ? 100000 : 1000000};
  nanosleep(&time, nullptr);
}

bool IsDone(const Watched* watched) {
  ContextScope scope(watched->device);
  if (watched->event == nullptr) return !IsCapturing(watched->captured);
  if (scope.result() == kSuccess && driver.EventQuery(watched->event) == kNotReady) return false;
  if (watched->owns_event) driver.EventDestroy(watched->event);
  return true;
}

// Never ends. It holds nothing that the end of the process would need.
void* Run(void*) {
  CaptureMode mode = kCaptureRelaxed;  // queries are forbidden otherwise while anybody captures a graph
  driver.ThreadExchangeStreamCaptureMode(&mode);
  Watched* pending = nullptr;
  for (int round = 0;; ++round) {
    pthread_mutex_lock(&mutex);
    while (pending == nullptr && incoming == nullptr) pthread_cond_wait(&arrived, &mutex);
    if (incoming != nullptr) round = 0;
    while (incoming != nullptr) {
      Watched* watched = incoming;
      incoming = watched->next;
      watched->next = pending;
      pending = watched;
    }
    pthread_mutex_unlock(&mutex);
    for (Watched** at = &pending; *at != nullptr;) {
      Watched* watched = *at;
      if (!IsDone(watched)) {
        at = &watched->next;
        continue;
      }
      *at = watched->next;
      // Deleters that want a lock of somebody else's must not hold up those who wait.
      FinalizerScope scope;
      watched->done(watched->argument);
      free(watched);
    }
    if (pending != nullptr) Pause(round);
  }
  return nullptr;
}

bool Add(const Watched& description) {
  Watched* watched = static_cast<Watched*>(malloc(sizeof(Watched)));
  if (watched == nullptr) return false;
  *watched = description;
  pthread_mutex_lock(&mutex);
  if (!has_thread) has_thread = StartDetachedThread(Run, nullptr);
  const bool started = has_thread;
  if (started) {
    watched->next = incoming;
    incoming = watched;
    pthread_cond_signal(&arrived);
  }
  pthread_mutex_unlock(&mutex);
  if (!started) free(watched);
  return started;
}

}  // namespace

bool Watch(const Device* device, EventHandle event, void (*done)(void*), void* argument) {
  return Add(Watched{device, event, false, nullptr, done, argument, nullptr});
}

bool WatchAndDestroy(const Device* device, EventHandle event, void (*done)(void*), void* argument) {
  return Add(Watched{device, event, true, nullptr, done, argument, nullptr});
}

bool WatchCapture(const Device* device, StreamHandle stream, void (*done)(void*), void* argument) {
  return Add(Watched{device, nullptr, false, stream, done, argument, nullptr});
}

}  // namespace cuda
}  // namespace dlpack
