#include "watcher.h"

#include <stdlib.h>

#include "../../memory/storage.h"
#include "../../platform/platform.h"
#include "stream.h"

namespace dlpack::cuda {

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

platform::Mutex mutex;
platform::Condition arrived;
Watched* incoming;  // guarded by mutex
bool has_thread;    // guarded by mutex

// A query costs a microsecond. The watcher queries often at first, for work that is nearly done, then a thousand times
// a second.
void Pause(int round) { platform::SleepMicroseconds(round < 20 ? 20 : round < 100 ? 100 : 1000); }

bool IsDone(const Watched* watched) {
  ContextScope scope(watched->device);
  if (watched->event == nullptr) return !IsCapturing(watched->captured);
  if (scope.result() == kSuccess && driver.EventQuery(watched->event) == kNotReady) return false;
  if (watched->owns_event) driver.EventDestroy(watched->event);
  return true;
}

// Never ends, and holds no lock or resource that the end of the process needs.
void* Run(void*) {
  CaptureMode mode = kCaptureRelaxed;  // otherwise queries are forbidden while any thread captures a graph
  driver.ThreadExchangeStreamCaptureMode(&mode);
  Watched* pending = nullptr;
  for (int round = 0;; ++round) {
    mutex.Acquire();
    while (pending == nullptr && incoming == nullptr) arrived.Wait(&mutex);
    if (incoming != nullptr) round = 0;
    while (incoming != nullptr) {
      Watched* watched = incoming;
      incoming = watched->next;
      watched->next = pending;
      pending = watched;
    }
    mutex.Release();
    for (Watched** at = &pending; *at != nullptr;) {
      Watched* watched = *at;
      if (!IsDone(watched)) {
        at = &watched->next;
        continue;
      }
      *at = watched->next;
      // A deleter may wait for a lock of its library, and must not delay the others.
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
  platform::MutexScope scope(&mutex);
  if (!has_thread) has_thread = platform::StartThread(Run, nullptr);
  if (!has_thread) {
    free(watched);
    return false;
  }
  watched->next = incoming;
  incoming = watched;
  arrived.Signal();
  return true;
}

}  // namespace

bool Watch(const Device* device, EventHandle event, bool owns_event, void (*done)(void*), void* argument) {
  return Add(Watched{device, event, owns_event, nullptr, done, argument, nullptr});
}

bool WatchCapture(const Device* device, StreamHandle stream, void (*done)(void*), void* argument) {
  return Add(Watched{device, nullptr, false, stream, done, argument, nullptr});
}

}  // namespace dlpack::cuda
