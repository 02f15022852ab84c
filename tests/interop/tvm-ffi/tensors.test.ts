import { DLPACK, DLPACK_DEVICE, type ManagedTensor, Tensor, TensorView } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import { addressOf, exportManaged, importManaged, releaseManaged } from 'dlpack/native';
import {
  type DataType,
  type DeviceValue,
  type FFIFunction,
  getGlobalFunc,
  loadModule,
  type OpaquePointer,
  type Shape,
  toFunction,
} from 'dlpack/tvm-ffi';
import { equal, ok, throws } from '../../assert.js';
import { collectUntil, testWith } from '../../harness.js';
import { caught, ffiMissing, kernelsMissing, kernelsPath, probe, raises, testing } from './peer.js';

const floats = (values: number[]) => Tensor.from(values, { dtype: 'float32' });

testWith(kernelsMissing, 'add_one in C++ and in C writes into our memory', () => {
  const kernels = loadModule(kernelsPath);
  for (const name of ['add_one', 'add_one_c']) {
    const x = floats([1, 2, 3]);
    const y = Tensor.zeros([3], 'float32');
    equal(kernels[name]?.(x, y), undefined);
    equal(y.toArray(), [2, 3, 4]);
    kernels[name]?.(x, x);
    equal(x.toArray(), [2, 3, 4]);
  }
});

testWith(kernelsMissing, 'strides, offsets and flips reach the kernel', () => {
  const { sum_rows } = loadModule(kernelsPath);
  const matrix = Tensor.from(
    [
      [1, 2, 3],
      [4, 5, 6],
    ],
    { dtype: 'float32' },
  );
  const sums = (m: TensorView) => {
    const out = Tensor.zeros([m.shape[0] as number], 'float32');
    sum_rows?.(m, out);
    return out.toArray();
  };
  equal(sums(matrix), [6, 15]);
  equal(sums(matrix.transpose()), [5, 7, 9]);
  equal(sums(matrix.slice(null, [1, 3])), [5, 11]);
  equal(sums(matrix.flip(0)), [15, 6]);
  equal(sums(matrix.slice(0).broadcastTo([3, 3])), [6, 6, 6]);
});

testWith(
  kernelsMissing,
  'a Tensor can be passed to owning and viewing parameters, a TensorView only to viewing parameters',
  () => {
    const x = floats([1, 2, 3]);
    equal([probe('sum_owned')(x), probe('sum_view')(x)], [6, 6]);
    equal([probe('type_of')(x), probe('type_of')(x.view())], [70, 7]);
    equal(probe('sum_view')(x.view()), 6);
    raises('TypeError', 'ffi.Tensor', () => probe('sum_owned')(x.view()));
  },
);

testWith(kernelsMissing, 'JavaScript memory is lent for the call, and native code cannot keep it', () => {
  const array = new Float32Array([1, 2, 3]);
  const x = Tensor.wrap(array);
  equal([probe('type_of')(x), probe('sum_view')(x)], [7, 6]);
  loadModule(kernelsPath).add_one?.(x, x);
  equal([...array], [2, 3, 4]);
  raises('TypeError', 'ffi.Tensor', () => probe('sum_owned')(x));
  throws('BufferError', 'nothing keeps alive', () => testing('echo')(x));
  // A SharedArrayBuffer cannot be detached, so native code may keep it.
  const shared = Tensor.wrap(new Float32Array(new SharedArrayBuffer(8)));
  equal(probe('type_of')(shared), 70);
  structuredClone(array.buffer, { transfer: [array.buffer] });
  throws('DisposedError', 'detached', () => probe('sum_view')(x));
});

testWith(kernelsMissing, 'the fields of a tensor that a callee reads', () => {
  const x = Tensor.from(
    [
      [1, 2, 3],
      [4, 5, 6],
    ],
    { dtype: 'int16' },
  ).slice([1, 2]);
  const [ndim, numel, offset, dtype, device, shape, strides, data] = probe('describe')(x) as [
    number,
    number,
    number,
    DataType,
    DeviceValue,
    Shape,
    Shape,
    OpaquePointer,
  ];
  equal([ndim, numel, offset, dtype.name, device.name], [2, 3, 0, 'int16', 'cpu']);
  equal([shape.dims, strides.dims, data.address], [[1, 3], [3, 1], addressOf(x)]);
  const scalar = probe('describe')(Tensor.from([5]).slice(0)) as unknown[];
  equal(scalar.slice(0, 2), [0, 1]);
  const empty = probe('describe')(Tensor.empty([0, 2], 'float32')) as [number, number];
  equal(empty.slice(0, 2), [2, 0]);
});

