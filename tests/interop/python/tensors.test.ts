import {
  DLPACK,
  DLPACK_DEVICE,
  type DType,
  fromDLPack,
  isDLPackError,
  ManagedFlag,
  type ManagedTensor,
  Tensor,
} from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import { addressOf } from 'dlpack/native';
import { kwargs, type PyObject } from 'dlpack/python';
import { equal, ok, throws } from '../../assert.js';
import { runChild } from '../../child.js';
import { collect, collectUntil, testWith } from '../../harness.js';
import { define, isSince, probe, py, raises, value } from './available.js';

const numpy = probe('numpy');
const np = numpy.module;
const torch = probe('torch');
const jax = probe('jax');
const pyarrow = probe('pyarrow');
const tvmFfi = probe('tvm_ffi');

/** Waits until objects of earlier tests are released: the collector ran, and Python dropped its references. */
async function settle(): Promise<void> {
  for (let before = -1, left = -2; left !== before; ) {
    before = left;
    await collect();
    np.zeros(1);
    left = liveCounts().imports + liveCounts().exports;
  }
}

const item = (object: PyObject, ...index: number[]): unknown => value(py.getItem(object, py.tuple(...index)).item());

testWith(numpy.missing, 'JavaScript to NumPy and back: one address, writes seen by all', () => {
  const x = Tensor.from(
    [
      [1, 2, 3],
      [4, 5, 6],
    ],
    { dtype: 'float32' },
  );
  const a = np.from_dlpack(x);
  equal([value(a.dtype.name), [...a.shape].map(Number)], ['float32', [2, 3]]);
  x.set(0, 1, 20);
  equal(item(a, 0, 1), 20);
  py.setItem(a, py.tuple(1, 2), 60);
  equal(x.get(1, 2), 60);
  const y = fromDLPack(a);
  equal(
    [addressOf(y), y.toArray()],
    [
      addressOf(x),
      [
        [1, 20, 3],
        [4, 5, 60],
      ],
    ],
  );
  const t = fromDLPack(a.T);
  equal([t.strides, t.get(1, 0)], [[1, 3], 20]);
  x.dispose();
  equal(item(a, 0, 0), 1, 'NumPy holds its own reference');
});

testWith(numpy.missing, 'NumPy memory in JavaScript outlives its array and is released once', async () => {
  await settle();
  const weakref = py.import('weakref');
  const a = np.arange(6, kwargs({ dtype: 'int64' }));
  const alive = py.eval('lambda r: lambda: r() is not None')(weakref.ref(a));
  const imports = liveCounts().imports;
  const x = fromDLPack(a);
  equal(liveCounts().imports, imports + 1);
  a[Symbol.dispose]();
  equal(value(alive()), true);
  equal(x.toArray(), [0n, 1n, 2n, 3n, 4n, 5n]);
  x.dispose();
  ok(await collectUntil(() => liveCounts().imports <= imports));
  np.zeros(1); // the next use of Python runs delayed releases
  equal(value(alive()), false);
});

testWith(numpy.missing, 'every dtype that NumPy has', () => {
  const names: DType[] = [
    'bool',
    'int8',
    'int16',
    'int32',
    'int64',
    'uint8',
    'uint16',
    'uint32',
    'uint64',
    'float16',
    'float32',
    'float64',
    'complex64',
    'complex128',
  ];
  for (const dtype of names) {
    const x = Tensor.zeros([2, 2], dtype);
    const a = np.from_dlpack(x);
    equal(value(a.dtype.name), dtype);
    const y = fromDLPack(np.ones([2, 2] as never, kwargs({ dtype })));
    equal(
      [y.dtype, y.get(0, 0)],
      [
        dtype,
        dtype === 'bool'
          ? true
          : dtype.startsWith('complex')
            ? { re: 1, im: 0 }
            : dtype.endsWith('64') && dtype !== 'float64'
              ? 1n
              : 1,
      ],
    );
  }
});

