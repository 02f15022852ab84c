/**
 * Python in the process: exchanges between JavaScript and its libraries, against the libraries' own, in one process.
 *
 *   npm run bench -- python
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { fromDLPack, Tensor } from 'dlpack';
import { python } from 'dlpack/python';
import { sample, summarise } from './measure.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const ROUNDS = 5;
const py = python();
py.exec(`
import time
import numpy as np
import torch
array = np.arange(6, dtype=np.float32).reshape(2, 3)
tensor = torch.arange(6, dtype=torch.float32).reshape(2, 3)
def samples(batch, n, count):
    times = []
    for _ in range(count):
        start = time.perf_counter_ns()
        batch(n)
        times.append((time.perf_counter_ns() - start) / n)
    return times
def np_from_torch(n):
    f = np.from_dlpack
    for _ in range(n): f(tensor)
def np_from_np(n):
    f = np.from_dlpack
    for _ in range(n): f(array)
def torch_from_np(n):
    f = torch.from_dlpack
    for _ in range(n): f(array)
def call(n):
    f = torch.add
    for _ in range(n): f(tensor, tensor)
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
const t = main.tensor;
const [fromNumpy, fromTorch, add] = [np.from_dlpack, torch.from_dlpack, torch.add];

const ours: Record<string, [(n: number) => void, string]> = {
  'fromDLPack(torch tensor), dispose': [
    (n) => {
      for (let i = 0; i < n; i++) fromDLPack(t).dispose();
    },
    'np.from_dlpack(torch tensor)',
  ],
  'torch.from_dlpack(JavaScript tensor), released': [
    (n) => {
      for (let i = 0; i < n; i++) fromTorch(x)[Symbol.dispose]();
    },
    'torch.from_dlpack(array)',
  ],
  'np.from_dlpack(JavaScript tensor), released': [
    (n) => {
      for (let i = 0; i < n; i++) fromNumpy(x)[Symbol.dispose]();
    },
    'np.from_dlpack(array)',
  ],
  'torch.add(a, b) from JavaScript, result as a JavaScript tensor': [
    (n) => {
      for (let i = 0; i < n; i++) {
        const sum = add(t, t);
        fromDLPack(sum).dispose();
        sum[Symbol.dispose]();
      }
    },
    'torch.add(a, b) in Python',
  ],
};
const theirs: Record<string, string> = {
  'np.from_dlpack(torch tensor)': 'np_from_torch',
  'torch.from_dlpack(array)': 'torch_from_np',
  'np.from_dlpack(array)': 'np_from_np',
  'torch.add(a, b) in Python': 'call',
};

const times = new Map<string, number[]>();
const add_ = (name: string, more: readonly number[]) => times.set(name, [...(times.get(name) ?? []), ...more]);
for (const [batch] of Object.values(ours)) sample(batch, 5000, 3);
for (let round = 0; round < ROUNDS; round++) {
  for (const [name, [batch]] of Object.entries(ours)) add_(name, sample(batch, 10_000, 5));
  for (const [name, batch] of Object.entries(theirs)) {
    add_(name, [...main.samples(main[batch], 10_000, 5)] as number[]);
  }
}
const rows = Object.entries(ours).map(([name, [, peer]]) => {
  const [mine, other] = [summarise(times.get(name) as number[]), summarise(times.get(peer) as number[])];
  const cells = [mine.median, mine.min, other.median, other.min].map((ns) => ns.toFixed(0));
  return `| ${name} | ${cells[0]} | ${cells[1]} | ${peer} | ${cells[2]} | ${cells[3]} | ${(mine.median / other.median).toFixed(2)} |`;
});
const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
const report = `# Python in the process

Date ${new Date().toISOString().slice(0, 10)}; \`npm run bench -- python\`; ${cpus()[0]?.model.trim()}, ${cpus().length} cores; dlpack ${version}, Node ${process.versions.node}, Python ${String(
  py.import('platform').python_version(),
)}, NumPy ${String(np.__version__)}, PyTorch ${String(torch.__version__)}.

Nanoseconds for one operation on a float32 tensor of shape 2 by 3: medians and least of ${ROUNDS} rounds in which both sides
took turns, in one process.

| JavaScript | median | least | Python | median | least | ratio |
|---|---|---|---|---|---|---|
${rows.join('\n')}
`;
writeFileSync(`${root}bench/results/python.md`, report);
console.log(report);
