/**
 * Python in the process: exchanges between JavaScript and Python libraries, compared with exchanges between the
 * libraries in a Python process of its own.
 *
 *   npm run bench -- python
 */

import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { fromDLPack, Tensor } from 'dlpack';
import { python } from 'dlpack/python';
import { describeMachine } from './machine.js';
import { summarise } from './measure.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const ROUNDS = 60;
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

/** An operation, its counterpart, and the goal: a ratio, or additional nanoseconds. */
interface Row {
  readonly name: string;
  readonly run: () => void;
  readonly peer: string;
  readonly batch: string;
  readonly goal?: number;
}
const exchanges: readonly Row[] = [
  {
    name: 'fromDLPack(torch tensor), dispose',
    run: () => fromDLPack(t).dispose(),
    peer: 'np.from_dlpack(torch tensor)',
    batch: 'np_from_torch',
    goal: 0.12,
  },
  {
    name: 'py.tensor(x, torch.Tensor), released',
    run: () => py.tensor(x, TorchTensor)[release](),
    peer: 'torch.from_dlpack(array)',
    batch: 'torch_from_np',
    goal: 0.45,
  },
  {
    name: 'py.tensor(x, np.ndarray), released',
    run: () => py.tensor(x, ndarray)[release](),
    peer: 'np.from_dlpack(array)',
    batch: 'np_from_np',
    goal: 2,
  },
  {
    name: 'torch.from_dlpack(x), released',
    run: () => fromTorch(x)[release](),
    peer: 'torch.from_dlpack(array)',
    batch: 'torch_from_np',
    goal: 0.45,
  },
  {
    name: 'np.from_dlpack(x), released',
    run: () => fromNumpy(x)[release](),
    peer: 'np.from_dlpack(array)',
    batch: 'np_from_np',
    goal: 2,
  },
];
const calls: readonly Row[] = [
  {
    name: 'py.callTensor(torch.add, t, t), dispose',
    run: () => py.callTensor(torchAdd, t, t).dispose(),
    peer: 'torch.add(t, t)',
    batch: 'torch_add',
    goal: 500,
  },
  {
    name: 'fromDLPack(torch.add(t, t)), both released',
    run: () => {
      const sum = torchAdd(t, t);
      fromDLPack(sum).dispose();
      sum[release]();
    },
    peer: 'torch.add(t, t)',
    batch: 'torch_add',
  },
  {
    name: 'py.callTensor(np.add, a, a), dispose',
    run: () => py.callTensor(npAdd, a, a).dispose(),
    peer: 'np.add(a, a)',
    batch: 'np_add',
    goal: 500,
  },
  {
    name: 'second(t, t) of Python code, released',
    run: () => second(t, t)[release](),
    peer: 'second(t, t)',
    batch: 'call_second',
    goal: 500,
  },
  {
    name: 'py.callTensor(second, x, x), JavaScript tensors in and out, dispose',
    run: () => py.callTensor(second, x, x).dispose(),
    peer: 'second(t, t)',
    batch: 'call_second',
    goal: 500,
  },
];

const times = new Map<string, number[]>();
const record = (name: string, time: number) => {
  if (!times.has(name)) times.set(name, []);
  times.get(name)?.push(time);
};
const repeat = (run: () => void) => (n: number) => {
  for (let i = 0; i < n; i++) run();
};
const rows = [...exchanges, ...calls].map((row) => ({ ...row, loop: repeat(row.run) }));
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
for (const { loop } of rows) loop(20_000);
for (let round = 0; round < ROUNDS; round++) {
  for (const { name, loop, batch } of rows) {
    record(name, time(loop));
    record(batch, await ask(batch));
  }
}
peer.stdin.end();
const table = (part: readonly Row[], compare: (mine: number, peer: number) => number, digits: number) =>
  part
    .map(({ name, peer, batch, goal }) => {
      const [mine, other] = [summarise(times.get(name) as number[]), summarise(times.get(batch) as number[])];
      const ns = [mine.median, mine.min, other.median, other.min].map((time) => time.toFixed(0));
      const cells = [compare(mine.median, other.median), compare(mine.min, other.min)].map((x) => x.toFixed(digits));
      return `| ${name} | ${ns[0]} | ${ns[1]} | ${peer} | ${ns[2]} | ${ns[3]} | ${cells[0]} | ${cells[1]} | ${goal ?? ''} |`;
    })
    .join('\n');
const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
const report = `# Python in the process

Date ${new Date().toISOString().slice(0, 10)}; \`npm run bench -- python\`; ${describeMachine()}, load ${(loadavg()[0] as number).toFixed(1)}; dlpack ${version}, Node ${process.versions.node}, Python ${String(
  py.import('platform').python_version(),
)}, NumPy ${String(np.__version__)}, PyTorch ${String(torch.__version__)}.

Nanoseconds for one operation on a float32 tensor of shape 2 by 3. Python runs in a process of its own. Medians and least of
${ROUNDS} samples of ${BATCH} operations, for which both processes took turns, in CPU time of the thread. \`x\` is a JavaScript tensor,
\`t\` a PyTorch tensor, \`a\` a NumPy array.

| JavaScript | median | least | Python | median | least | ratio of medians | of least | goal |
|---|---|---|---|---|---|---|---|---|
${table(exchanges, (mine, peer) => mine / peer, 2)}

Calls, and how many nanoseconds longer they take than the same call in Python.

| JavaScript | median | least | Python | median | least | more, medians | least | goal |
|---|---|---|---|---|---|---|---|---|
${table(calls, (mine, peer) => mine - peer, 0)}
`;
writeFileSync(`${root}bench/results/python.md`, report);
console.log(report);
