/**
 * Every library, dtype and direction. The end of docs/compatibility.md is what a run finds on a runtime without a
 * Float16Array (Node 20 and 22).
 *
 *   UPDATE=1 npm test -- adapters/matrix        writes that part of docs/compatibility.md
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type DType, isDLPackError, Tensor } from 'dlpack';
import { equal, ok } from '../assert.js';
import { testWith } from '../harness.js';
import { missing, versionOf } from './libraries.js';
import { loadPeers, type Peer } from './peers.js';

const dtypes =
  'bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 bfloat16 int4'.split(
    ' ',
  ) as DType[];
const needed = ['onnxruntime-node', '@huggingface/transformers', '@tensorflow/tfjs-backend-wasm', '@jax-js/jax'];
const absent = [...needed, '@stdlib/ndarray-ctor', 'zarrita'].map(missing).find((name) => name !== false) ?? false;
const document = fileURLToPath(new URL('../../../docs/compatibility.md', import.meta.url));
const heading = '## JavaScript libraries';

/** `shared`, `copied`, `–` where the library has no such object, or the tag of the error that refused it. */
type Verdict = string;

const one = (dtype: DType): number =>
  (/^u?int64$/.test(dtype) ? 1n : dtype === 'complex64' ? { re: 1, im: 0 } : 1) as number;
const start = (peer: Peer) => peer.shape.map(() => 0);

/** Zeros except for the last element, because libraries may store equal elements as one. */
function source(peer: Peer, dtype: DType): Tensor {
  const x = Tensor.zeros(peer.shape, dtype);
  x.set(...(peer.shape.map((length) => length - 1) as [number]), one(dtype));
  return x;
}

function verdictOf(error: unknown): Verdict {
  if (isDLPackError(error)) return error.tag;
  throw error;
}

const numbers = (values: ArrayLike<number | bigint | boolean>) => Array.from(values, Number);
const isSet = (values: ArrayLike<number | bigint | boolean>) => numbers(values)[0] !== 0;

/** From the library: its object is made, imported, and the tensor is written. */
async function fromLibrary(peer: Peer, dtype: DType): Promise<Verdict> {
  let object: object;
  try {
    object = await peer.make(source(peer, dtype).data, dtype);
    const values = numbers(await peer.read(object));
    if (values.length < 6 || values.some(Number.isNaN)) return '–';
  } catch {
    return '–';
  }
  try {
    const x = peer.from(object as never);
    if (x.dtype !== dtype) return '–'; // the library treated the array as another dtype
    equal(x.shape, peer.shape, peer.name);
    const first = x.get(...start(peer)) as number | { re: number };
    ok(Number(typeof first === 'object' ? first.re : first) === 0, `${peer.name} ${dtype}`);
    x.set(...(start(peer) as [number]), one(dtype));
    return isSet(await peer.read(object)) ? 'shared' : 'copied';
  } catch (error) {
    return verdictOf(error);
  }
}

/** To the library: the tensor is exported and then written. */
async function toLibrary(peer: Peer, dtype: DType): Promise<Verdict> {
  try {
    const x = source(peer, dtype);
    const object = peer.to(x);
    x.set(...(start(peer) as [number]), one(dtype));
    const values = numbers(await peer.read(object));
    ok(dtype === 'float16' || values.at(-1) === 1, `${peer.name} ${dtype}: ${values}`);
    return isSet(values) ? 'shared' : 'copied';
  } catch (error) {
    return verdictOf(error);
  }
}

/** `shared: float32 int32; copied: bool; ✗ UnsupportedDTypeError: the others`. */
function cell(found: ReadonlyMap<DType, Verdict>, why: string | undefined): string {
  const verdicts = [...new Set(found.values())].filter((verdict) => verdict !== '–');
  return verdicts
    .sort((a, b) => Number(b === 'shared') - Number(a === 'shared') || Number(b === 'copied') - Number(a === 'copied'))
    .map((verdict) => {
      const names = [...found].filter(([, v]) => v === verdict).map(([dtype]) => dtype);
      const isRefused = verdict !== 'shared' && verdict !== 'copied';
      const reason = verdict === 'copied' && why !== undefined ? ` (${why})` : '';
      return `${isRefused ? `✗ ${verdict}` : verdict}${reason}: ${names.join(' ')}`;
    })
    .join('; ');
}

