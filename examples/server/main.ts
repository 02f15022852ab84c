/**
 * Serves a model until SIGTERM or SIGINT. sharp decodes images on the threads of Node's pool, one for each core:
 *
 *   UV_THREADPOOL_SIZE=$(nproc) node main.js model.onnx [port]
 */

import { adapt } from 'dlpack/adapters';
import { loadSession } from 'dlpack/onnxruntime';
import sharp from 'sharp';
import { serve } from './server.js';

sharp.concurrency(1); // requests share the cores, so an image needs no threads of its own
sharp.cache(false); // no image comes twice
const session = await loadSession(process.argv[2] ?? 'model.onnx', { threads: 1 });
const [input] = session.inputs;
const [, , height, width] = (input?.kind === 'tensor' && input.shape) || [];
if (typeof height !== 'number' || typeof width !== 'number')
  throw new Error('the model must fix the size of its images');

const server = await serve(
  session,
  async (bytes) => {
    const image = sharp(bytes).resize(width, height, { fit: 'fill' }).toColourspace('srgb').removeAlpha();
    return adapt(await image.raw().toBuffer({ resolveWithObject: true })); // over sharp's memory
  },
  Number(process.argv[3] ?? 0),
);
console.log(server.url);

for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void server.close());
