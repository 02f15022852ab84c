import { Tensor } from 'dlpack';
import { equal } from '../assert.js';
import { test } from '../harness.js';

test('the first GPUDevice loads dlpack/webgpu', () => {
  const made: number[] = [];
  const gpuDevice = {
    queue: { submit() {}, writeBuffer() {} },
    lost: new Promise<never>(() => {}),
    limits: { maxBufferSize: 2 ** 28 },
    createBuffer({ size, usage }: { size: number; usage: number }) {
      made.push(size);
      return { size, usage, destroy() {} };
    },
    addEventListener() {},
    removeEventListener() {},
  };
  const x = Tensor.from([1, 2], { dtype: 'float32' }).to(gpuDevice as never);
  equal([x.device.startsWith('webgpu'), made.length > 0], [true, true]);
});
