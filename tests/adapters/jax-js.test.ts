import 'dlpack/webgpu';
import { Tensor } from 'dlpack';
import { adapt, fromJaxJs, type JaxArray, toJaxJs } from 'dlpack/adapters';
import { equal, throws } from '../assert.js';
import { test, testWith } from '../harness.js';
import { loadModule, missing } from './libraries.js';

interface Jax {
  readonly numpy: { array(values: unknown, options?: object): JaxArray; add(a: JaxArray, b: JaxArray): JaxArray };
  init(...devices: string[]): Promise<string[]>;
  defaultDevice(device: string): void;
}

const absent = missing('@jax-js/jax');
const jax = absent === false ? await loadModule<Jax>('@jax-js/jax/dist/index.js') : (null as never);
if (absent === false) {
  await jax.init('cpu');
  jax.defaultDevice('cpu');
}

testWith(absent, 'jax-js: every dtype goes through the library and comes back, as a copy', () => {
  const more = 'Float16Array' in globalThis ? ['float16', 'float64'] : [];
  const dtypes = ['float32', 'int32', 'uint32', 'bool', ...more];
  for (const dtype of dtypes as 'float32'[]) {
    const x = Tensor.from([[1, 0, 1]], { dtype: 'uint8' }).astype(dtype);
    const a = toJaxJs(x, jax.numpy);
    equal([a.dtype, a.shape, a.refCount], [dtype, [1, 3], 1]);
    const y = fromJaxJs(a);
    equal([y.dtype, y.toArray()], [dtype, x.toArray()], dtype);
    equal(a.refCount, 1, 'the caller keeps its reference');
    y.set(0, 1, 1);
    equal(Number(fromJaxJs(a).get(0, 1)), 0, 'a copy');
    a.dispose();
    throws('TypeError', 'Expected a live jax-js Array for value', () => fromJaxJs(a));
  }
});

testWith(absent, 'jax-js: arrays without elements and without axes', () => {
  for (const shape of [[0], [0, 3], [2, 0]]) {
    const a = toJaxJs(Tensor.empty(shape, 'int32'), jax.numpy);
    equal([a.dtype, a.shape, fromJaxJs(a).shape], ['int32', shape, shape]);
    a.dispose();
  }
  equal(fromJaxJs(toJaxJs(Tensor.from(5, { dtype: 'int32' }), jax.numpy)).toArray(), 5);
});

testWith(absent, 'jax-js: results of operations, and errors', () => {
  const { numpy } = jax;
  const a = toJaxJs(Tensor.from([1, 2], { dtype: 'float32' }), numpy);
  const sum = numpy.add(a.ref, a);
  equal(adapt(sum).toArray(), [2, 4]);
  throws('BufferError', 'jax-js copies', () => fromJaxJs(sum, { copy: false }));
  equal(sum.refCount, 1, 'a refused request takes no reference');
  throws('BufferError', 'jax-js copies', () => toJaxJs(Tensor.zeros([1], 'float32'), numpy, { copy: false }));
  throws('UnsupportedDTypeError', 'astype', () => toJaxJs(Tensor.zeros([1], 'int64'), numpy));
});

test('jax-js: an array on WebGPU is shared while the tensor holds a reference', () => {
  let references = 1;
  const array = {
    shape: [2],
    dtype: 'float32',
    device: 'webgpu',
    get refCount() {
      return references;
    },
    get ref() {
      references++;
      return array;
    },
    gpuBufferSync() {
      references--;
      return { size: 16, usage: 128 };
    },
    dispose: () => void references--,
    dataSync: () => null,
  };
  throws('TypeError', 'GPUDevice', () => fromJaxJs(array as never));
  equal(references, 1, 'an error releases the reference');
  const x = fromJaxJs(array as never, { gpuDevice: {} });
  equal([x.shape, references], [[2], 2]);
  x.dispose();
  x.dispose();
  equal(references, 1);
  array.dtype = 'bool'; // which jax-js stores in four bytes
  throws('UnsupportedDTypeError', 'WebGPU', () => fromJaxJs(array as never, { gpuDevice: {} }));
  equal(references, 1, 'a refused request takes no reference');
});
