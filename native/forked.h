// A process that Python forked off (os.fork, multiprocessing) has one thread and, on V8, no heap of JavaScript's.
// Python goes on in it; JavaScript cannot.
#ifndef DLPACK_NODE_FORKED_H_
#define DLPACK_NODE_FORKED_H_

namespace dlpack {

// Written once, before the one thread of such a process runs anything.
extern bool is_forked;

// Any thread, any number of times.
void WatchForks();

// Ends a process that was forked off, and says why: its next step would be JavaScript.
[[noreturn]] void LeaveForked();

}  // namespace dlpack

#endif  // DLPACK_NODE_FORKED_H_
