/** Finalizers of the objects in a CUDA Array Interface: Python code that calls JavaScript during an import. */

import { Tensor } from 'dlpack';
import { asCudaArray, loadDriver, synchronize } from 'dlpack/cuda';
import { liveCounts } from 'dlpack/debug';
import { addressOf } from 'dlpack/native';
import type { PyObject } from 'dlpack/python';
import { equal, ok, throws } from '../assert.js';
import { testWith } from '../harness.js';
import { py, pythonMissing, settleUntil } from '../interop/python/available.js';
import { fake, fakeDriverPath, fakeMissing } from './fake.js';

const missing = fakeMissing || pythonMissing;
if (missing === false) {
  loadDriver({ path: fakeDriverPath });
  py.exec(`
class Noisy:
    def __init__(self, call): self.call = call
    def __del__(self): self.call()
class Fresh:
    # An array whose interface is made for each reading, with something that says when it goes.
    def __init__(self, address, shape, call=None): self.address, self.shape, self.call = address, shape, call
    @property
    def __cuda_array_interface__(self):
        entries = dict(shape=self.shape, typestr="<f4", data=(self.address, False), version=3)
        if self.call is not None: entries["noise"] = Noisy(self.call)
        return entries
fresh = lambda address, *shape, call=None: Fresh(address, shape, call)
`);
}

const main = missing === false ? py.import('__main__') : (null as never);
const fresh = (address: bigint, shape: number[], call: (() => void) | null = null): PyObject =>
  main.fresh(address, ...shape, py.kwargs({ call }));
const layoutOf = ({ shape, strides, dtype }: Tensor): unknown => [shape, strides, dtype];

testWith(missing, 'a finalizer of the interface imports other arrays', async () => {
  fake.reset();
  const x = Tensor.from(new Float32Array(24).map((_, i) => i)).to('cuda:0');
  synchronize();
  const address = addressOf(x);
  const before = liveCounts().imports;
  const shapes: readonly number[][] = [[4, 6], [24], [0, 3], [2, 3, 4], [5]];
  let calls = 0;
  for (const shape of shapes) {
    for (const other of shapes) {
      const plain = asCudaArray(fresh(address, shape));
      const array = fresh(address, shape, () => {
        calls++;
        const inner = asCudaArray(fresh(address, other));
        equal(inner.shape, other);
        inner.dispose();
      });
      const y = asCudaArray(array);
      array[Symbol.dispose]();
      equal(layoutOf(y), layoutOf(plain), `${shape} and ${other}`);
      equal(y.to('cpu').toArray(), plain.to('cpu').toArray(), `${shape} and ${other}`);
      y.dispose();
      plain.dispose();
    }
  }
  ok(calls >= shapes.length ** 2, String(calls));
  ok(await settleUntil(() => liveCounts().imports <= before), 'released');
  equal(fake.errors(), []);
});

testWith(missing, 'a key whose comparison empties the interface', () => {
  fake.reset();
  const x = Tensor.from(new Float32Array(24)).to('cuda:0');
  synchronize();
  py.exec(`
class Emptying:
    def __init__(self, name): self.name, self.armed, self.entries = name, False, None
    def __hash__(self): return hash(self.name)
    def __eq__(self, other):
        if not self.armed: return False
        self.armed = False
        # The type string is gone, and its memory is another's.
        self.entries.clear()
        Emptying.others = ["<u%d" % (i % 2 + 1) for i in range(50)]
        return False
class Emptied:
    def __init__(self, address, name): self.data, self.name = (address, False), name
    @property
    def __cuda_array_interface__(self):
        key = Emptying(self.name)
        entries = {key: 1}
        entries.update(data=self.data, version=3, typestr="<f%d" % len(self.data * 2), shape=())
        key.entries, key.armed = entries, True
        return entries
`);
  for (const name of ['shape', 'typestr', 'data', 'version']) {
    throws('TypeError', 'for ', () => asCudaArray(main.Emptied(addressOf(x), name)));
  }
  for (const name of ['strides', 'descr', 'mask', 'stream']) {
    equal(layoutOf(asCudaArray(main.Emptied(addressOf(x), name))), [[], [], 'float32'], name);
  }
  equal(fake.errors(), []);
});

testWith(missing, 'a finalizer that releases another object when the list of released objects is full', () => {
  fake.reset();
  const x = Tensor.from(new Float32Array(24).map((_, i) => i)).to('cuda:0');
  synchronize();
  const address = addressOf(x);
  const array = fresh(address, [24]);
  // The handle of a released storage, and the next storage with the same handle.
  asCudaArray(array).dispose();
  py.exec('pass');
  const live = asCudaArray(array);
  const objects = Array.from({ length: 64 }, () => py.eval('type("Object", (), {})()'));
  const last = py.eval('type("Last", (), {})()');
  const isGone = py.eval('lambda weakref, last: (lambda r: lambda: r() is None)(weakref.ref(last))')(
    py.import('weakref'),
    last,
  );
  let calls = 0;
  const noisy = main.Noisy(() => {
    calls++;
    last[Symbol.dispose]();
  });
  // Delayed to the next operation, which the last of the objects performs.
  noisy[Symbol.dispose]();
  equal(calls, 0);
  for (const object of objects) object[Symbol.dispose]();
  equal((live.to('cpu').toArray() as number[])[23], 23);
  equal([calls, isGone()], [1, true]);
  live.dispose();
  equal(fake.errors(), []);
});