/** Libraries that need a browser or that no machine of the tests can run: what the tests of the pages check. */
const others =
  () => `| ONNX Runtime (web), WebGPU | ${versionOf('onnxruntime-web')} | shared: bool int32 int64 uint8 uint32 float16 float32 | shared, or copied on the GPU (an offset, or a buffer that is too short): the same | Chromium |
| transformers.js, WebAssembly and WebGPU | ${versionOf('@huggingface/transformers')} | shared: as in ONNX Runtime | shared: as in ONNX Runtime | Chromium |
| TensorFlow.js, WebGPU | ${versionOf('@tensorflow/tfjs-core')} | shared: int32 float32 | shared, or copied on the GPU (an offset, or a buffer with padding): int32 float32 | Chromium |
| jax-js, WebGPU | ${versionOf('@jax-js/jax')} | shared: int32 uint32 float16 float32 | copied on the GPU (the library takes no buffers): int32 uint32 float32 | Chromium |
| LiteRT.js | ${versionOf('@litertjs/core')} | copied (the library has its own memory), on WebGPU shared: float32 int32 uint8 | copied, on WebGPU shared: float32 int32 uint8 | Chromium on WebAssembly and WebGPU |
| ImageData | | shared: uint8 | shared: uint8 | Chromium |
| VideoFrame | | copied (pixels are outside JavaScript): uint8 | copied: uint8 | Chromium |
| AudioBuffer | | one channel shared, several copied (an array for each channel): float32 | copied: float32 | Chromium |
| WebNN MLTensor | | copied, rented as a GPUBuffer where asked: float32 float16 int8 uint8 int32 uint32 int64 uint64 int4 uint4 | copied | not run: no platform of the tests has a context |
| tvmjs | 0.27.0-dev0 | copied (the library has its own memory): numbers of 8 to 64 bits | copied | not run: needs a module that TVM compiled |`;

testWith(absent, 'adapters: every library, dtype and direction is as docs/compatibility.md says', async () => {
  const rows: string[] = [];
  for (const peer of await loadPeers()) {
    await peer.use?.();
    const [inward, outward] = [new Map<DType, Verdict>(), new Map<DType, Verdict>()];
    for (const dtype of dtypes) {
      inward.set(dtype, await fromLibrary(peer, dtype));
      outward.set(dtype, await toLibrary(peer, dtype));
    }
    const version = versionOf(peer.library);
    rows.push(
      `| ${peer.name} | ${version} | ${cell(inward, peer.why)} | ${cell(outward, peer.why)} | Node, Bun, Deno |`,
    );
  }
  if ('Float16Array' in globalThis) return;
  const text = `${heading}

What the adapters of [\`dlpack/adapters\`](guides/adapters.md) do, as found by a test (\`tests/adapters/matrix.test.ts\`) with the
newest versions: it makes an object of the library, exchanges it and writes to the tensor. *Shared* means that the library reads
what was written. Dtypes that a library does not have are left out of *from the library*. On runtimes with a \`Float16Array\`
jax-js has \`float16\` and \`float64\`, too, and ndarray and zarrita take \`float16\`. \`UPDATE=1 npm test -- adapters/matrix\`
writes this part of the page.

| library | version | from the library | to the library | run in |
| --- | --- | --- | --- | --- |
${rows.join('\n')}
${others()}
`;
  const page = readFileSync(document, 'utf8');
  const head = page.split(`\n${heading}\n`)[0];
  if (process.env.UPDATE) writeFileSync(document, `${head}\n${text}`);
  const committed = readFileSync(document, 'utf8').slice(`${head}\n`.length).split('\n');
  const found = text.split('\n');
  const differs = found.findIndex((line, i) => line !== committed[i]);
  equal([committed[differs], committed.length], [found[differs], found.length], 'the page:');
});
