/** node onnxruntime-server.js ours|theirs model.onnx: the example server, or the same server on onnxruntime-node. Prints its URL. */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { Tensor } from 'dlpack';
import { adapt } from 'dlpack/adapters';
import { loadSession, type Session } from 'dlpack/onnxruntime';
import { serve } from '../../examples/server/server.js';

const [side, path] = process.argv.slice(2) as [string, string];
const load = createRequire(fileURLToPath(new URL('../../../.libraries/package.json', import.meta.url)));
// biome-ignore lint/suspicious/noExplicitAny: the libraries are not dependencies, so their types are unknown
const [ort, sharp] = ['onnxruntime-node', 'sharp'].map((name): any => load(name));

sharp.concurrency(1); // both as the example server does
sharp.cache(false);

/** What the server needs of a session, on onnxruntime-node. */
async function loadTheirs(): Promise<Session> {
  const session = await ort.InferenceSession.create(readFileSync(path), { intraOpNumThreads: 1 });
  return {
    inputs: [{ name: 'x' }],
    outputs: [{ name: 'y' }],
    async run({ x }: { x: Tensor<'float32'> }) {
      const { y } = await session.run({ x: new ort.Tensor('float32', x.data, x.shape) });
      return { y: Tensor.wrap(y.data as Float32Array, { shape: y.dims }) };
    },
    [Symbol.asyncDispose]: () => session.release(),
  } as unknown as Session;
}

const session = side === 'ours' ? await loadSession(path, { threads: 1 }) : await loadTheirs();
const server = await serve(session, async (bytes) => {
  const image = sharp(bytes).resize(64, 64, { fit: 'fill' }).toColourspace('srgb').removeAlpha();
  return adapt(await image.raw().toBuffer({ resolveWithObject: true }));
});
console.log(server.url);
process.once('SIGTERM', () => void server.close());