testWith(ffiMissing, 'a returned tensor has its own memory again and stays read-only', () => {
  const x = floats([1, 2]);
  const y = testing('echo')(x) as Tensor<'float32'>;
  ok(y instanceof Tensor && y !== x);
  equal(addressOf(y), addressOf(x));
  x.dispose();
  equal(y.toArray(), [1, 2]);
  const shared = new Float32Array(new SharedArrayBuffer(8));
  const readonly = Tensor.wrap(shared, { readonly: true });
  equal((testing('echo')(readonly) as Tensor).isReadOnly, true);
  equal((testing('echo')(floats([1, 2, 3]).slice([1, 3])) as Tensor).toArray(), [2, 3]);
});

testWith(
  kernelsMissing,
  'an argument that is returned is another owner, even if the argument was disposed meanwhile',
  async () => {
    const before = liveCounts();
    const x = floats([1, 2, 3]);
    const y = probe('call_then_return')(() => {}, x) as Tensor;
    ok(y !== x && y instanceof Tensor);
    const z = probe('call_then_return')(() => x.dispose(), x) as Tensor;
    equal([x.isDisposed, addressOf(z) === addressOf(y), z.toArray()], [true, true, [1, 2, 3]]);
    y.dispose();
    const last = probe('call_then_return')(() => z.dispose(), z) as Tensor;
    equal([z.isDisposed, last.toArray()], [true, [1, 2, 3]]);
    // A tensor of another library, made for the call only.
    const producer = {
      [DLPACK]: (request?: object) => last[DLPACK](request),
      [DLPACK_DEVICE]: () => last[DLPACK_DEVICE](),
    };
    const taken = probe('call_then_return')(() => last.dispose(), producer) as Tensor;
    equal(taken.toArray(), [1, 2, 3]);
    // Twice among the arguments, and inside a container, where it is not an argument.
    const [inside] = testing('echo')([taken]) as [Tensor];
    equal(addressOf(inside), addressOf(taken));
    for (const tensor of [inside, taken]) tensor.dispose();
    ok(
      await collectUntil(() => liveCounts().storages <= before.storages && liveCounts().exports <= before.exports),
      JSON.stringify({ before, now: liveCounts() }),
    );
  },
);

testWith(kernelsMissing, 'native tensors arrive without a copy and are released once', async () => {
  const before = probe('live_blocks')();
  const y = probe('make_tensor')(4) as Tensor<'float32'>;
  equal(y.toArray(), [0, 1, 2, 3]);
  equal(probe('live_blocks')(), (before as number) + 1);
  y.set(0, 7);
  equal(probe('sum_owned')(y), 13);
  y.dispose();
  y.dispose();
  ok(await collectUntil(() => probe('live_blocks')() === before));
  (() => probe('make_tensor')(4))();
  ok(await collectUntil(() => probe('live_blocks')() === before));
});

testWith(kernelsMissing, 'a kernel may keep a tensor that JavaScript disposed', async () => {
  const before = liveCounts().storages;
  const x = floats([1, 2, 3]);
  probe('keep')(x);
  x.dispose();
  equal(liveCounts().storages, before + 1);
  const kept = probe('kept')() as Tensor;
  equal(probe('sum_owned')(kept), 6);
  kept.dispose();
  probe('forget_on_thread')();
  ok(await collectUntil(() => liveCounts().storages <= before));
});

testWith(kernelsMissing, 'a tensor disposed by a callback outlives the call it is an argument of', async () => {
  const before = liveCounts().storages;
  const x = floats([1, 2, 3]);
  const seen = probe('with_view')((view: TensorView) => {
    x.dispose();
    return view.get(0) as number;
  }, x);
  equal(seen, 1);
  ok(await collectUntil(() => liveCounts().storages <= before));
  throws('DisposedError', '', () => probe('sum_view')(x));
});

testWith(kernelsMissing, 'a view that native code lends ends with the callback', () => {
  let kept: TensorView | null = null;
  const sum = probe('with_view')((view: TensorView) => {
    ok(view instanceof TensorView && !(view instanceof Tensor));
    kept = view;
    return (view.get(0) as number) + (view.get(1) as number);
  }, floats([3, 4]).view());
  equal(sum, 7);
  throws('DisposedError', '', () => (kept as TensorView | null)?.get(0));
});

