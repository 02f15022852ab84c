// SIGSEGV belongs to the JavaScript runtime, whose WebAssembly traps arrive as that signal.
#ifndef DLPACK_NODE_SIGNALS_H_
#define DLPACK_NODE_SIGNALS_H_

namespace dlpack {

// To be called before and after anything that may load libtvm_ffi, whose constructor takes the signal for itself:
// remembers the handler that is installed, or puts the one remembered back over that library's. Handlers of anybody
// else stay. Any thread.
void KeepSegmentationSignal();

}  // namespace dlpack

#endif  // DLPACK_NODE_SIGNALS_H_
