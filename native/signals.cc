#include "signals.h"

#define NAPI_VERSION 8
#include <node_api.h>
#include <string.h>

#include <atomic>

#include "lock.h"
#include "platform/platform.h"

namespace dlpack {

// SIGHUP to SIGTERM, and SIGCHLD, on Linux and macOS.
static const int kFirst = 1, kLast = 20;

static Lock lock;
static std::atomic<bool> is_off{false};
static bool has_begun;
static platform::SignalHandler remembered[kLast + 1];

static bool EndsWith(const char* text, const char* end) {
  const size_t length = strlen(text), end_length = strlen(end);
  return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

// Whether a handler belongs to the runtime (the file with its Node-API) or to an addon. Also true for SIG_DFL and
// SIG_IGN.
static bool IsOfJavaScript(const platform::SignalHandler& handler) {
  if (reinterpret_cast<uintptr_t>(handler.address()) <= 1) return true;
  char own[4096], path[4096];
  if (!platform::FindLibraryOf(handler.address(), path, sizeof(path))) return false;
  return EndsWith(path, ".node") ||
         (platform::FindLibraryOf(reinterpret_cast<const void*>(&napi_create_function), own, sizeof(own)) &&
          strcmp(own, path) == 0);
}

// Remembers each new handler for which `accepts(handler)` is true, and installs the remembered handler in place of the
// others.
template <class Accepts>
static void Update(Accepts accepts) {
  if (is_off.load(std::memory_order_relaxed)) return;
  LockScope scope(&lock);
  for (int number = kFirst; number <= kLast; ++number) {
    const auto signal = static_cast<platform::Signal>(number);
    platform::SignalHandler current;
    if (!current.Read(signal) || (has_begun && current.address() == remembered[number].address())) continue;
    if (!has_begun || accepts(current)) {
      remembered[number] = current;
    } else {
      remembered[number].Install(signal);
    }
  }
  has_begun = true;
}

void RememberSignals() {
  Update([](const platform::SignalHandler&) { return true; });
}

void KeepSignals() { Update(IsOfJavaScript); }

void RestoreSignals() {
  Update([](const platform::SignalHandler&) { return false; });
}

void LetLibrariesTakeSignals() { is_off.store(true, std::memory_order_relaxed); }

}  // namespace dlpack