testWith(numpy.missing, 'strides, offsets, scalars and empty arrays', () => {
  const a = np.arange(24).reshape(2, 3, 4);
  const part = py.getItem(
    a,
    py.tuple(1, py.import('builtins').slice(null, null, -1), py.import('builtins').slice(1, 3)),
  );
  const x = fromDLPack(part);
  equal([x.shape, x.strides, x.get(0, 0)], [[3, 2], [-4, 1], 21n]);
  const back = np.from_dlpack(x.transpose().flip(0));
  equal(value(np.array_equal(back, np.flip(part.T, 0))), true);
  equal(fromDLPack(np.array(7.5)).item(), 7.5);
  equal(value(np.from_dlpack(Tensor.from(3)).item()), 3);
  equal(fromDLPack(np.zeros([0, 3] as never)).shape, [0, 3]);
  equal([...np.from_dlpack(Tensor.zeros([2, 0], 'int8')).shape].map(Number), [2, 0]);
  equal(fromDLPack(np.broadcast_to(np.arange(3), [2, 3] as never)).strides, [0, 1]);
});

testWith(numpy.missing, 'read-only stays read-only, in both directions', () => {
  const a = np.arange(3);
  a.setflags(kwargs({ write: false }));
  const x = fromDLPack(a);
  equal(x.isReadOnly, true);
  throws('ReadOnlyError', 'unsafeData', () => x.data);
  const back = np.from_dlpack(x);
  equal(value(back.flags.writeable), false);
  raises('BufferError', 'read-only', () => callDlpack(x));
  equal(value(np.from_dlpack(x, kwargs({ copy: true })).flags.writeable), true);
});

/** `tensor.__dlpack__(**keywords)` in Python. */
function callDlpack(x: Tensor, keywords: Record<string, unknown> = {}, ...positional: unknown[]): PyObject {
  const call = py.eval('lambda x, a, k: x.__dlpack__(*a, **k)');
  return call(x, positional as never, keywords as never);
}

testWith(numpy.missing, 'the keyword arguments of __dlpack__', () => {
  const x = Tensor.from([1, 2], { dtype: 'float32' });
  const name = (capsule: PyObject) => /"(\w+)"/.exec(String(capsule))?.[1];
  equal(name(callDlpack(x)), 'dltensor');
  equal(name(callDlpack(x, { max_version: null })), 'dltensor');
  equal(name(callDlpack(x, { max_version: py.tuple(0, 8) })), 'dltensor');
  for (const version of [
    [1, 0],
    [1, 3],
    [2, 0],
    [100, 3],
  ] as const) {
    equal(name(callDlpack(x, { max_version: py.tuple(...version) })), 'dltensor_versioned');
  }
  raises('TypeError', 'keyword', () => callDlpack(x, {}, null, null));
  raises('TypeError', 'keyword', () => callDlpack(x, { unknown: 1 }));
  raises('TypeError', 'max_version', () => callDlpack(x, { max_version: 1 }));
  raises('TypeError', 'max_version', () => callDlpack(x, { max_version: py.tuple(1, 'a') }));
  raises('TypeError', 'dl_device', () => callDlpack(x, { dl_device: 'cpu' }));
  raises('BufferError', 'device', () => callDlpack(x, { dl_device: py.tuple(2, 0) }));
  equal(name(callDlpack(x, { dl_device: py.tuple(1, 0), copy: false, stream: null })), 'dltensor');
  raises('ValueError', 'copy', () => callDlpack(x, { copy: 1 }));
  raises('ValueError', 'stream', () => callDlpack(x, { stream: 1 }));
  const copy = np.from_dlpack(x, kwargs({ copy: true }));
  x.set(0, 9);
  equal(item(copy, 0), 1);
  const device = py.eval('lambda x: x.__dlpack_device__()');
  equal([...device(x)].map(Number), [1, 0]);
  raises('TypeError', 'made by', () => py.import('builtins').type(x)());
});

testWith(numpy.missing, 'capsules that are never consumed are released, even while an exception is set', async () => {
  await settle();
  const x = Tensor.from([1, 2, 3]);
  const before = liveCounts().exports;
  for (const keywords of [{}, { max_version: py.tuple(1, 0) }]) callDlpack(x, keywords)[Symbol.dispose]();
  equal(liveCounts().exports, before);
  const failing = py.eval('lambda x: [x.__dlpack__(), 1 / 0]');
  raises('ZeroDivisionError', 'zero', () => failing(x));
  ok(await collectUntil(() => liveCounts().exports <= before));
});

testWith(numpy.missing, 'a capsule is consumed once', () => {
  const x = Tensor.from([1, 2, 3], { dtype: 'float32' });
  const holder = py.eval(
    'lambda c: type("Once", (), {"__dlpack__": lambda self, **k: c, "__dlpack_device__": lambda self: (1, 0)})()',
  );
  const once = holder(callDlpack(x, { max_version: py.tuple(1, 0) }));
  equal(fromDLPack(once).toArray(), [1, 2, 3]);
  raises('TypeError', 'nothing has consumed yet', () => fromDLPack(once));
});

