/** A signal that the JavaScript thread blocks, and that waits for it, while a thread of the pool starts. */

import { callAsync, python } from 'dlpack/python';

const py = python();
py.exec(`
import signal, threading
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
signal.pthread_kill(threading.get_ident(), signal.SIGUSR2)
def is_pending(): return signal.SIGUSR2 in signal.sigpending()
def take(): return signal.sigwait([signal.SIGUSR2]) == signal.SIGUSR2
`);
const isPending = py.eval('is_pending');
const before = isPending();
const length = callAsync(py.eval('len'), [1, 2]);
// Taken before the event loop runs, because Bun unblocks all signals while it waits for events.
console.log(before, isPending(), py.eval('take')(), await length);
