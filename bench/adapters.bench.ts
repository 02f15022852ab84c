/**
 * Adapters: what each costs beside the library's own construction of the same object, on Node and in a browser.
 *
 *   npm run bench -- adapters
 */

import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Tensor } from 'dlpack';
import * as adapters from 'dlpack/adapters';
import { bundleAdapters, libraries, transformersImports } from '../tests/browser/bundle.js';
import { runPages, tools } from '../tests/browser/run.js';
import { importMap, root } from '../tests/browser/server.js';
import { resultOf } from '../tests/child.js';
import { disposed, type Library, makeRows, measure, ROUNDS, repeat, type Times } from './adapters/rows.js';
import { describeMachine } from './machine.js';

const require = createRequire(join(libraries, '../package.json'));
const load = (path: string): Promise<Library> => import(pathToFileURL(join(libraries, path)).href);
const transformers = await load('@huggingface/transformers/dist/transformers.node.mjs');
const jax = await load('@jax-js/jax/dist/index.js');
await jax.init('cpu');
jax.defaultDevice('cpu');
const tf: Library = require('@tensorflow/tfjs-core');
tf.enableProdMode();
require('@tensorflow/tfjs-backend-cpu');
await tf.setBackend('cpu');
const sharp: Library = require('sharp');

const pixels = Tensor.zeros([1, 2, 3], 'uint8');
const bytes = new Uint8Array(6);
const image = { data: bytes, info: { width: 2, height: 1, channels: 3 } };
const plain = (input: object, options: object) => ({ input, options });

const onNode = measure({
  ...makeRows({
    ort: require('onnxruntime-node'),
    transformers,
    tf,
    jax,
    ndarray: require('ndarray'),
    stdlib: require('@stdlib/ndarray-ctor'),
    arrow: require('apache-arrow'),
  }),
  'fromSharp, dispose': {
    own: repeat(() => image.data),
    adapter: disposed(() => adapters.fromSharp(image)),
  },
  toSharp: {
    own: repeat(() => sharp(bytes, { raw: { width: 2, height: 1, channels: 3 } })),
    adapter: repeat(() => adapters.toSharp(pixels, sharp)),
  },
  'toSharp, without the pipeline': {
    own: repeat(() => plain(bytes, { raw: { width: 2, height: 1, channels: 3 } })),
    adapter: repeat(() => adapters.toSharp(pixels, plain)),
  },
});

/** Runs the page. */
async function inBrowser(): Promise<{ times: Record<string, Times>; agent: string }> {
  const browser = tools.findBrowser();
  if (browser === null) throw new Error(tools.browserMissing);
  await bundleAdapters();
  const imports = { ...importMap(['.', './adapters']), ...transformersImports };
  const { reports } = await runPages(browser, ['../bench/adapters/adapters.page.js'], imports);
  return resultOf(reports[0]?.lines.join('\n') ?? '');
}

const table = (times: Record<string, Times>): string =>
  Object.entries(times)
    .map(([name, { library, adapter }]) => {
      const numbers = [library, adapter, adapter - library];
      return `| ${[name, ...numbers.map((value) => value.toFixed(0))].join(' | ')} |`;
    })
    .join('\n');
const head = `| operation | library | adapter | more |
|---|---|---|---|`;

const page = await inBrowser();
const text = `# Adapters

Date ${new Date().toISOString().slice(0, 10)}; \`npm run bench -- adapters\`; ${describeMachine()}.

Nanoseconds for one object with six elements, the least of ${ROUNDS * 3} samples in which the library and the adapter took turns,
because other programs ran on the machine. *The library* is what the adapter's caller would write by hand: the library's own
construction, or reading its array.

## Node ${process.versions.node}

A pipeline of sharp takes tens of microseconds on a busy machine and varies by more than the adapter's part, so one row measures that
part with a constructor that does nothing.

${head}
${table(onNode)}

## ${(/Chrome\/\d+/.exec(page.agent)?.[0] ?? page.agent).replace('/', ' ')}

In a page, with the browser builds of the libraries. GPU tensors are in [webgpu.md](webgpu.md). LiteRT.js takes microseconds for its own
part, which varies by more than the adapter's part, so two rows measure that part with a tensor and a class that do nothing.

${head}
${table(page.times)}
`;
console.log(text);
writeFileSync(`${root}bench/results/adapters.md`, text);