testWith(numpy.missing, 'the buffer protocol and the array interface', () => {
  const x = Tensor.from(
    [
      [1, 2],
      [3, 4],
    ],
    { dtype: 'int16' },
  );
  const view = py.import('builtins').memoryview(x);
  equal([value(view.format), value(view.nbytes), value(view.readonly)], ['h', 8, false]);
  equal(String(view.tolist()), '[[1, 2], [3, 4]]');
  equal(String(py.import('builtins').memoryview(x.transpose()).tolist()), '[[1, 3], [2, 4]]');
  const a = np.asarray(x);
  x.set(0, 0, 9);
  equal(item(a, 0, 0), 9);
  raises(
    'BufferError',
    'not row-major',
    () =>
      py.import('builtins').bytes(x.transpose().slice([0, 2], [0, 2])).nothing ??
      py.import('io').BytesIO(x.transpose()),
  );
  raises('BufferError', 'dtype', () => py.import('builtins').memoryview(Tensor.zeros([2], 'bfloat16')));
});

testWith(numpy.missing, 'JavaScript memory is copied for Python; a foreign consumer gets a managed tensor', () => {
  const array = new Float32Array([1, 2]);
  const a = np.from_dlpack(Tensor.wrap(array));
  array[0] = 9;
  equal(item(a, 0), 1);
  const source = np.arange(3);
  equal(source[DLPACK_DEVICE](), { type: 1, id: 0 });
  const managed = source[DLPACK]() as ManagedTensor;
  equal([managed.version, managed.shape, managed.dtype], [[1, 3], [3], { code: 0, bits: 64, lanes: 1 }]);
  equal([...new BigInt64Array(managed.data as ArrayBuffer, managed.byteOffset, 3)], [0n, 1n, 2n]);
  managed.deleter?.();
});

testWith(numpy.missing, 'a foreign consumer that asks for a copy gets one that is marked', () => {
  const source = np.linspace(0, 1, 5);
  const managed = source[DLPACK]({ copy: true }) as ManagedTensor;
  equal(managed.flags, ManagedFlag.isCopied);
  new Float64Array(managed.data as ArrayBuffer, managed.byteOffset, 5)[0] = 9;
  equal(item(source, 0), 0);
  managed.deleter?.();
  const external = source[DLPACK]({ copy: true, native: 'only' });
  equal(fromDLPack({ [DLPACK]: () => external }).isCopied, true);
  for (const request of [null, { copy: false }]) {
    const shared = source[DLPACK](request) as ManagedTensor;
    equal(shared.flags, 0);
    new Float64Array(shared.data as ArrayBuffer, shared.byteOffset, 5)[0] = 9;
    equal(item(source, 0), 9);
    shared.deleter?.();
  }
});

testWith(numpy.missing, 'a foreign consumer gets the errors of the protocol', () => {
  const x = np.zeros(2);
  for (const request of [
    { device: { type: 2, id: 0 }, native: true },
    { stream: 1n },
    { device: { type: 99, id: 0 } },
  ]) {
    throws('BufferError', '', () => x[DLPACK](request));
  }
  throws('TypeError', 'copy', () => x[DLPACK]({ copy: 1 }));
});

testWith(numpy.missing, 'options of py.tensor that are not an object throw', () => {
  const x = Tensor.from([1]);
  for (const bad of [true, null, 'copy', []]) {
    throws('TypeError', 'an object such as { copy: true }', () => py.tensor(x, np.ndarray, bad as never));
  }
});

testWith(numpy.missing, 'a request that is not an object throws', () => {
  const x = np.zeros(2);
  for (const wrong of [5, []]) throws('TypeError', 'for request', () => x[DLPACK](wrong));
  throws('TypeError', 'the integers { type, id }', () => x[DLPACK]({ device: 'cpu' }));
  throws('TypeError', 'a bigint or null', () => fromDLPack(x, { stream: {} as never }));
});

testWith(numpy.missing, 'the device number of the host is ignored', () => {
  const x = Tensor.from([1, 2, 3], { dtype: 'float32' }).to('cpu:1');
  equal(x.device, 'cpu');
  equal(value(np.asarray(x).sum().item()), 6);
  equal(
    value(
      np
        .asarray(Tensor.zeros([2], 'int8', { device: 'cpu:2' }))
        .sum()
        .item(),
    ),
    0,
  );
});

