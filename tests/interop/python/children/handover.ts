/** Exchange tables that take a managed tensor over and delete it on another thread. Prints `ok` when nothing stays. */

import { Tensor } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import { python } from 'dlpack/python';

const py = python();
py.exec(`
import ctypes, threading
Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)  # without the GIL
To = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))
threads, gate = [], threading.Event()
def start(managed, event):
    delete = Deleter(ctypes.c_void_p.from_address(managed + 16).value)
    def run():
        if event is not None: event.wait()
        delete(managed)
    thread = threading.Thread(target=run)
    threads.append(thread)
    thread.start()
    return thread
def give(made, out):
    made = made()
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(made))
    out[0] = id(made)
    return 0
def finish():
    gate.set()
    while threads: threads.pop().join()
    gate.clear()
def convert(managed, out):
    if Made.order == 'during': start(managed, None).join()
    if Made.order == 'racing': start(managed, None)
    if Made.order == 'after': start(managed, gate)
    return give(Made, out) if Made.succeeds else -1
kept = To(convert)
table = (ctypes.c_void_p * 7)(0x300000001, None, None, None, ctypes.cast(kept, ctypes.c_void_p), None, None)
class Made: __c_dlpack_exchange_api__ = ctypes.addressof(table)
`);
const Made = py.eval('Made');
const finish = py.eval('finish');
for (const order of ['during', 'racing', 'after']) {
  for (const succeeds of [true, false]) {
    for (let i = 0; i < (order === 'racing' ? 50 : 3); i++) {
      Made.order = order;
      Made.succeeds = succeeds;
      const x = Tensor.from([1, 2, 3]);
      let hasSucceeded = false;
      try {
        py.tensor(x, Made)[Symbol.dispose]();
        hasSucceeded = true;
      } catch {}
      x.dispose();
      finish();
      const { exports, storages } = liveCounts();
      if (hasSucceeded !== succeeds || exports + storages !== 0) {
        console.log(`${order}, ${succeeds}: ${hasSucceeded}, ${exports} exports, ${storages} storages`);
      }
    }
  }
}
console.log('ok');
