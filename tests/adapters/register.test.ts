import 'dlpack/adapters/register';
import { type DLPackSource, fromDLPack, Tensor } from 'dlpack';
import { addressOf } from 'dlpack/native';
import { type FFIFunction, getGlobalFunc, loadModule } from 'dlpack/tvm-ffi';
import { equal, throws } from '../assert.js';
import { test, testWith } from '../harness.js';
import { probe, py } from '../interop/python/available.js';
import { kernelsMissing, kernelsPath } from '../interop/tvm-ffi/peer.js';

const { module: np, missing } = probe('numpy');
/** As ONNX Runtime makes them: an instance of a class. */
class OrtTensor {
  readonly type = 'float32';
  readonly dims: number[];
  readonly location = 'cpu';
  readonly data: Float32Array;

  constructor(dims: number[], data: Float32Array) {
    this.dims = dims;
    this.data = data;
  }
}
const tensor = () => new OrtTensor([2, 2], new Float32Array([1, 2, 3, 4]));
const jax = () => ({
  shape: [1],
  dtype: 'float32',
  device: 'cpu',
  refCount: 1,
  get ref() {
    return this;
  },
  dataSync: () => new Float32Array(1),
  dispose() {},
});

test('register: fromDLPack shares, copies and refuses as the options say', () => {
  const value = tensor();
  const x = fromDLPack(value);
  value.data[3] = 40;
  equal([x.shape, x.get(1, 1)], [[2, 2], 40]);
  const copy = fromDLPack(value, { copy: true });
  value.data[3] = 50;
  equal([copy.get(1, 1), x.get(1, 1)], [40, 50]);
  equal(addressOf(fromDLPack(value, { copy: false })), addressOf(x));
  throws('BufferError', 'jax-js copies', () => fromDLPack(jax(), { copy: false }));
});

test('register: Tensor.from copies', () => {
  const value = tensor();
  const x = Tensor.from(value);
  value.data[0] = 10;
  equal(
    [x.dtype, x.toArray()],
    [
      'float32',
      [
        [1, 2],
        [3, 4],
      ],
    ],
  );
  equal(Tensor.from(value, { dtype: 'int32', shape: [4] }).toArray(), [10, 2, 3, 4]);
  equal(Tensor.from([[1, 2]]).toArray(), [[1, 2]]);
});

test('register: the protocol comes first, and other objects are refused as before', () => {
  const own = Tensor.from([7]);
  const producer = Object.assign(tensor(), { [Symbol.for('dlpack')]: () => own[Symbol.for('dlpack') as never] });
  throws('TypeError', 'ManagedTensor', () => fromDLPack(producer));
  throws('TypeError', 'Symbol.for("dlpack")', () => fromDLPack({} as DLPackSource));
  throws('TypeError', 'Tensor.from', () => fromDLPack([1] as never));
});

testWith(missing, 'register: Python functions take tensors of libraries', () => {
  const { len } = py.import('builtins');
  equal(Number(np.sum(tensor())), 10);
  equal(np.asarray(tensor()).shape.toString(), '(2, 2)');
  equal(len([tensor(), tensor()]), 2);
  equal(Number(np.sum({ data: new Float32Array([1, 2]), shape: [2], stride: [1] })), 3); // a chunk of zarrita
  const info = { width: 1, height: 1, channels: 3, format: 'raw', size: 3 };
  equal(np.asarray({ data: new Uint8Array([1, 2, 3]), info }).shape.toString(), '(1, 1, 3)'); // an image of sharp
});

testWith(missing, 'register: plain objects are dicts, whatever their keys are', () => {
  const { len, print } = py.import('builtins');
  const dicts: object[] = [
    { a: 1, b: 2 },
    { ...tensor(), data: new Uint8Array(4) },
    { data: [1, 2], shape: [2], stride: [1] },
    { data: new Uint8Array(2), shape: [2], stride: [1], offset: 0 },
    { data: new Uint8Array(4), width: 1, height: 1 },
    { data: new Uint8Array(3), info: { width: 1 } },
    { dataType: 'float32', shape: [1], destroy: print },
  ];
  for (const dict of dicts) equal(len(dict), Object.keys(dict).length, Object.keys(dict).join());
  equal(fromDLPack({ ...tensor() }).size, 4, 'fromDLPack has no use for a dict');
});

testWith(kernelsMissing, 'register: TVM-FFI functions take tensors of libraries, and plain objects as maps', () => {
  const kernels = loadModule(kernelsPath) as Record<string, FFIFunction>;
  const sums = new OrtTensor([2], new Float32Array(2));
  (kernels.sum_rows as FFIFunction)(tensor(), sums); // writes the memory of the second
  equal([...sums.data], [3, 7]);
  const size = getGlobalFunc('ffi.MapSize');
  equal(Number(size({ ...tensor(), data: [1] })), 4);
});