testWith(numpy.missing, 'copy and device are passed to the producer', () => {
  const a = np.arange(3);
  const x = fromDLPack(a, { copy: true });
  equal(x.isCopied, true);
  py.setItem(a, 0, 50);
  equal(x.get(0), 0n);
  equal(fromDLPack(a, { device: 'cpu', copy: false }).get(0), 50n);
  raises('BufferError|ValueError', '', () => fromDLPack(a, { device: 'cuda:0' })); // NumPy 2.2 raises ValueError
  raises('AttributeError', '__dlpack__', () => fromDLPack(py.import('math')));
  raises('BufferError', '', () => fromDLPack(np.array(['a', 'b'] as never)));
});

testWith(numpy.missing, 'misaligned arrays are copied where a copy is allowed', () => {
  const a = py.eval("__import__('numpy').frombuffer(bytearray(range(41)), dtype='u8', offset=1)");
  for (const options of [undefined, {}, { copy: null }, { copy: true }]) {
    const x = fromDLPack(a, options);
    equal([x.get(0), x.shape], [0x0807060504030201n, [5]]);
  }
  throws('BufferError', 'aligned', () => fromDLPack(a, { copy: false }));
});

testWith(
  probe('ml_dtypes').missing,
  'a NaN becomes negative zero in float4 and float6; ml_dtypes looks at its sign',
  () => {
    py.exec('import numpy, ml_dtypes\nnans = numpy.array([0x7fc0, 0xffc0], "uint16").view(ml_dtypes.bfloat16)');
    for (const dtype of ['float4_e2m1fn', 'float6_e2m3fn', 'float6_e3m2fn'] as const) {
      const ours = fromDLPack(py.eval('nans')).astype(dtype).toArray() as number[];
      equal(
        ours.map((value) => Object.is(value, -0)),
        [true, true],
        dtype,
      );
      const theirs = py.eval(`numpy.signbit(nans.astype(ml_dtypes.${dtype}).astype("float32")).tolist()`);
      equal(String(theirs), '[True, False]', dtype);
    }
  },
);

testWith(
  numpy.missing,
  'a copy that is passed on to Python or back is not marked as a copy for the next consumer',
  () => {
    const c = fromDLPack(np.arange(3), { copy: true });
    const through = py.eval('lambda x: x')(c);
    const z = fromDLPack({ [DLPACK]: () => c[DLPACK]() }, { copy: true }) as Tensor<'int64'>;
    const y = fromDLPack(through, { copy: true }) as Tensor<'int64'>;
    z.set(0, 9n);
    y.set(0, 8n);
    equal([c.get(0), z.get(0), y.get(0)], [0n, 9n, 8n]);
    equal(fromDLPack(through, { copy: false }).get(0), 0n);
  },
);

testWith(torch.missing, 'PyTorch: exchange API, zero-copy, and the checks that it skips', () => {
  const t = torch.module.arange(6, kwargs({ dtype: torch.module.float32 })).reshape(2, 3);
  const x = fromDLPack(t);
  equal([addressOf(x), x.dtype], [BigInt(value<number>(t.data_ptr())), 'float32']);
  t.add_(1);
  equal(x.toArray(), [
    [1, 2, 3],
    [4, 5, 6],
  ]);
  const back = torch.module.from_dlpack(x);
  equal(BigInt(value<number>(back.data_ptr())), addressOf(x));
  raises('BufferError', 'detach', () => fromDLPack(torch.module.ones(2, kwargs({ requires_grad: true }))));
  const complex = torch.module.tensor([1, 2] as never, kwargs({ dtype: torch.module.complex64 }));
  raises('BufferError', 'resolve_conj', () => fromDLPack(complex.conj()));
  raises('BufferError', 'resolve_neg', () => fromDLPack(complex.conj().imag));
  equal(fromDLPack(complex.conj().imag.resolve_neg()).toArray(), [-0, -0]);
  for (const name of ['bfloat16', 'float8_e4m3fn', 'float8_e5m2', 'float8_e4m3fnuz', 'float8_e5m2fnuz'] as const) {
    const y = fromDLPack(torch.module.ones(3).to(torch.module[name]));
    equal([y.dtype, y.toArray()], [name, [1, 1, 1]]);
    equal(
      String(torch.module.from_dlpack(Tensor.from([1, 2], { dtype: name })).to(torch.module.float32)),
      'tensor([1., 2.])',
    );
  }
});

