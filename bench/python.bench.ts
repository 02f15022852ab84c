/**
 * Python in the process: exchanges between JavaScript and Python libraries, compared with exchanges between the
 * libraries in a Python process of its own.
 *
 *   npm run bench -- python
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { describeMachine } from './machine.js';
import { compared, type Run, shown, verdict } from './runs.js';
import { beside, runDriverOnEach } from './runtimes.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const RUNS = 3;

/** An operation of drivers/python.ts, its counterpart in drivers/python.py, and the limit: a ratio, or nanoseconds more. */
interface Row {
  readonly name: string;
  readonly peer: string;
  readonly batch: string;
  readonly limit?: number;
}
const exchanges: readonly Row[] = [
  {
    name: 'fromDLPack(torch tensor), dispose',
    peer: 'np.from_dlpack(torch tensor)',
    batch: 'np_from_torch',
    limit: 0.15,
  },
  {
    name: 'py.tensor(x, torch.Tensor), released',
    peer: 'torch.from_dlpack(array)',
    batch: 'torch_from_np',
    limit: 0.6,
  },
  { name: 'py.tensor(x, np.ndarray), released', peer: 'np.from_dlpack(array)', batch: 'np_from_np', limit: 2.2 },
  { name: 'torch.from_dlpack(x), released', peer: 'torch.from_dlpack(array)', batch: 'torch_from_np', limit: 0.6 },
  { name: 'np.from_dlpack(x), released', peer: 'np.from_dlpack(array)', batch: 'np_from_np', limit: 2.2 },
];
const calls: readonly Row[] = [
  { name: 'py.callTensor(torch.add, t, t), dispose', peer: 'torch.add(t, t)', batch: 'torch_add', limit: 600 },
  { name: 'fromDLPack(torch.add(t, t)), both released', peer: 'torch.add(t, t)', batch: 'torch_add' },
  { name: 'py.callTensor(np.add, a, a), dispose', peer: 'np.add(a, a)', batch: 'np_add', limit: 600 },
  { name: 'second(t, t) of Python code, released', peer: 'second(t, t)', batch: 'call_second', limit: 600 },
  {
    name: 'py.callTensor(second, x, x), JavaScript tensors in and out, dispose',
    peer: 'second(t, t)',
    batch: 'call_second',
    limit: 600,
  },
];

const { runs, others } = runDriverOnEach<Run>('python', RUNS);
const table = (part: readonly Row[], compare: (own: number, peer: number) => number, digits: number) =>
  part
    .map(({ name, peer, batch, limit }) => {
      const { own, other, median, least } = compared(runs, name, batch, compare);
      const [mine, theirs] = [own, other].map((t) => `${shown(t?.median)} | ${shown(t?.min)}`);
      const elsewhere = others
        .map((each) => ` ${shown(compared(each, name, batch, compare).median, digits)} |`)
        .join('');
      return `| ${name} | ${mine} | ${peer} | ${theirs} | ${shown(median, digits)} | ${shown(least, digits)} | ${verdict(median, limit)} |${elsewhere}`;
    })
    .join('\n');
const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
const [besideNames, besideLine] = [beside.map(({ name }) => ` ${name} |`).join(''), '---|'.repeat(beside.length)];
const versions = Object.entries(runs[0]?.versions ?? {}).map(([name, v]) => `${name} ${v}`);
const report = `# Python in the process

Date ${new Date().toISOString().slice(0, 10)}; \`npm run bench -- python\`; ${describeMachine()}, load ${(loadavg()[0] as number).toFixed(1)}; dlpack ${version}, Node ${process.versions.node}, ${versions.join(', ')}.

Nanoseconds for one operation on a float32 tensor of shape 2 by 3, in CPU time of the thread. Python runs in a process of its own,
and both processes take turns, 20 times with 1000 operations. Figures are medians over ${RUNS} such runs, and the least of all samples.
\`x\` is a JavaScript tensor, \`t\` a PyTorch tensor, \`a\` a NumPy array. The last columns are the limit that this project has set
itself, whether the median holds it, and the same figure on other versions of Node.

| JavaScript | median | least | Python | median | least | ratio of medians | of least | limit | holds |${besideNames}
|---|---|---|---|---|---|---|---|---|---|${besideLine}
${table(exchanges, (own, peer) => own / peer, 3)}

Calls, and how many nanoseconds longer they take than the same call in Python.

| JavaScript | median | least | Python | median | least | more, medians | least | limit | holds |${besideNames}
|---|---|---|---|---|---|---|---|---|---|${besideLine}
${table(calls, (own, peer) => own - peer, 0)}
`;
writeFileSync(`${root}bench/results/python.md`, report);
console.log(report);