testWith(
  ffiMissing,
  'each view of a tensor has its own native object from its second call on, which is released',
  async () => {
    const x = floats([1, 2, 3, 4]);
    const nop = testing('nop');
    const before = liveCounts().exports;
    for (let i = 0; i < 1000; i++) {
      const view = x.slice([i % 4, 4]);
      nop(view, x);
      nop(view);
    }
    ok(await collectUntil(() => liveCounts().exports <= before + 2), `${liveCounts().exports - before} objects alive`);
  },
);

testWith(kernelsMissing, 'the first call that uses a tensor makes an object for its own length', () => {
  const before = liveCounts();
  const x = floats([1, 2, 3]);
  equal(probe('sum_owned')(x), 6);
  equal(liveCounts().exports, before.exports);
  equal(probe('sum_owned')(x), 6);
  equal(liveCounts().exports, before.exports + 1);
  const view = floats([4, 5]).view();
  equal(probe('sum_view')(view), 9);
  equal(liveCounts().exports, before.exports + 1);
  x.dispose();
  equal(liveCounts().exports, before.exports);
});

testWith(kernelsMissing, 'a tensor that its first call returns shares its memory', async () => {
  const before = liveCounts();
  const x = floats([1, 2, 3]);
  const y = testing('echo')(x) as Tensor;
  y.set(0, 9);
  equal(x.toArray(), [9, 2, 3]);
  x.dispose();
  equal(y.toArray(), [9, 2, 3]);
  y.dispose();
  equal(liveCounts().exports, before.exports);
  ok(await collectUntil(() => liveCounts().storages <= before.storages)); // the collector releases a buffer that was shown
});

testWith(kernelsMissing, 'a tensor that its first call returns after a callback has disposed it', async () => {
  const before = liveCounts();
  const x = floats([1, 2, 3]);
  const y = probe('call_then_return')(() => x.dispose(), x) as Tensor;
  equal([x.isDisposed, y.toArray()], [true, [1, 2, 3]]);
  y.dispose();
  equal(liveCounts().exports, before.exports);
  ok(await collectUntil(() => liveCounts().storages <= before.storages)); // the collector releases a buffer that was shown
});

testWith(kernelsMissing, 'the code of a later argument disposes a tensor, and another takes its handle', () => {
  const x = floats([1, 2, 3]);
  let other: Tensor | null = null;
  const hostile = {
    [DLPACK](): ManagedTensor {
      x.dispose();
      other = floats([7, 8, 9]);
      return other[DLPACK]({}) as ManagedTensor;
    },
  };
  const [first] = getGlobalFunc('ffi.Array')(x, hostile) as [Tensor];
  equal([x.isDisposed, first.toArray()], [true, [1, 2, 3]]);
  equal((other as Tensor | null)?.toArray(), [7, 8, 9]);
});

testWith(kernelsMissing, 'a trap of a proxy disposes a tensor at any time before the call', () => {
  const addOne = loadModule(kernelsPath).add_one;
  const result = new Float32Array(3);
  // Without a deleter, so that each call can consume it.
  const managed = { ...(Tensor.wrap(result)[DLPACK]({}) as ManagedTensor), deleter: null };
  let isDisposed = true;
  for (let left = 0; isDisposed; left++) {
    const x = floats([1, 2, 3]);
    const others: Tensor[] = [];
    let calls = 0;
    const getPrototypeOf = () => {
      if (calls++ === left) {
        x.dispose();
        others.push(floats([7, 8, 9]));
      }
      return Object.prototype;
    };
    result.fill(0);
    addOne?.(x, new Proxy({ [DLPACK]: () => managed }, { getPrototypeOf }));
    isDisposed = x.isDisposed;
    equal([...result], [2, 3, 4]);
  }
});

