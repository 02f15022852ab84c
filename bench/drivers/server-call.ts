/** One call with 24.9 MB, in the process and over a pipe: server-call.js <python> <folder>. Prints milliseconds as JSON. */

import { join } from 'node:path';
import { Tensor } from 'dlpack';
import { python as start } from 'dlpack/python';
import { PipeChild } from './pipe-child.js';

const [python, folder] = process.argv.slice(2) as [string, string];
const x = Tensor.zeros([1080, 1920, 3], 'float32').fill(1);
const bytes = new Uint8Array(x.data.buffer, x.data.byteOffset, x.nbytes);
const py = start();
py.exec('import numpy\nsums = lambda x: float(numpy.asarray(x).reshape(-1)[::4096].sum())');
const sums = py.eval('sums');
const child = new PipeChild(python, join(folder, 'server_child.py'), 'sum');

const sides = { ours: () => py.callAsync(sums, x), theirs: () => child.send(bytes) };
const times: Record<string, number[]> = { ours: [], theirs: [] };
for (let i = 0; i < 60; i++) {
  for (const [side, call] of Object.entries(sides)) {
    const before = performance.now();
    await call();
    if (i >= 10) times[side]?.push(performance.now() - before);
  }
}
child.end();
console.log(JSON.stringify(times));
