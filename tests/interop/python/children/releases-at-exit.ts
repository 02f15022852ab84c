/**
 * Ends, or disconnects from a module that stands in for Ray, while 2000 references wait to be dropped. Prints how many
 * were dropped before the exit functions, or the function that disconnects.
 */

import { callAsync, type PyObject, python } from 'dlpack/python';
import { shutdown } from 'dlpack/ray';

const py = python();
py.exec(`
import atexit, sys, types
dropped = 0
class Counted:
  def __del__(self):
    global dropped
    dropped += 1
def end():
  atexit.unregister(end)
  print(dropped, flush=True)
atexit.register(end)
sys.modules['ray'] = types.ModuleType('ray')
sys.modules['ray'].__dict__.update(get=None, put=None, shutdown=end)
`);
const { Counted } = py.import('__main__');
const objects: PyObject[] = Array.from({ length: 2000 }, () => Counted());
// While an asynchronous call runs, the end of a tick leaves released references to another thread.
callAsync(py.import('time').sleep, 3600).catch(() => {});
for (const [i, object] of objects.entries()) {
  object[Symbol.dispose]();
  if (i % 50 === 49) await null;
}
if (process.argv[2] === 'shutdown') await shutdown();
process.exit(0);
