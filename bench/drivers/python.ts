/**
 * One run of python.bench.ts: prints the times of both sides as JSON. Both processes take turns.
 */

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { fromDLPack, Tensor } from 'dlpack';
import { python } from 'dlpack/python';
import { summarise, type Timing } from '../measure.js';
import type { Run } from '../runs.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const ROUNDS = 20;
const BATCH = 1000;
const py = python();
py.exec(`
import numpy as np
import torch
array = np.arange(6, dtype=np.float32).reshape(2, 3)
tensor = torch.arange(6, dtype=torch.float32).reshape(2, 3)
def second(a, b):
    return b
`);
const main = py.import('__main__');
const np = py.import('numpy');
const torch = py.import('torch');
const x = Tensor.from(
  [
    [1, 2, 3],
    [4, 5, 6],
  ],
  { dtype: 'float32' },
);
const { tensor: t, array: a, second } = main;
const { from_dlpack: fromNumpy, add: npAdd, ndarray } = np;
const { from_dlpack: fromTorch, add: torchAdd, Tensor: TorchTensor } = torch;
const release = Symbol.dispose;

/** The operations. Those of the other process are named in drivers/python.py. */
const operations: Record<string, () => void> = {
  'fromDLPack(torch tensor), dispose': () => fromDLPack(t).dispose(),
  'py.tensor(x, torch.Tensor), released': () => py.tensor(x, TorchTensor)[release](),
  'py.tensor(x, np.ndarray), released': () => py.tensor(x, ndarray)[release](),
  'torch.from_dlpack(x), released': () => fromTorch(x)[release](),
  'np.from_dlpack(x), released': () => fromNumpy(x)[release](),
  'py.callTensor(torch.add, t, t), dispose': () => py.callTensor(torchAdd, t, t).dispose(),
  'fromDLPack(torch.add(t, t)), both released': () => {
    const sum = torchAdd(t, t);
    fromDLPack(sum).dispose();
    sum[release]();
  },
  'py.callTensor(np.add, a, a), dispose': () => py.callTensor(npAdd, a, a).dispose(),
  'second(t, t) of Python code, released': () => second(t, t)[release](),
  'py.callTensor(second, x, x), JavaScript tensors in and out, dispose': () => py.callTensor(second, x, x).dispose(),
};

const times = new Map<string, number[]>();
const record = (name: string, time: number) => {
  if (!times.has(name)) times.set(name, []);
  times.get(name)?.push(time);
};
const repeat = (run: () => void) => (n: number) => {
  for (let i = 0; i < n; i++) run();
};
const loops = Object.entries(operations).map(([name, run]) => ({ name, loop: repeat(run) }));
// Both sides use the CPU time of their thread, which ignores other work on the machine.
const { thread_time_ns: now } = py.import('time');
const time = (loop: (n: number) => void): number => {
  const start = now() as number;
  loop(BATCH);
  return ((now() as number) - start) / BATCH;
};

// The other process answers the name of a batch with the time of one operation.
const peer = spawn(`${root}.venv/bin/python`, [`${root}bench/drivers/python.py`, String(BATCH)], {
  stdio: ['pipe', 'pipe', 'inherit'],
});
const answers = createInterface({ input: peer.stdout })[Symbol.asyncIterator]();
const ask = async (batch: string): Promise<number> => {
  peer.stdin.write(`${batch}\n`);
  return Number((await answers.next()).value);
};
const batches = ['np_from_torch', 'torch_from_np', 'np_from_np', 'torch_add', 'np_add', 'call_second'];
for (const { loop } of loops) loop(20_000);
for (let round = 0; round < ROUNDS; round++) {
  for (const { name, loop } of loops) record(name, time(loop));
  for (const batch of batches) record(batch, await ask(batch));
}
peer.stdin.end();
const timings = (names: readonly string[]): Record<string, Timing> =>
  Object.fromEntries(names.map((name) => [name, summarise(times.get(name) as number[])]));
const run: Run = {
  ours: timings(Object.keys(operations)),
  theirs: timings(batches),
  versions: {
    Python: String(py.import('platform').python_version()),
    NumPy: String(np.__version__),
    PyTorch: String(torch.__version__),
  },
};
console.log(JSON.stringify(run));
