/** Tensors of PyTorch, CuPy and JAX on the GPU, both ways, by every route, without a copy. */

import { Tensor } from 'dlpack';
import { asCudaArray, pointerAttributes, Stream, synchronize } from 'dlpack/cuda';
import { liveCounts } from 'dlpack/debug';
import { addressOf } from 'dlpack/native';
import { kwargs } from 'dlpack/python';
import { equal, ok } from '../assert.js';
import { collect, collectUntil, test } from '../harness.js';
import { address, main, peers, py, sleep, values, write } from './peers.js';

const sequence = [0, 1, 2, 3, 4, 5];
const flat = (tensor: Tensor) => tensor.to('cpu').reshape([-1]).toArray();

for (const { name, make, give, take, isMutable } of peers) {
  for (const [route, into] of Object.entries(give)) {
    test(`${name} into JavaScript: ${route}`, () => {
      const object = make();
      const tensor = into(object);
      equal([tensor.device, tensor.dtype, tensor.shape], ['cuda:0', 'float32', [2, 3]]);
      equal(addressOf(tensor), address(object), 'one address');
      equal(flat(tensor), sequence);
      if (isMutable) {
        write(object, 7);
        equal(flat(tensor), [7, 7, 7, 7, 7, 7], 'what Python writes is seen');
        if (!tensor.isReadOnly) {
          tensor.fill(8);
          synchronize();
          equal(values(object), [8, 8, 8, 8, 8, 8], 'what JavaScript writes is seen');
        }
      }
      tensor.dispose();
      object[Symbol.dispose]();
    });
  }
  for (const [route, out] of Object.entries(take)) {
    test(`JavaScript into ${name}: ${route}`, () => {
      const tensor = Tensor.from(Float32Array.from(sequence), { shape: [2, 3] }).to('cuda:0');
      const object = out(tensor);
      equal(address(object), addressOf(tensor), 'one address');
      equal(values(object), sequence);
      tensor.fill(3);
      synchronize();
      equal(values(object), [3, 3, 3, 3, 3, 3], 'what JavaScript writes is seen');
      if (isMutable) {
        write(object, 9);
        equal(flat(tensor), [9, 9, 9, 9, 9, 9], 'what Python writes is seen');
      }
      object[Symbol.dispose]();
      tensor.dispose();
    });
  }
}

test('views keep their strides and offsets', () => {
  const base = Tensor.from(
    Float32Array.from({ length: 24 }, (_, i) => i),
    { shape: [4, 6] },
  );
  const there = base.to('cuda:0');
  const view = there.slice([1, 3], [0, 6, 2]).transpose();
  const host = flat(base.slice([1, 3], [0, 6, 2]).transpose());
  equal(values(main.torch.from_dlpack(view)), host);
  equal(values(main.cp.from_dlpack(view)), host);
  equal(values(main.cp.asarray(view)), host);
  equal(values(py.tensor(view, main.cp.ndarray)), host);
  const backwards = there.slice([3, 0, -1], [5, 0, -2]);
  equal(values(py.tensor(backwards, main.cp.ndarray)), flat(base.slice([3, 0, -1], [5, 0, -2])));
});

test('views of CuPy arrays by the CUDA Array Interface, and every dtype', () => {
  py.exec(`
view = cp.arange(24, dtype=cp.int16).reshape(4, 6)[3:0:-1, ::2]
scalar, empty = cp.zeros((), dtype=cp.complex128), cp.zeros((0, 3), dtype=cp.float32)
`);
  using view = asCudaArray(main.view);
  equal([view.shape, view.strides, view.dtype, addressOf(view)], [[3, 3], [-6, 2], 'int16', address(main.view)]);
  equal(flat(view), values(main.view));
  equal([asCudaArray(main.scalar).shape, asCudaArray(main.scalar).dtype], [[], 'complex128']);
  equal(asCudaArray(main.empty).shape, [0, 3]);
  for (const dtype of ['bool', 'int8', 'uint8', 'int64', 'uint64', 'float16', 'float32', 'float64', 'complex64']) {
    using array = asCudaArray(main.cp.ones(3, dtype));
    equal(array.dtype, dtype as typeof array.dtype);
  }
});

