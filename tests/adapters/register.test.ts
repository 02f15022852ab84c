import 'dlpack/adapters/register';
import { fromDLPack, Tensor } from 'dlpack';
import { addressOf } from 'dlpack/native';
import { equal, throws } from '../assert.js';
import { test, testWith } from '../harness.js';
import { probe, py } from '../interop/python/available.js';

const { module: np, missing } = probe('numpy');
const tensor = () => ({ type: 'float32', dims: [2, 2], location: 'cpu', data: new Float32Array([1, 2, 3, 4]) });
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
  throws('TypeError', 'Symbol.for("dlpack")', () => fromDLPack({}));
  throws('TypeError', 'Tensor.from', () => fromDLPack([1]));
});

testWith(missing, 'register: Python functions take tensors of libraries; dicts stay dicts', () => {
  const len = py.import('builtins').len;
  equal(Number(np.sum(tensor())), 10);
  equal(np.asarray(tensor()).shape.toString(), '(2, 2)');
  equal(len({ a: 1, b: 2 }), 2);
  equal(len([tensor(), tensor()]), 2);
});
