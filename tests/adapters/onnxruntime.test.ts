import 'dlpack/webgpu';
import { Tensor, type TypedArray } from 'dlpack';
import { adapt, fromOnnxRuntime, type OnnxTensor, toOnnxRuntime } from 'dlpack/adapters';
import { addressOf } from 'dlpack/native';
import { equal, ok, throws } from '../assert.js';
import { collectUntil, test, testWith } from '../harness.js';
import { makeModel } from '../interop/libraries/model.js';
import { load, missing } from './libraries.js';

interface OrtTensor extends OnnxTensor {
  readonly data: TypedArray;
}
interface OnnxRuntime {
  readonly Tensor: {
    new (type: string, data: TypedArray, dims: readonly number[]): OrtTensor;
    fromGpuBuffer(buffer: object, options: object): OrtTensor & { dispose(): void };
  };
  readonly InferenceSession: {
    create(model: Uint8Array): Promise<{
      run(feeds: { x: OrtTensor }, fetches?: { y: OrtTensor }): Promise<{ y: OrtTensor }>;
      release(): Promise<void>;
    }>;
  };
}

const absent = missing('onnxruntime-node');
const ort = absent === false ? load<OnnxRuntime>('onnxruntime-node') : (null as never);

const dtypes = 'float32 float64 float16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool int4 uint4'.split(
  ' ',
) as 'float32'[];

testWith(absent, 'onnxruntime: every dtype is shared in both directions', () => {
  for (const dtype of dtypes) {
    const x = Tensor.zeros([2, 4], dtype);
    const lent = toOnnxRuntime(x, ort);
    equal([lent.type, lent.dims], [dtype, [2, 4]]);
    const back = fromOnnxRuntime(lent);
    equal([back.dtype, back.shape], [dtype, [2, 4]]);
    x.set(1, 2, (dtype.includes('64') && dtype.includes('int') ? 1n : 1) as number);
    ok(Number(back.get(1, 2)) === 1, `${dtype}: written to one, read from the other`);
    equal(addressOf(back), addressOf(x), dtype);
  }
});

testWith(absent, 'onnxruntime: a result is shared, adopted or copied', async () => {
  const session = await ort.InferenceSession.create(makeModel('Add', 2, 'float32'));
  const x = Tensor.from([[1, 2, 3]], { dtype: 'float32' });
  const { y } = await session.run({ x: toOnnxRuntime(x, ort) });
  const shared = fromOnnxRuntime(y);
  y.data[0] = 50;
  equal(shared.toArray(), [[50, 4, 6]]);
  const copy = fromOnnxRuntime(y, { copy: true });
  y.data[0] = 60;
  equal([copy.get(0, 0), shared.get(0, 0)], [50, 60]);
  const address = addressOf(shared);
  const taken = fromOnnxRuntime(y, { adopt: true });
  equal([taken.toArray(), y.data.length], [[[60, 4, 6]], 0]);
  equal(addressOf(taken), address, 'moved, not copied');
  await session.release();
});

testWith(absent, 'onnxruntime: strided and read-only tensors are copied, or refused', () => {
  const x = Tensor.from(
    [
      [1, 2, 3],
      [4, 5, 6],
    ],
    { dtype: 'float32' },
  );
  const turned = toOnnxRuntime(x.transpose(), ort);
  equal(
    [turned.dims, [...(turned.data as Float32Array)]],
    [
      [3, 2],
      [1, 4, 2, 5, 3, 6],
    ],
  );
  throws('BufferError', 'not row-major', () => toOnnxRuntime(x.transpose(), ort, { copy: false }));
  const fixed = Tensor.wrap(new Float32Array(2), { readonly: true });
  const lent = toOnnxRuntime(fixed, ort);
  lent.data[0] = 7;
  equal(fixed.get(0), 0, 'read-only memory is not handed out');
  throws('BufferError', 'read-only', () => toOnnxRuntime(fixed, ort, { copy: false }));
});

