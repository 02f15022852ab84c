import { expectTensor, fromDLPack, Tensor } from 'dlpack';
import { equal, ok, throws } from '../assert.js';
import { test } from '../harness.js';

test('returns the tensor itself when it fits', () => {
  const x = Tensor.from([[1, 2, 3]], { dtype: 'float32' });
  ok(expectTensor(x, { dtype: 'float32', shape: [null, 3], device: 'cpu', contiguous: true, writable: true }) === x);
  ok(expectTensor(x, { dtype: ['float16', 'float32'] }) === x);
  ok(expectTensor(x, {}) === x);
  ok(expectTensor(x, { shape: [undefined as never, 3] }) === x); // any length, as null
});

test('the error names the property that does not fit', () => {
  const x = Tensor.wrap(new Float32Array(6), { shape: [2, 3], readonly: true });
  const path = (spec: Parameters<typeof expectTensor>[1], y: unknown = x) =>
    throws('SpecError', 'Expected', () => expectTensor(y, spec)).path;
  equal(path({ dtype: 'int8' }), 'dtype');
  equal(path({ dtype: ['int8', 'int16'] }), 'dtype');
  equal(path({ shape: [2] }), 'shape');
  equal(path({ shape: [null, 4] }), 'shape');
  equal(path({ device: 'cuda:0' }), 'device');
  equal(path({ writable: true }), 'isReadOnly');
  equal(path({ contiguous: true }, x.transpose()), 'strides');
  equal(path({}, [1, 2]), 'tensor');
  equal(path({}, null), 'tensor');
  const { message } = throws('SpecError', '[any, 4]', () => expectTensor(x, { shape: [null, 4] }));
  equal(message, 'Expected [any, 4] for shape but received [2, 3]');
});

test('fromDLPack checks the dtype and the shape, and releases a tensor that does not fit', () => {
  let released = 0;
  const producer = () => {
    const x = Tensor.from([[1, 2, 3]], { dtype: 'float32' });
    const managed = x[Symbol.for('dlpack') as never] as (request: object) => { deleter: () => void };
    return {
      [Symbol.for('dlpack')]: (request: object) => {
        const made = managed.call(x, { ...request, native: false });
        const deleter = () => {
          released++;
          made.deleter?.();
        };
        return { ...made, deleter };
      },
      [Symbol.for('dlpack.device')]: () => ({ type: 1, id: 0 }),
    };
  };
  const y = fromDLPack(producer(), { dtype: 'float32', shape: [null, 3] });
  y.data[0] = 5;
  equal([y.toArray()[0]?.[0], released], [5, 0]);
  y.dispose();
  equal(released, 1);
  equal(throws('SpecError', 'Expected int8', () => fromDLPack(producer(), { dtype: 'int8' })).path, 'dtype');
  equal(throws('SpecError', '[any, 4]', () => fromDLPack(producer(), { shape: [null, 4] })).path, 'shape');
  equal(released, 3);
  const own = Tensor.from([1, 2]);
  throws('SpecError', 'float32', () => fromDLPack(own, { dtype: 'float32' }));
  equal(fromDLPack(own, { dtype: ['float32', 'float64'] }).toArray(), [1, 2]);
});
