/** Runs the WebGPU tests whose path is an argument on Node, with the `webgpu` package (Dawn). */

import { createRequire } from 'node:module';

interface Queue {
  writeBuffer(buffer: object, offset: number, data: ArrayBufferView | ArrayBuffer, start?: number, size?: number): void;
}
interface Dawn {
  create(options: readonly string[]): object;
  readonly globals: Record<string, unknown>;
}

const [tests = '', libraries = ''] = process.argv.slice(2);
const require = createRequire(libraries);
const { create, globals } = (await import(require.resolve('webgpu'))) as Dawn;
Object.assign(globalThis, globals);
Object.defineProperty(globalThis, 'navigator', { value: { gpu: create([]), userAgent: 'Node.js' } });

/** onnxruntime-web writes from the shared memory of its WebAssembly module, which Dawn on Node refuses. */
function acceptSharedMemory(queue: Queue): void {
  const { writeBuffer } = queue;
  queue.writeBuffer = function (buffer, offset, data, start = 0, size) {
    const array = ArrayBuffer.isView(data) ? (data as Uint8Array) : new Uint8Array(data);
    if (!(array.buffer instanceof SharedArrayBuffer)) return writeBuffer.call(this, buffer, offset, data, start, size);
    const copy = array.slice(start, size === undefined ? undefined : start + size);
    return writeBuffer.call(this, buffer, offset, copy);
  };
}

if (tests.includes('libraries')) {
  acceptSharedMemory((globals.GPUQueue as { prototype: Queue }).prototype);
  // Dawn delivers the results that onnxruntime-web waits for only while the event loop turns.
  setInterval(() => {}, 10);
  // The process would wait for ever in an ordinary exit after onnxruntime-web has used the device.
  process.exit = () => process.kill(process.pid, 'SIGKILL') as never;
  const { WebGPUBackend } = require('@tensorflow/tfjs-backend-webgpu');
  Object.assign(globalThis, { tensorFlow: { ...require('@tensorflow/tfjs-core'), WebGPUBackend } });
}
await import(`./${tests}.js`);
