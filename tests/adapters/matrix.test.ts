/**
 * Every library that runs on Node, dtype and direction. Its rows of docs/compatibility.md are what a run finds on a
 * runtime without a Float16Array (Node 20 and 22).
 *
 *   UPDATE=1 npm test -- adapters/matrix        writes these rows
 */

import { type DType, isDLPackError, Tensor } from 'dlpack';
import { equal, ok } from '../assert.js';
import { testWith } from '../harness.js';
import { missing, versionOf } from './libraries.js';
import { checkRows } from './matrix-page.js';
import { dtypes, type Found, oneOf, rowOf, type Verdict } from './matrix-row.js';
import { loadPeers, type Peer } from './peers.js';

const needed = ['onnxruntime-node', '@huggingface/transformers', '@tensorflow/tfjs-backend-wasm', '@jax-js/jax'];
const more = ['@stdlib/ndarray-ctor', 'zarrita', 'numpy-ts', '@techstark/opencv-js', '@duckdb/node-api'];
const absent = [...needed, ...more, '@mediapipe/tasks-vision'].map(missing).find((name) => name !== false) ?? false;
const start = (peer: Peer) => peer.shape.map(() => 0);

/** Zeros except for the last element, because libraries may store equal elements as one. */
function source(peer: Peer, dtype: DType): Tensor {
  const x = Tensor.zeros(peer.shape, dtype);
  x.set(...(peer.shape.map((length) => length - 1) as [number]), oneOf(dtype));
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
    x.set(...(start(peer) as [number]), oneOf(dtype));
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
    x.set(...(start(peer) as [number]), oneOf(dtype));
    const values = numbers(await peer.read(object));
    ok(dtype === 'float16' || values.at(-1) === 1, `${peer.name} ${dtype}: ${values}`);
    return isSet(values) ? 'shared' : 'copied';
  } catch (error) {
    return verdictOf(error);
  }
}

/** Libraries that no machine of the tests can run: what their stand-ins in `stand-ins.test.ts` check. */
const notRun = [
  '| WebNN MLTensor | | copied, rented as a GPUBuffer where asked: float32 float16 int8 uint8 int32 uint32 int64 uint64 int4 uint4 | copied | not run: no platform of the tests has a context |',
  '| tvmjs | 0.27.0-dev0 | copied (the library has its own memory): numbers of 8 to 64 bits | copied | not run: needs a module that TVM compiled |',
];

testWith(absent, 'adapters: every library, dtype and direction is as docs/compatibility.md says', async () => {
  const rows: string[] = [];
  for (const peer of await loadPeers()) {
    await peer.use?.();
    const [inward, outward]: [Found, Found] = [[], []];
    for (const dtype of dtypes) {
      inward.push([dtype, await fromLibrary(peer, dtype)]);
      outward.push([dtype, await toLibrary(peer, dtype)]);
    }
    const { name, why } = peer;
    rows.push(rowOf({ name, version: versionOf(peer.library), inward, outward, why, where: 'Node, Bun, Deno' }));
  }
  if ('Float16Array' in globalThis) return;
  checkRows('Node', rows);
  checkRows('not run', notRun);
});
