// Signals belong to the JavaScript runtime: its WebAssembly traps arrive as SIGSEGV, process.on('SIGTERM') and Ctrl-C
// need their handlers. Libraries that are loaded into the process (libtvm_ffi, Ray, Python's faulthandler) install
// their own.
#ifndef DLPACK_NODE_SIGNALS_H_
#define DLPACK_NODE_SIGNALS_H_

namespace dlpack {

// Remembers the handlers that are installed, before code that may replace them. Any thread.
void RememberSignals();

// Puts what was remembered back over handlers that a library has installed since. Handlers of the runtime and of its
// addons, and defaults, are remembered in turn: JavaScript may have installed them. Any thread.
void KeepSignals();

// Puts everything back that was remembered. To be called when no JavaScript can have run since then. Any thread.
void RestoreSignals();

// From now on these functions do nothing: libraries keep what they take. Any thread.
void LetLibrariesTakeSignals();

}  // namespace dlpack

#endif  // DLPACK_NODE_SIGNALS_H_
