import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { type DType, Tensor, type TypedArray } from 'dlpack';
import { addressOf } from 'dlpack/native';
import { equal, ok } from '../../assert.js';
import { testWith } from '../../harness.js';
import { elementTypes, makeModel } from './model.js';

/** The part of onnxruntime-node that this file uses. Its types are installed with it in another folder. */
interface OrtTensor {
  readonly type: DType;
  readonly data: TypedArray;
  readonly dims: readonly number[];
}
interface OnnxRuntime {
  Tensor: new (type: string, data: TypedArray, dims: readonly number[]) => OrtTensor;
  InferenceSession: {
    create(model: Uint8Array): Promise<{
      run(feeds: { x: OrtTensor }, fetches?: { y: OrtTensor }): Promise<{ y: OrtTensor }>;
      release(): Promise<void>;
    }>;
  };
}

const manifest = fileURLToPath(new URL('../../../../.libraries/package.json', import.meta.url));
const missing = existsSync(manifest) ? false : 'onnxruntime-node in .libraries';
const ort = missing === false ? (createRequire(manifest)('onnxruntime-node') as OnnxRuntime) : (null as never);

const toOrt = (x: Tensor): OrtTensor => new ort.Tensor(x.dtype, x.data, x.shape);

/** onnxruntime-node 1.30 treats a Float16Array, which newer runtimes have, as an empty array. */
const hasFloat16Array = 'Float16Array' in globalThis;
const dtypes = (Object.keys(elementTypes) as (keyof typeof elementTypes)[]).filter(
  (dtype) => dtype !== 'float16' || !hasFloat16Array,
);

for (const dtype of dtypes) {
  testWith(missing, `onnxruntime-node: ${dtype} in, out and into our memory`, async () => {
    const session = await ort.InferenceSession.create(makeModel('Identity', 1, dtype));
    const x = Tensor.from([0, 1, 1, 0, 1, 1], { dtype: 'uint8' }).astype(dtype).reshape([2, 3]);
    const input = toOrt(x);
    equal(input.data.buffer === x.data.buffer, true, 'ONNX Runtime keeps the array by reference');

    const { y } = await session.run({ x: input });
    const bytes = y.data.byteLength;
    const result = Tensor.adopt(y.data, { dtype: y.type, shape: y.dims });
    equal(result.dtype, dtype);
    equal(result.toArray(), x.toArray());
    equal([bytes, y.data.byteLength], [x.nbytes, 0], 'the memory was taken over, not copied');

    const out = Tensor.zeros([2, 3], dtype);
    const before = addressOf(out);
    await session.run({ x: input }, { y: toOrt(out) });
    equal(out.toArray(), x.toArray(), 'written into the memory of our tensor');
    equal(addressOf(out), before);
    await session.release();
  });
}

testWith(
  missing,
  'onnxruntime-node: an input that is disposed before the run begins is an error, not a crash',
  async () => {
    const session = await ort.InferenceSession.create(makeModel('Add', 2, 'float32'));
    const x = Tensor.from([[1, 2, 3]], { dtype: 'float32' });
    const running = session.run({ x: toOrt(x) });
    x.dispose();
    const message = await running.then(
      () => 'no error',
      (error: Error) => error.message,
    );
    ok(message.includes('not enough space'), message);
    await session.release();
  },
);

if (hasFloat16Array) {
  testWith(missing, 'onnxruntime-node itself refuses float16 on runtimes with Float16Array', async () => {
    const session = await ort.InferenceSession.create(makeModel('Identity', 1, 'float16'));
    const { Float16Array } = globalThis as unknown as { Float16Array: new (length: number) => TypedArray };
    const plain = new ort.Tensor('float16', new Float16Array(6), [2, 3]);
    const message = await session.run({ x: plain }).then(
      () => 'works now: docs/how-to/onnxruntime.md can say so',
      (error: Error) => error.message,
    );
    ok(message.includes('not enough space'), message);
    await session.release();
  });
}