testWith(absent, 'onnxruntime: a model of float16 reads and writes our memory on every runtime', async () => {
  const session = await ort.InferenceSession.create(makeModel('Identity', 1, 'float16'));
  const x = Tensor.from([[1.5, -2, 0.25]], { dtype: 'float16' });
  const input = toOnnxRuntime(x, ort);
  equal([fromOnnxRuntime(input).toArray(), addressOf(fromOnnxRuntime(input))], [x.toArray(), addressOf(x)]);
  x.set(0, 2, 8);
  const { y } = await session.run({ x: input });
  equal(fromOnnxRuntime(y).toArray(), [[1.5, -2, 8]]);
  const out = Tensor.zeros([1, 3], 'float16');
  await session.run({ x: input }, { y: toOnnxRuntime(out, ort) });
  equal(out.toArray(), [[1.5, -2, 8]]);
  await session.release();
});

testWith(absent, 'onnxruntime: the library keeps the memory of a tensor that was disposed', async () => {
  const session = await ort.InferenceSession.create(makeModel('Add', 2, 'float32'));
  const x = Tensor.from([[1, 2, 3]], { dtype: 'float32' });
  const input = toOnnxRuntime(x, ort);
  x.dispose();
  const { y } = await session.run({ x: input });
  equal(fromOnnxRuntime(y).toArray(), [[2, 4, 6]]);
  await session.release();
});

testWith(absent, 'onnxruntime: memory is freed when the library has dropped it', async () => {
  const { liveCounts } = await import('dlpack/debug');
  const before = liveCounts().storages;
  (() => {
    for (let i = 0; i < 10; i++) {
      const x = Tensor.zeros([64], 'float32');
      toOnnxRuntime(x, ort);
      x.dispose();
    }
  })();
  ok(await collectUntil(() => liveCounts().storages <= before), `${liveCounts().storages} of ${before}`);
});

testWith(absent, 'onnxruntime: dtypes that the library lacks', () => {
  throws('UnsupportedDTypeError', 'astype', () => toOnnxRuntime(Tensor.zeros([2], 'bfloat16'), ort));
  const text = { type: 'string', dims: [1], location: 'cpu', data: ['a'] };
  throws('UnsupportedDTypeError', "'string'; convert it first", () => fromOnnxRuntime(text));
});

testWith(absent, 'onnxruntime: the error for a tensor that was disposed names that', () => {
  const value = new ort.Tensor('float32', Float32Array.of(1), [1]) as OrtTensor & { dispose(): void };
  const x = fromOnnxRuntime(value);
  value.dispose();
  equal(x.toArray(), [1], 'the tensor keeps the memory');
  throws('BufferError', 'it was disposed', () => fromOnnxRuntime(value));
  throws('BufferError', 'it was disposed', () => adapt(value));
});

testWith(absent, 'onnxruntime: a GPU tensor is carried, and disposed exactly once', () => {
  const gpuDevice = {};
  const gpuBuffer = { size: 64, usage: 128 };
  let disposed = 0;
  const value = ort.Tensor.fromGpuBuffer(gpuBuffer, {
    dataType: 'float32',
    dims: [2, 3],
    dispose: () => disposed++,
  });
  throws('TypeError', 'GPUDevice', () => fromOnnxRuntime(value));
  const x = fromOnnxRuntime(value, { gpuDevice });
  equal([x.shape, x.device.split(':')[0], disposed], [[2, 3], 'webgpu', 0]);
  const again = toOnnxRuntime(x, ort) as unknown as { gpuBuffer: object; dispose(): void };
  equal(again.gpuBuffer === gpuBuffer, true, 'the same buffer');
  x.dispose();
  equal(disposed, 0, 'the second user still has it');
  again.dispose();
  again.dispose();
  equal(disposed, 1);
  const short = ort.Tensor.fromGpuBuffer({ size: 20, usage: 128 }, { dataType: 'float32', dims: [5] });
  throws('BufferError', '32 bytes', () => toOnnxRuntime(fromOnnxRuntime(short, { gpuDevice }), ort, { copy: false }));
});

test('onnxruntime: memory in other places is refused, and the error names the right function', () => {
  const at = (location: string) => ({ type: 'float32', dims: [1], location, data: null });
  throws('BufferError', 'fromMLTensor', () => fromOnnxRuntime(at('ml-tensor')));
  throws('BufferError', "'texture'", () => adapt(at('texture')));
});