testWith(kernelsMissing, 'a tensor that has an object is disposed while a call reads its arguments', () => {
  const addOne = loadModule(kernelsPath).add_one as FFIFunction;
  const isTensor = (value: unknown) => Object.prototype.isPrototypeOf.call(Tensor.prototype, value as object);
  // During the check of the tensor itself, and of the argument after it.
  for (const left of [0, 1]) {
    const x = floats([1, 2, 3]);
    const y = floats([0, 0, 0]);
    for (let i = 0; i < 3; i++) addOne(x, y); // from the second call on, both have objects
    y.data.fill(0);
    let checks = 0;
    const value = (tensor: unknown): boolean => {
      if (checks++ === left) {
        x.dispose();
        for (let i = 0; i < 4; i++) addOne(floats([7, 8, 9]), floats([7, 8, 9])); // may take its memory and its object
      }
      return isTensor(tensor);
    };
    Object.defineProperty(Tensor, Symbol.hasInstance, { configurable: true, value });
    const error = caught(() => addOne(x, y));
    Reflect.deleteProperty(Tensor, Symbol.hasInstance);
    const expected = left === 0 ? ['DisposedError', [0, 0, 0]] : [undefined, [2, 3, 4]];
    equal([x.isDisposed, [(error as Error | null)?.name, y.toArray()]], [true, expected]);
  }
});

testWith(kernelsMissing, 'calls with no to five tensors, their results and errors, inside of other calls, too', () => {
  const tensors = [0, 1, 2, 3, 4].map((value) => floats([value]));
  let given: unknown[] = [];
  let action = (): unknown => undefined;
  const record = toFunction((...args) => {
    given = (args as Tensor[]).map((tensor) => tensor.toArray());
    return action();
  });
  const inner = toFunction((...args) => args.length);
  for (let count = 0; count <= tensors.length; count++) {
    const args = tensors.slice(0, count);
    const expected = args.map((_, i) => [i]);
    for (let round = 0; round < 3; round++) {
      action = () => undefined;
      equal([record(...args), given], [undefined, expected]);
      action = () => inner(...args) as number;
      equal([record(...args), given], [count, expected]);
      action = () => 'text that is longer than a small string';
      equal(record(...args), 'text that is longer than a small string');
      action = () => {
        throw new RangeError('refused');
      };
      ok(caught(() => record(...args)) instanceof Error);
      const last = args.at(-1);
      if (last === undefined) continue;
      action = () => last;
      const result = record(...args) as Tensor;
      equal([result.toArray(), addressOf(result)], [last.toArray(), addressOf(last)]);
      result.dispose();
    }
  }
  equal(
    tensors.map((tensor) => tensor.toArray()),
    [[0], [1], [2], [3], [4]],
  );
});

testWith(kernelsMissing, 'wrapped for each call: a buffer in frequent use, its parts, and its end', () => {
  const array = new Float32Array([1, 2, 3, 4]);
  const sum = probe('sum_view');
  for (let i = 0; i < 200; i++) {
    array[0] = i;
    equal(sum(Tensor.wrap(array)), i + 9);
    equal(sum(Tensor.wrap(array.subarray(2))), 7);
    equal(sum(Tensor.wrap(array, { shape: [2], byteOffset: 4 })), 5);
  }
  const late = Tensor.wrap(array);
  structuredClone(array.buffer, { transfer: [array.buffer] });
  throws('DisposedError', '', () => sum(late));
});

testWith(kernelsMissing, 'tensors of other libraries are imported for the call and released after it', () => {
  let deleted = 0;
  const data = new Float32Array([1, 2, 3]);
  const producer = {
    [DLPACK]: (): ManagedTensor => ({
      version: [1, 3],
      flags: 0,
      data: data.buffer,
      byteOffset: 0,
      shape: [3],
      dtype: { code: 2, bits: 32, lanes: 1 },
      device: { type: 1, id: 0 },
      deleter: () => deleted++,
    }),
    [DLPACK_DEVICE]: () => ({ type: 1, id: 0 }),
  };
  equal(probe('sum_view')(producer), 6);
  equal(deleted, 1);
  loadModule(kernelsPath).add_one?.(producer, producer);
  equal([[...data], deleted], [[2, 3, 4], 3]);
  raises('TypeError', 'ffi.Tensor', () => probe('sum_owned')(producer));
  equal(deleted, 4);
});

testWith(kernelsMissing, 'a call holds one reference, and the cache holds none', () => {
  const x = floats([1]);
  equal(probe('unique')(x), 2);
  equal(probe('unique')(x), 2);
});

