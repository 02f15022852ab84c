/**
 * WebGPU in a browser: GPU tensors from one library to another.
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
import { short, formatTime as time } from './webgpu/strided-table.js';
import type { PageResult } from './webgpu/timing.js';

const browser = tools.findBrowser();
if (browser === null) throw new Error(tools.browserMissing);
await bundleLibraries();
const pages = ['../bench/webgpu/exchange.page.js'];
const { reports } = await runPages(browser, pages, importMap(['.', './adapters', './webgpu']));
const exchange = resultOf<PageResult>(reports[0]?.lines.join('\n') ?? '');

const versionOf = (name: string): string =>
  JSON.parse(readFileSync(join(libraries, name, 'package.json'), 'utf8')).version;
const of = (name: string): number => exchange.rows[name] as number;

const pairs = [
  ['jax-js to TensorFlow.js', 'shared', 'jax-js to TensorFlow.js: download and upload'],
  ['jax-js to ONNX Runtime', 'shared', 'jax-js to TensorFlow.js: download and upload'],
  ['TensorFlow.js to ONNX Runtime', 'shared', 'TensorFlow.js to jax-js: download and upload'],
  ['ONNX Runtime to TensorFlow.js', 'one GPU copy', 'jax-js to TensorFlow.js: download and upload'],
  ['TensorFlow.js to jax-js', 'one GPU copy', 'TensorFlow.js to jax-js: download and upload'],
] as const;
const exchanges = pairs.map(([name, how, reference]) => {
  const [ours, theirs] = [of(`${name}: ${how}`), of(reference)];
  return `| ${name} | ${how} | ${time(ours)} | ${time(theirs)} | ${short(theirs / ours)} |`;
});
const runs = ['shared, and a run', 'download, upload and a run'].map((how) =>
  time(of(`TensorFlow.js to ONNX Runtime: ${how}`)),
);
const { vendor, architecture } = exchange.adapter;
const report = `# WebGPU

Date ${new Date().toISOString().slice(0, 10)}; \`npm run bench -- webgpu\`; ${cpus()[0]?.model.trim()}, ${cpus().length} cores;
${/Chrome\/\S+/.exec(exchange.agent)?.[0] ?? exchange.agent}, adapter ${vendor} ${architecture} (software on the processor);
onnxruntime-web ${versionOf('onnxruntime-web')}, TensorFlow.js ${versionOf('@tensorflow/tfjs-core')}, jax-js ${versionOf('@jax-js/jax')}.
Every time includes the wait until the GPU has finished, except that a shared buffer needs no work.

## A tensor of 16 MiB from one library to another

The least of 15 runs. The other column downloads the tensor with the one library and uploads it with the other. For ONNX Runtime, which uploads during a
run, it is the time of another pair with the same library on the other side. jax-js takes no buffers, so a copy for it first makes
a new array, which jax-js fills by an upload. Strided copies are measured [on a GPU](webgpu-gpu.md).

| from and to | how | through dlpack | download and upload | times faster |
|---|---|---|---|---|
${exchanges.join('\n')}

From TensorFlow.js to ONNX Runtime with the run of a model (one multiplication): ${runs[0]} shared, ${runs[1]} with download and upload.
`;
writeFileSync(`${root}bench/results/webgpu.md`, report);
console.log(report);
