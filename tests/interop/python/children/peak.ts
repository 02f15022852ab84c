/** Takes more memory from Python in one tick than the limit allows at once. Prints how much the peak grew. */

import { isMainThread, Worker, workerData } from 'node:worker_threads';
import { fromDLPack, Tensor } from 'dlpack';
import { callAsync, type PyObject, python } from 'dlpack/python';
import { peakMiB, printGrowth } from '../../../peak.js';

/** NumPy, or PyTorch with one thread: on a busy machine its threads take most of the time to wait for one another. */
function libraryOf(name: string): PyObject {
  const library = python().import(name.includes('torch') ? 'torch' : 'numpy');
  if (name.includes('torch')) library.set_num_threads(1);
  return library;
}

function run(name: string): void {
  const py = python();
  const library = libraryOf(name);
  const { ones } = library;
  const sum = py.eval('lambda t: __import__("numpy").from_dlpack(t).astype("float64").sum(keepdims=True)');
  const wrapped = py.eval(
    'lambda n: type("Wrapped", (), {"__dlpack__": lambda self, **k: __import__("numpy").ones(n).__dlpack__(**k)})()',
  );
  const source = Tensor.zeros([2 ** 17], 'uint8');
  const size = 2 ** 17; // 1 MiB of float64
  const show = (x: Tensor): void => {
    if (x.data[size - 1] !== 1) throw new Error('wrong value');
    x.dispose();
  };
  const loops: Record<string, () => void> = {
    numpy: () => show(py.callTensor(ones, size)),
    torch: () => show(py.callTensor(ones, size, py.kwargs({ dtype: library.float64 }))),
    // Through __dlpack__, because the class is unknown.
    capsule: () => show(py.callTensor(wrapped, size)),
    object: () => {
      using object = ones(size) as PyObject & Disposable;
      show(fromDLPack(object) as Tensor);
    },
    // Between large temporaries of Python, where a small block that stays alive would split the free memory.
    get: () => {
      const x = py.callTensor(sum, source);
      if (x.get(0) !== 0) throw new Error('wrong value');
      x.dispose();
    },
  };
  printGrowth(3000, loops[name] as () => void);
}

/** As below, in one tick. */
function dropInLoop(name: string): void {
  const { ones } = libraryOf(name);
  // 1 MiB, and many small ones of 64 KiB.
  const [size, rounds] = name.includes('small') ? [2 ** 13, 60_000] : [2 ** 17, 6000];
  printGrowth(rounds, () => ones(name.includes('torch') ? 2 * size : size));
}

/** Results that no one keeps and no one disposes. */
async function drop(): Promise<void> {
  const { ones } = python().import('numpy');
  await callAsync(ones, 2 ** 17);
  const before = peakMiB();
  for (let i = 0; i < 4000; i++) await callAsync(ones, 2 ** 17);
  console.log(`RESULT ${JSON.stringify(Math.round(peakMiB() - before))}`);
}

/** Tensors that are disposed, of objects that no one keeps. */
async function convert(library: string): Promise<void> {
  const { ones } = libraryOf(library);
  const size = library === 'torch' ? 2 ** 18 : 2 ** 17; // 1 MiB
  const next = async (): Promise<void> => (fromDLPack(await callAsync(ones, size)) as Tensor).dispose();
  await next();
  const before = peakMiB();
  for (let i = 0; i < 3000; i++) await next();
  console.log(`RESULT ${JSON.stringify(Math.round(peakMiB() - before))}`);
}

const [, , name = '', where] = process.argv;
if (name === 'dropped') await drop();
else if (name.startsWith('converted')) await convert(name.split(' ')[1] as string);
else if (name.startsWith('dropped')) dropInLoop(name);
else if (where === 'worker' && isMainThread)
  new Worker(new URL(import.meta.url), { argv: [name], workerData: 'inside' });
else if (where !== 'worker' || workerData === 'inside') run(name);