/** The first call describes wrapped memory on the wire, and later calls use a native object. */
testWith(kernelsMissing, 'wrapped memory in its first call and in later calls, with other calls in between', () => {
  const { add_one: addOne, sum_rows: sumRows } = loadModule(kernelsPath);
  const sumView = probe('sum_view');
  const array = new Float32Array([1, 2, 3]);
  const x = Tensor.wrap(array);
  const managed: ManagedTensor = {
    version: [1, 3],
    flags: 0,
    data: new Float32Array(3).buffer,
    byteOffset: 0,
    shape: [3],
    strides: null,
    dtype: { code: 2, bits: 32, lanes: 1 },
    device: { type: 1, id: 0 },
    deleter: null,
  };
  const producer = {
    [DLPACK]: () => {
      // These calls use the wire while the outer call has already described `x` there.
      for (let i = 0; i < 3; i++) equal(sumView(Tensor.wrap(new Float32Array([40, 2]))), 42);
      const out = Tensor.wrap(new Float32Array(2));
      sumRows?.(Tensor.wrap(new Float32Array([1, 2, 3, 4, 5, 6]), { shape: [2, 3], strides: [1, 2] }), out);
      equal(out.toArray(), [9, 12]);
      return { ...managed };
    },
    [DLPACK_DEVICE]: () => ({ type: 1, id: 0 }),
  };
  for (let call = 0; call < 3; call++) addOne?.(x, producer);
  equal([...new Float32Array(managed.data as ArrayBuffer)], [2, 3, 4]);
  array[0] = 9;
  equal(sumView(x), 14);
  const detached = Tensor.wrap(new Float32Array([1, 2]));
  structuredClone(detached.data.buffer, { transfer: [detached.data.buffer as ArrayBuffer] });
  throws('DisposedError', 'detached', () => sumView(detached));
});

testWith(kernelsMissing, 'each tensor that is made for one call has its own layout', () => {
  const { sum_rows } = loadModule(kernelsPath);
  for (let round = 0; round < 3; round++) {
    for (let n = 1; n <= 12; n++) {
      const values = new Float32Array(2 * n).map((_, i) => i);
      const expected = [(n * (n - 1)) / 2, (n * (3 * n - 1)) / 2];
      const out = Tensor.wrap(new Float32Array(2));
      sum_rows?.(Tensor.wrap(values, { shape: [2, n] }), out);
      equal(out.toArray(), expected, `wrapped, ${n} columns`);
      const imported = importManaged(exportManaged(Tensor.from(values, { shape: [2, n] })));
      const sums = importManaged(exportManaged(Tensor.zeros([2], 'float32')));
      sum_rows?.(imported, sums);
      equal(sums.toArray(), expected, `imported, ${n} columns`);
    }
  }
});

testWith(
  kernelsMissing,
  'exports in the code of a later argument do not change the layout of an earlier argument',
  () => {
    const { sum_rows } = loadModule(kernelsPath);
    const many = Array.from({ length: 20 }, (_, i) => Tensor.zeros([1, i + 1], 'float32'));
    const memory = new Float32Array(2);
    for (let round = 0; round < 3; round++) {
      const matrix = importManaged(exportManaged(floats([1, 2, 3, 4, 5, 6]).reshape([2, 3])));
      const producer = {
        [DLPACK]: (): ManagedTensor => {
          for (const other of many) releaseManaged(exportManaged(other));
          return {
            version: [1, 3],
            flags: 0,
            data: memory.buffer,
            byteOffset: 0,
            shape: [2],
            dtype: { code: 2, bits: 32, lanes: 1 },
            device: { type: 1, id: 0 },
          };
        },
        [DLPACK_DEVICE]: () => ({ type: 1, id: 0 }),
      };
      memory.fill(0);
      sum_rows?.(matrix, producer);
      equal([...memory], [6, 15]);
    }
  },
);

testWith(kernelsMissing, 'a tensor that a kernel keeps after its first call stays alive', () => {
  const echo = testing('echo');
  const x = importManaged(exportManaged(floats([1, 2, 3])));
  const kept = echo(x) as Tensor;
  x.dispose();
  equal(kept.toArray(), [1, 2, 3]);
  kept.dispose();
});

testWith(kernelsMissing, 'a new layout may take the place of the layout of a later argument', () => {
  const { sum_rows } = loadModule(kernelsPath);
  const matrices = Array.from({ length: 20 }, (_, i) => {
    const values = new Float32Array(2 * i + 2).map((_, at) => at);
    return importManaged(exportManaged(Tensor.from(values, { shape: [2, i + 1] })));
  });
  for (const [i, matrix] of matrices.entries()) {
    const out = Tensor.wrap(new Float32Array(2)); // shares the number of its layout with the tensors of earlier rounds
    sum_rows?.(matrix, out);
    equal(out.toArray(), [(i * (i + 1)) / 2, ((i + 1) * (3 * i + 2)) / 2], `${i + 1} columns`);
  }
});
