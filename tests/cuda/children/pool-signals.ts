/**
 * The first thread of Python's pool, when the watcher of CUDA starts it: the watcher drops an array whose work has ended.
 * Prints the signals that threads of the pool block, and those that the JavaScript thread blocks.
 */

import { Tensor } from 'dlpack';
import { asCudaArray, loadDriver, Stream, synchronize } from 'dlpack/cuda';
import { addressOf } from 'dlpack/native';
import { callAsync, python } from 'dlpack/python';
import { fake, fakeDriverPath } from '../fake.js';

loadDriver({ path: fakeDriverPath });
fake.configure({ queriesRun: true });
const py = python({ threads: 1 });
py.exec(`
import signal, sys, threading
dropped = threading.Event()
class Array:
    def __init__(self, address):
        self.__cuda_array_interface__ = dict(shape=(24,), typestr="<f4", data=(address, False), version=3)
    def __del__(self): dropped.set()
blocked = lambda: str(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])))
`);
const main = py.import('__main__');
const x = Tensor.from(new Float32Array(24)).to('cuda:0');
synchronize();
const stream = new Stream();
const array = main.Array(addressOf(x));
const shared = asCudaArray(array);
array[Symbol.dispose]();
fake.delay(stream.handle);
const copy = stream.use(() => shared.copy());
shared.dispose();
// No operation on this thread and no call on the pool from here on, until the watcher has dropped the array.
await new Promise((resolve) => setTimeout(resolve, 0));
fake.release(stream.handle);
const until = async (done: () => boolean): Promise<void> => {
  while (!done()) await new Promise((resolve) => setTimeout(resolve, 2));
};
await until(() => fake.calls('cuEventDestroy_v2') > 0);
const pool = await callAsync(main.blocked);
await until(() => main.dropped.is_set() as unknown as boolean);
console.log(pool === main.blocked(), copy.size);
