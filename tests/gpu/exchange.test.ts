/** Tensors of PyTorch, CuPy and JAX on the GPU, both ways, by every route, without a copy. */

import { Tensor } from 'dlpack';
import { pointerAttributes, synchronize } from 'dlpack/cuda';
import { addressOf, stats } from 'dlpack/native';
import { kwargs } from 'dlpack/python';
import { equal, ok } from '../assert.js';
import { collect, collectUntil, test } from '../harness.js';
import { address, main, peers, py, values, write } from './peers.js';

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
        if (!tensor.readonly) {
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
    const { storages } = stats();
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
    ok(await collectUntil(() => stats().storages <= storages));
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