testWith(torch.missing, 'PyTorch: a subclass with a __dlpack__ of its own exports what that method returns', () => {
  const [own, mixed, inherited] = define(
    `import torch
class Own(torch.Tensor):
    def __dlpack__(self, **options):
        return (self.as_subclass(torch.Tensor) * 10).__dlpack__(**options)
class Mixin:
    __dlpack__ = Own.__dlpack__
class Mixed(Mixin, torch.Tensor): pass
class Inherited(torch.Tensor): pass
own, mixed, inherited = (torch.arange(3.0).as_subclass(c) for c in (Own, Mixed, Inherited))`,
    'own',
    'mixed',
    'inherited',
  );
  const identity = py.eval('lambda x: x');
  for (const tensor of [own, mixed]) {
    for (const x of [fromDLPack(tensor), fromDLPack(tensor, { copy: true }), py.callTensor(identity, tensor)]) {
      equal(x.toArray(), [0, 10, 20]);
    }
  }
  equal(addressOf(fromDLPack(inherited)), BigInt(value<number>(inherited.data_ptr())));
});

testWith(torch.missing, 'PyTorch has no negative strides: it gets a copy, or an error', () => {
  const x = Tensor.from([1, 2, 3], { dtype: 'float32' }).flip();
  equal(String(torch.module.from_dlpack(x)), 'tensor([3., 2., 1.])');
  raises('BufferError', 'negative', () => torch.module.from_dlpack(x, kwargs({ copy: false })));
});

function readonlyArray(): PyObject {
  const a = np.arange(3, kwargs({ dtype: 'float32' }));
  a.setflags(kwargs({ write: false }));
  return a;
}

testWith(
  jax.missing,
  'JAX: aligned memory is shared, and what is read-only; old versions know legacy capsules only, and refuse that',
  () => {
    const jnp = py.import('jax.numpy');
    const x = Tensor.from(
      [
        [1, 2],
        [3, 4],
      ],
      { dtype: 'float32' },
    );
    const a = jnp.from_dlpack(x);
    equal(BigInt(value<number>(a.unsafe_buffer_pointer())), addressOf(x), '256-byte alignment is enough to share');
    const y = fromDLPack(jnp.arange(4, kwargs({ dtype: 'float32' })));
    equal(y.toArray(), [0, 1, 2, 3]);
    const z = fromDLPack(readonlyArray());
    const take = () => jnp.from_dlpack(z);
    if (!isSince(jax.module, '0.12')) raises('BufferError', 'read-only', take);
    else equal(String(take()), '[0. 1. 2.]');
    equal(fromDLPack(jnp.ones(2, kwargs({ dtype: 'bfloat16' }))).toArray(), [1, 1]);
  },
);

testWith(pyarrow.missing, 'pyarrow: no keywords, no strides', () => {
  equal(fromDLPack(pyarrow.module.array([1, 2, 3] as never)).toArray(), [1n, 2n, 3n]);
});

testWith(tvmFfi.missing, 'tvm_ffi uses our exchange table, and we use the table of tvm_ffi', () => {
  const x = Tensor.from([1, 2, 3], { dtype: 'float32' });
  const t = tvmFfi.module.from_dlpack(x);
  const y = fromDLPack(t);
  equal([addressOf(y), y.toArray()], [addressOf(x), [1, 2, 3]]);
  y.set(0, 9);
  equal(x.get(0), 9);
});

testWith(numpy.missing, 'deleters on a Python thread', () => {
  const threading = py.import('threading');
  const x = Tensor.from([1, 2, 3]);
  const exports = liveCounts().exports;
  const holder = np.from_dlpack(x);
  const box = py.eval('lambda a: [a]')(holder);
  holder[Symbol.dispose]();
  const thread = threading.Thread(kwargs({ target: box.clear }));
  thread.start();
  thread.join();
  equal(liveCounts().exports, exports);
});

testWith(numpy.missing, 'the process ends cleanly with live objects', () => {
  for (const how of ['end', 'exit']) {
    const { code, signal, output } = runChild(import.meta.url, './children/live-objects.js', { args: [how] });
    equal([code, signal], [0, null], output);
    ok(output.includes('alive'), output);
  }
});

testWith(numpy.missing, 'errors of this package keep their classes', () => {
  let error: unknown;
  try {
    fromDLPack(np.zeros(3, kwargs({ dtype: 'datetime64[s]' })));
  } catch (thrown) {
    error = thrown;
  }
  ok(isDLPackError(error), String(error));
});
