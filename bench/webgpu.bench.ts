/**
 * WebGPU in a browser: GPU tensors from one library to another, and strided copies.
 *
 *   npm run bench -- webgpu
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { bundleLibraries, libraries } from '../tests/browser/bundle.js';
import { runPages, tools } from '../tests/browser/run.js';
import { importMap, root } from '../tests/browser/server.js';
import { resultOf } from '../tests/child.js';
import { short, stridedTable, formatTime as time } from './webgpu/strided-table.js';
import type { PageResult } from './webgpu/timing.js';

const browser = tools.findBrowser();
if (browser === null) throw new Error(tools.browserMissing);
await bundleLibraries();
const pages = ['../bench/webgpu/exchange.page.js', '../bench/webgpu/strided.page.js'];
const { reports } = await runPages(browser, pages, importMap(['.', './adapters', './webgpu']));
const [exchange, strided] = reports.map(({ lines }) => resultOf<PageResult>(lines.join('\n'))) as [
  PageResult,
  PageResult,
];

const versionOf = (name: string): string =>
  JSON.parse(readFileSync(join(libraries, name, 'package.json'), 'utf8')).version;
const of = (page: PageResult, name: string): number => page.rows[name] as number;

const pairs = [
  ['jax-js to TensorFlow.js', 'shared', 'jax-js to TensorFlow.js: download and upload'],
  ['jax-js to ONNX Runtime', 'shared', 'jax-js to TensorFlow.js: download and upload'],
  ['TensorFlow.js to ONNX Runtime', 'shared', 'TensorFlow.js to jax-js: download and upload'],
  ['ONNX Runtime to TensorFlow.js', 'one GPU copy', 'jax-js to TensorFlow.js: download and upload'],
  ['TensorFlow.js to jax-js', 'one GPU copy', 'TensorFlow.js to jax-js: download and upload'],
] as const;
const exchanges = pairs.map(([name, how, reference]) => {
  const [ours, theirs] = [of(exchange, `${name}: ${how}`), of(exchange, reference)];
  return `| ${name} | ${how} | ${time(ours)} | ${time(theirs)} | ${short(theirs / ours)} |`;
});
const runs = ['shared, and a run', 'download, upload and a run'].map((how) =>
  time(of(exchange, `TensorFlow.js to ONNX Runtime: ${how}`)),
);
const { vendor, architecture } = strided.adapter;
const report = `# WebGPU

Date ${new Date().toISOString().slice(0, 10)}; \`npm run bench -- webgpu\`; ${cpus()[0]?.model.trim()}, ${cpus().length} cores;
${/Chrome\/\S+/.exec(strided.agent)?.[0] ?? strided.agent}, adapter ${vendor} ${architecture} (software on the processor);
onnxruntime-web ${versionOf('onnxruntime-web')}, TensorFlow.js ${versionOf('@tensorflow/tfjs-core')}, jax-js ${versionOf('@jax-js/jax')}.
Every time includes the wait until the GPU has finished, except that a shared buffer needs no work.

## A tensor of 16 MiB from one library to another

The least of 15 runs. The other column downloads the tensor with the one library and uploads it with the other. For ONNX Runtime, which uploads during a
run, it is the time of another pair with the same library on the other side. jax-js takes no buffers, so a copy for it first makes
a new array. The adapter leaves out the upload of that array's elements, which the copy overwrites.

| from and to | how | through dlpack | download and upload | times faster |
|---|---|---|---|---|
${exchanges.join('\n')}

From TensorFlow.js to ONNX Runtime with the run of a model (one multiplication): ${runs[0]} shared, ${runs[1]} with download and upload.

## Strided copies of 16 MiB

Times are medians. The bandwidth is relative to a \`copyBufferToBuffer\` of as many bytes. Both took turns, 30 times each. The next
column is the bandwidth of ten copies before one wait: Chromium reports the end of work in steps of about 1.1 ms, which is half of
the time of one \`copyBufferToBuffer\`. The generic shader has shape and strides in a uniform and moves one element of 4 bytes in each
invocation; its time is the least of five. On a software adapter with fewer than eight cores, rows of up to 96 bytes are copied by
a shader where 12 bytes or more divide their length and stride, and other rows of 16 bytes and more through a texture. A command for
each row took 25 ms for the rows of 1 KiB.

${stridedTable(strided)}

The aim is a bandwidth of 0.4 where rows are contiguous, for one copy and its wait. With two cores, rows of 260 bytes and more reach
it, and rows that are a multiple of 256 bytes apart; in some runs one of them has 0.33. Rows of 100 and 132 bytes reach 0.30 to 0.44,
and shorter rows 0.27 to 0.36: [why, and what was tried](../../docs/decisions/rows-through-a-texture.md). With sixteen cores rows of
up to 132 bytes reach 0.5 and more, and on a GPU [all rows reach 2.3 and more](webgpu-gpu.md).
`;
writeFileSync(`${root}bench/results/webgpu.md`, report);
console.log(report);