test('an interface that a program puts in the place of CuPy’s is used', () => {
  py.exec(`
base = cp.arange(6, dtype=cp.float32)
class Sub(cp.ndarray):
    @property
    def __cuda_array_interface__(self):
        return {**super().__cuda_array_interface__, 'shape': (2,)}
sub = base.view(type=Sub)
original = cp.ndarray.__cuda_array_interface__
def replace(): cp.ndarray.__cuda_array_interface__ = property(lambda self: {**original.__get__(self), 'shape': (3,)})
def restore(): del cp.ndarray.__cuda_array_interface__
`);
  equal(asCudaArray(main.base).shape, [6]);
  equal(asCudaArray(main.sub).shape, [2]);
  main.replace();
  equal(asCudaArray(main.base).shape, [3]);
  main.restore();
  equal(asCudaArray(main.base).shape, [6]);
});

test('CuPy’s current stream, by its class and by the CUDA Array Interface', () => {
  py.exec(`
stream = cp.cuda.Stream(non_blocking=True)
late = cp.zeros(1 << 20, dtype=cp.float32)
def fill_late():
    with stream:
        sleep(stream.ptr)
        late.fill(5)
def use(action):
    with stream: action()
copy = lambda array: array.copy()
`);
  main.fill_late();
  let seen = Tensor.zeros([0], 'float32');
  main.use(() => {
    seen = asCudaArray(main.late) as typeof seen;
  });
  equal(seen.slice([0, 2]).to('cpu').toArray(), [5, 5], 'our stream waits for theirs');
  const own = new Stream();
  const { cp: cupy, copy: cupyCopy } = main;
  const x = Tensor.zeros([1 << 20], 'float32', { device: 'cuda:0' });
  synchronize();
  sleep(own.handle);
  own.use(() => x.fill(7));
  let there = main.late;
  main.use(() => {
    there = cupyCopy(cupy.from_dlpack(x));
  });
  equal(values(there).slice(0, 2), [7, 7], 'their stream waits for ours');
  seen.dispose();
  own.dispose();
});

test('CuPy arrays by their class: every dtype that CuPy has', () => {
  const bits = [8, 16, 32, 64];
  const integers = bits.flatMap((width) => [`int${width}`, `uint${width}`]);
  for (const dtype of [...integers, 'float16', 'float32', 'float64', 'complex64', 'complex128', 'bool']) {
    const tensor = Tensor.from([1, 0, 1], { dtype: dtype as 'int8' }).to('cuda:0');
    const array = py.tensor(tensor, main.cp.ndarray);
    equal([String(array.dtype), address(array)], [dtype, addressOf(tensor)], dtype);
    array[Symbol.dispose]();
    tensor.dispose();
  }
});

for (const [name, take] of [
  ['PyTorch', (tensor: Tensor) => main.torch.from_dlpack(tensor)],
  ['CuPy, by its class', (tensor: Tensor) => py.tensor(tensor, main.cp.ndarray)],
] as const) {
  test(`${name} keeps the memory after JavaScript dropped it, and releases it`, async () => {
    // Without objects that earlier tests left, because they would hide a leak.
    await collect();
    py.exec('pass');
    await collect();
    const { storages } = liveCounts();
    let object = (() => {
      const tensor = Tensor.from([1, 2, 3], { dtype: 'float32' }).to('cuda:0');
      const taken = take(tensor);
      tensor.dispose();
      return taken;
    })();
    equal(values(object), [1, 2, 3]);
    object[Symbol.dispose]();
    object = null;
    main.values(main.torch_array());
    ok(await collectUntil(() => liveCounts().storages <= storages));
  });
}

test('JavaScript keeps the memory after Python dropped it', async () => {
  const object = main.cupy_array();
  const tensor = peers[1]?.give['CUDA Array Interface']?.(object) as Tensor;
  object[Symbol.dispose]();
  for (let i = 0; i < 10; i++) main.cupy_array();
  equal(flat(tensor), sequence);
  tensor.dispose();
});

test("the true device of other libraries' memory", () => {
  equal(pointerAttributes(address(main.torch_array()))?.device, 'cuda:0');
  const pinned = main.torch.empty(4).pin_memory();
  equal(pointerAttributes(address(pinned))?.device, 'cuda_host');
});

test("the producer copies to the host at the consumer's request", () => {
  const tensor = Tensor.from(Float32Array.from(sequence), { shape: [2, 3] }).to('cuda:0');
  const array = main.np.from_dlpack(tensor, kwargs({ device: 'cpu' }));
  equal(values(array), sequence);
});
