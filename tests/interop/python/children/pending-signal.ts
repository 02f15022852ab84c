/** A signal that the JavaScript thread blocks, and that waits for it, while a thread of the pool starts. */

import { callAsync, python } from 'dlpack/python';

const py = python();
py.exec(`
import signal, threading
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
signal.pthread_kill(threading.get_ident(), signal.SIGUSR2)
def is_pending(): return signal.SIGUSR2 in signal.sigpending()
`);
const isPending = py.eval('is_pending');
const before = isPending();
const length = await callAsync(py.eval('len'), [1, 2]);
console.log(before, length, isPending());
