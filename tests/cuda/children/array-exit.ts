/** Ends with Python arrays alive, and just disposed, on the main thread, after a worker ended with some. */

import { isMainThread, Worker } from 'node:worker_threads';
import { Tensor } from 'dlpack';
import { asCudaArray, loadDriver, synchronize } from 'dlpack/cuda';
import { addressOf } from 'dlpack/native';
import { python } from 'dlpack/python';
import { fake, fakeDriverPath } from '../fake.js';

function hold(): Tensor[] {
  const x = Tensor.from(new Float32Array(24)).to('cuda:0');
  synchronize();
  const py = python();
  py.exec('class Array: pass');
  const make = py.eval(
    'lambda p: (lambda a: (setattr(a, "__cuda_array_interface__", dict(shape=(4,), typestr="<f4", data=(p, False), version=3)), a)[1])(Array())',
  );
  asCudaArray(make(addressOf(x))).dispose();
  return [x, asCudaArray(make(addressOf(x))), asCudaArray(make(addressOf(x)))];
}

if (isMainThread) fake.forget();
loadDriver({ path: fakeDriverPath });
const held = hold();
if (isMainThread) {
  const worker = new Worker(new URL(import.meta.url));
  worker.on('exit', () => {
    held[2]?.dispose(); // to be released by an operation that never comes
    console.log('ended');
    process.exit(held.length === 3 ? 0 : 1);
  });
} else process.exit(0);
