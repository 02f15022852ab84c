// Signals belong to the JavaScript runtime: its WebAssembly traps arrive as SIGSEGV, and process.on('SIGTERM') and
// Ctrl-C need their handlers. But libraries that are loaded into the process (libtvm_ffi, Ray, Python's faulthandler)
// install their own handlers.
#pragma once

namespace dlpack {

// Remembers the handlers that are installed, before code that may replace them. Any thread.
void RememberSignals();

// Restores the remembered handlers where a library has replaced them. Remembers new handlers of the runtime and of its
// addons, and defaults, because JavaScript may have installed them. Any thread.
void KeepSignals();

// Restores all remembered handlers. Only for code during which no JavaScript can have run. Any thread.
void RestoreSignals();

// Turns these functions off, so that libraries keep the handlers that they install. Any thread.
void LetLibrariesTakeSignals();

}  // namespace dlpack
