/** Ends while 2000 references wait to be dropped. Prints how many were dropped before the exit functions ran. */

import { callAsync, type PyObject, python } from 'dlpack/python';

const py = python();
py.exec(`
import atexit
dropped = 0
class Counted:
  def __del__(self):
    global dropped
    dropped += 1
atexit.register(lambda: print(dropped, flush=True))
`);
const { Counted } = py.import('__main__');
const objects: PyObject[] = Array.from({ length: 2000 }, () => Counted());
// While an asynchronous call runs, the end of a tick leaves released references to another thread.
callAsync(py.import('time').sleep, 3600).catch(() => {});
for (const [i, object] of objects.entries()) {
  object[Symbol.dispose]();
  if (i % 50 === 49) await null;
}
process.exit(0);
