import * as dlpack from 'dlpack';
import { equal, ok, throws } from '../assert.js';
import { test } from '../harness.js';

const { isDLPackError } = dlpack;

test('errors are errors, carry a tag, and are recognised without instanceof', () => {
  const error = new dlpack.LayoutError('Expected a but received b', [1]);
  ok(error instanceof Error);
  equal([error.name, error.tag, error.shape], ['LayoutError', 'LayoutError', [1]]);
  ok(isDLPackError(error) && isDLPackError(error, 'LayoutError') && !isDLPackError(error, 'BufferError'));
  // Another copy of the package.
  const foreign = Object.assign(new Error('x'), { tag: 'BufferError', [Symbol.for('dlpack.error')]: true });
  ok(isDLPackError(foreign, 'BufferError'));
  for (const other of [null, undefined, 1, 'x', {}, new Error('x'), { tag: 'BufferError' }]) ok(!isDLPackError(other));
});

test('the name of an argument error is its class name, because it is not a JavaScript TypeError', () => {
  const error = new dlpack.ArgumentTypeError('x', 'a number', 'y', 'use a number');
  equal([error.name, error.tag, error instanceof TypeError], ['ArgumentTypeError', 'TypeError', false]);
  equal(String(error), "ArgumentTypeError: Expected a number for x but received 'y' (string); use a number");
  equal(new dlpack.ArgumentValueError('x', 'y', 1).name, 'ArgumentValueError');
});

test('every exported error class has a tag of its own', () => {
  const classes = Object.entries(dlpack).filter(([name]) => name.endsWith('Error') && /^[A-Z]/.test(name));
  const tags = classes
    .filter(([name]) => !['DLPackError', 'ArgumentError', 'MisalignedError'].includes(name))
    .map(([, Class]) => new (Class as new (...a: unknown[]) => { tag: string })('a', ['b'], ['c']).tag);
  equal(new Set(tags).size, tags.length);
  equal(tags.length, 15);
});

test('a more specific class keeps the tag of the protocol, and lack of memory has its own', () => {
  const misaligned = new dlpack.MisalignedError('x');
  equal(
    [misaligned.name, misaligned.tag, isDLPackError(misaligned, 'BufferError')],
    ['MisalignedError', 'BufferError', true],
  );
  const memory = new dlpack.OutOfMemoryError('could not allocate 8 bytes', 8);
  equal([memory.name, memory.tag, memory.nbytes], ['OutOfMemoryError', 'OutOfMemoryError', 8]);
  equal(memory.message, 'Out of memory: could not allocate 8 bytes');
});

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

test('a revoked proxy is refused like any other wrong value', () => {
  const x = dlpack.Tensor.zeros([2], 'float32');
  const proxy = revoked() as never;
  for (const action of [
    () => x.copyFrom(proxy),
    () => dlpack.Tensor.empty(proxy, 'float32'),
    () => dlpack.Tensor.empty([2], proxy),
    () => dlpack.Tensor.empty([2], 'float32', proxy),
    () => dlpack.Tensor.empty([2], 'float32', { device: proxy }),
    () => dlpack.Tensor.wrap(new Float32Array(2), { shape: proxy }),
    () => dlpack.Tensor.wrap(new Float32Array(2), { shape: [2], strides: proxy }),
    () => dlpack.fromDLPack(x, proxy),
    () => x.reshape(proxy),
    () => x.transpose(proxy),
    () => x.astype(proxy),
    () => x.to(proxy),
    () => dlpack.parseDType(proxy),
    () => dlpack.parseDevice(proxy),
    () => dlpack.expectTensor(x, proxy),
    () => dlpack.expectTensor(x, { dtype: proxy }),
    () => dlpack.expectTensor(x, { shape: proxy }),
    () => x.slice(proxy),
    () => dlpack.fromDLPack(x, { device: proxy }),
    () => dlpack.fromDLPack(x, { stream: proxy }),
  ]) {
    throws('TypeError', 'but received an object of no class', action);
  }
});

test('a protocol method without a prototype is called', () => {
  const x = dlpack.Tensor.from([1, 2], { dtype: 'float32' });
  const method = Object.setPrototypeOf((request?: object) => x[dlpack.DLPACK](request), null);
  equal(dlpack.fromDLPack(Object.assign(Object.create(null), { [dlpack.DLPACK]: method })).toArray(), [1, 2]);
});

test('messages survive hostile values', () => {
  const hostile = {
    get constructor() {
      throw new Error('boo');
    },
  };
  for (const value of [
    hostile,
    Object.create(null),
    new Proxy({}, {}),
    Symbol('s'),
    () => 1,
    [Symbol('t')],
    [() => 1, Object.create(null)],
    Object.assign([1], { slice: 5 }),
    revoked(),
    2n ** 70n,
  ]) {
    ok(new dlpack.ArgumentTypeError('x', 'y', value).message.startsWith('Expected y for x but received'));
  }
});
