/** Traps of the protocol and of the libraries: hostile and odd producers made with ctypes, and the contents of our capsules. */

import { fileURLToPath } from 'node:url';
import { type DType, fromDLPack, isDLPackError, Tensor } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import { addressOf } from 'dlpack/native';
import { kwargs, type PyObject, PythonError } from 'dlpack/python';
import { equal, ok } from '../../assert.js';
import { runChild } from '../../child.js';
import { collectUntil, testWith } from '../../harness.js';
import { define, isSince, probe, py, pythonMissing, raises, value, versionedNumPyMissing } from './available.js';

const folder = fileURLToPath(new URL('../../../../src/cli/python-matrix', import.meta.url));
if (pythonMissing === false) py.import('sys').path.insert(0, folder);
const synthetic = probe('synthetic');
const numpy = probe('numpy');
const mlDTypes = probe('ml_dtypes');
const np = numpy.module;
const torch = probe('torch');
const jax = probe('jax');
const pyarrow = probe('pyarrow');
const builtins = () => py.import('builtins');

/** `BufferError` for a Python exception, `dlpack LayoutError` for an error of this package, or the value as text. */
function attempt(action: () => unknown): string {
  try {
    return String(action());
  } catch (error) {
    if (error instanceof PythonError) return error.type;
    ok(isDLPackError(error), String(error));
    return `dlpack ${error.tag}`;
  }
}

const counts = (): string => `${synthetic.module.deletions.__len__()} ${synthetic.module.unknown_deletions.__len__()}`;

/** A producer of four float32 (1, 2, 3, 4) in a row, with some fields replaced. */
function producer(fields: Record<string, unknown>, shape: unknown = [4], strides: unknown = [1]): PyObject {
  const make = py.eval(`lambda Producer, np, shape, strides, fields: (lambda a: Producer(
    a, None if fields.pop('null', False) else a.ctypes.data + fields.pop('shift', 0), tuple(fields.pop('dtype', (2, 32, 1))), shape, strides,
    **fields))(np.arange(1, 9, dtype=np.float32))`);
  return make(synthetic.module.Producer, np, shape as never, strides as never, fields as never);
}

/**
 * The outcome of each: the values or the error, and the number of requested capsules. Each deleter is called exactly once.
 */
const cases: readonly (readonly [string, () => PyObject, string, number?])[] = [
  ['version 1.0', () => producer({ minor: 0 }), '1,2,3,4'],
  ['version 1.99', () => producer({ minor: 99 }), '1,2,3,4'],
  ['version 2.0', () => producer({ major: 2 }), 'dlpack VersionError'],
  ['version 0.8 in the new capsule', () => producer({ major: 0, minor: 8 }), 'dlpack VersionError'],
  ['the old capsule', () => producer({ versioned: false }), '1,2,3,4'],
  ['flags that nobody knows', () => producer({ flags: 2 ** 20 }), '1,2,3,4'],
  ['strides NULL', () => producer({}, [2, 2], null), '1,2,3,4'],
  ['strides NULL in the old capsule', () => producer({ versioned: false }, [2, 2], null), '1,2,3,4'],
  ['byte_offset 8', () => producer({ byte_offset: 8 }), '3,4,5,6'],
  ['byte_offset 3', () => producer({ byte_offset: 3 }), 'dlpack BufferError', 2],
  ['data between two elements', () => producer({ shift: 1 }), 'dlpack BufferError', 2],
  ['no axes, NULL shape and strides', () => producer({}, null, null), '1'],
  ['no elements, NULL data', () => producer({ null: true }, [0, 3], [3, 1]), ''],
  ['elements, NULL data', () => producer({ null: true }), 'dlpack LayoutError'],
  ['NULL shape', () => producer({ ndim: 1 }, null, [1]), 'dlpack LayoutError'],
  ['a negative length', () => producer({}, [-1]), 'dlpack LayoutError'],
  ['more elements than 64 bits count', () => producer({}, [2 ** 40, 2 ** 40], [2 ** 40, 1]), 'dlpack LayoutError'],
  ['a stride that leaves memory', () => producer({}, [2], [2n ** 62n]), 'dlpack LayoutError'],
  ['65 axes', () => producer({}, new Array(65).fill(1), new Array(65).fill(1)), 'dlpack LayoutError'],
  ['ndim of -1', () => producer({ ndim: -1 }), 'dlpack LayoutError'],
  ['a negative stride', () => producer({ byte_offset: 12 }, [4], [-1]), '4,3,2,1'],
  ['a stride of zero', () => producer({}, [3], [0]), '1,1,1'],
  ['an axis of one with a wild stride', () => producer({}, [1, 4], [2n ** 62n, 1]), '1,2,3,4'],
  ['lanes', () => producer({ dtype: py.tuple(2, 32, 2) }, [2], [1]), '1,2,3,4'],
  ['lanes 0', () => producer({ lanes: 0 }), 'dlpack UnsupportedDTypeError'],
  ['bits 0', () => producer({ bits: 0 }), 'dlpack UnsupportedDTypeError'],
  ['bool of one bit', () => producer({ dtype: py.tuple(6, 1, 1) }), 'dlpack UnsupportedDTypeError'],
  ['an unknown dtype', () => producer({ code: 99 }), 'dlpack UnsupportedDTypeError'],
  ['an unknown device', () => producer({ device_type: 99 }), 'dlpack UnsupportedDeviceError'],
  ['pinned host memory', () => producer({ device_type: 3 }), '1,2,3,4'],
  ['pinned host memory of a TPU', () => producer({ device_type: 20 }), '1,2,3,4'],
];

testWith(synthetic.missing, 'odd and hostile capsules: the values or a typed error, the deleter once', async () => {
  for (const [name, make, expected, capsules = 1] of cases) {
    const source = make();
    const [before = 0, unknown = 0] = counts().split(' ').map(Number);
    let x: Tensor | null = null;
    const found = attempt(() => {
      x = fromDLPack(source);
      return [...x].flat();
    });
    equal(found, expected, name);
    (x as Tensor | null)?.dispose();
    ok(await collectUntil(() => counts() === `${before + capsules} ${unknown}`), `${name}: deletions ${counts()}`);
  }
});

testWith(synthetic.missing, 'a NULL deleter is not called, and we copy if the producer ignores copy: true', () => {
  const before = counts();
  const x = fromDLPack(producer({ deleter: null }));
  equal([...x], [1, 2, 3, 4]);
  x.dispose();
  equal(counts(), before);
  const source = producer({});
  const copy = fromDLPack(source, { copy: true });
  const shared = fromDLPack(source, { copy: false });
  shared.set(0, 50);
  equal([copy.get(0), shared.get(0)], [1, 50]);
  ok(addressOf(copy) !== addressOf(shared));
});

testWith(synthetic.missing, 'objects that are not fresh capsules are refused', () => {
  equal(
    attempt(() => fromDLPack(producer({ name: 'used_dltensor_versioned' }))),
    'TypeError',
  );
  equal(
    attempt(() => fromDLPack(producer({ name: 'something' }))),
    'TypeError',
  );
  const answer = py.eval('lambda v: type("Answer", (), {"__dlpack__": lambda self, **k: v})()');
  for (const bad of [null, 1, 'dltensor'])
    equal(
      attempt(() => fromDLPack(answer(bad))),
      'TypeError',
    );
  const capsule = py.eval('lambda x: x.__dlpack__()')(Tensor.from([1]));
  equal(fromDLPack(capsule).toArray(), [1]);
  equal(
    attempt(() => fromDLPack(capsule)),
    'TypeError',
    'a capsule is a tensor once',
  );
  capsule[Symbol.dispose]();
});

testWith(
  synthetic.missing,
  'our capsules have a deleter, strides, no offset and aligned memory, whatever the tensor',
  () => {
    const read = py.eval(`lambda find, x, version: (lambda c: (lambda m: (
    bool(m.deleter), bool(m.tensor.strides), m.tensor.byte_offset, m.tensor.data or 0, getattr(m, 'flags', None)))(find(id(c))))(
    x.__dlpack__() if version is None else x.__dlpack__(max_version=version))`);
    const base = Tensor.zeros([4, 6], 'float32');
    ok(addressOf(base) % 256n === 0n, 'aligned to 256');
    for (const x of [
      base,
      base.transpose(),
      base.slice(1, [2, 5]),
      base.flip(0),
      base.slice([0, 0]),
      base.slice(0, 0),
    ]) {
      for (const version of [null, py.tuple(1, 0)]) {
        const [deleter, strides, offset, data] = [...read(synthetic.module.find_struct, x, version)];
        equal([deleter, strides, offset], [true, true, 0]);
        equal(BigInt(Number(data)), x.size === 0 ? 0n : addressOf(x));
      }
    }
    const copied = [...read(synthetic.module.find_struct, base, py.tuple(1, 0))];
    equal(copied[4], 0);
    equal(
      attempt(() => py.eval('lambda x: x.__dlpack__(dl_device=(1, 1))')(base)),
      'BufferError',
    );
    equal(
      attempt(() => py.eval('lambda x: x.__dlpack__(stream=-1)')(base)),
      'ValueError',
    );
  },
);

testWith(synthetic.missing, 'on Metal data is an object: Python receives it as it is, and the offset beside it', () => {
  const read =
    py.eval(`lambda find, x, version: (lambda c: (lambda m: (m.tensor.device_type, m.tensor.data, m.tensor.byte_offset))(
    find(id(c))))(x.__dlpack__() if version is None else x.__dlpack__(max_version=version))`);
  const source = producer({ device_type: 8, byte_offset: 8 });
  const data = BigInt(value<number>(py.eval('lambda p: p.made[1]')(source)));
  using x = fromDLPack(source);
  using view = x.slice([1, 4]);
  for (const [tensor, offset] of [
    [x, 8],
    [view, 12],
  ] as const) {
    equal(value(py.eval('lambda x: x.__dlpack_device__()[0]')(tensor)), 8);
    // As an argument, and as a Python object that was made before.
    for (const object of [tensor, py.tensor(tensor)]) {
      for (const version of [null, py.tuple(1, 3)]) {
        const [device, pointer, beside] = [...read(synthetic.module.find_struct, object, version)];
        equal([device, BigInt(Number(pointer)), beside], [8, data, offset]);
      }
    }
    equal(String(py.tensor(tensor)).includes('device=metal:0'), true, String(py.tensor(tensor)));
    for (const code of ['x.tolist()', 'x.numpy()', 'x[0]', 'memoryview(x)', 'x.__array_interface__'])
      ok(/Error$/.test(attempt(() => py.eval(`lambda x: ${code}`)(tensor))), code);
  }
});

testWith(versionedNumPyMissing(), 'NumPy: the error for an array that it cannot export gives its reason', () => {
  const bad: Record<string, () => PyObject> = {
    'big-endian': () => np.zeros(2, kwargs({ dtype: '>f4' })),
    'long double': () => np.zeros(2, kwargs({ dtype: 'longdouble' })),
    datetime: () => np.zeros(2, kwargs({ dtype: 'datetime64[s]' })),
    object: () => np.zeros(2, kwargs({ dtype: 'object' })),
    'a field of a record': () =>
      py.getItem(np.zeros(2, kwargs({ dtype: [py.tuple('a', 'i1'), py.tuple('b', 'f4')] })), 'b'),
  };
  for (const [name, make] of Object.entries(bad))
    equal(
      attempt(() => fromDLPack(make())),
      'BufferError',
      name,
    );
  equal(fromDLPack(np.float64(2)).toArray(), 2, 'a scalar');
  const odd = np.frombuffer(builtins().bytes(9), kwargs({ dtype: 'float32', offset: 1 }));
  equal(
    attempt(() => fromDLPack(odd, { copy: false })),
    'dlpack BufferError',
    'between two addresses',
  );
  for (const copy of [true, null]) equal([...fromDLPack(odd, { copy })], [0, 0], 'a copy lies where it should');
});

testWith(numpy.missing, '64-bit integers, and bytes that are not valid booleans', () => {
  const bounds = [-(2n ** 63n), 2n ** 63n - 1n, 0n, -1n];
  equal([...fromDLPack(np.array(bounds as never, kwargs({ dtype: 'int64' })))], bounds);
  equal([...np.from_dlpack(Tensor.from(bounds)).tolist()].map(BigInt), bounds);
  const most = [2n ** 64n - 1n];
  equal([...fromDLPack(np.array(most as never, kwargs({ dtype: 'uint64' })))], most);
  equal(String(np.from_dlpack(Tensor.from(most, { dtype: 'uint64' }))), '[18446744073709551615]');
  const bytes = np.array([0, 1, 2, 255] as never, kwargs({ dtype: 'uint8' })).view('bool');
  equal([...fromDLPack(bytes)], [false, true, true, true]);
});

testWith(torch.missing, 'PyTorch: flags that its exchange table ignores, by every route', () => {
  const t = torch.module;
  py.import('warnings').simplefilter('ignore'); // quantized tensors are deprecated
  const complex = t.tensor([1, 2] as never, kwargs({ dtype: t.complex64 }));
  const bad: Record<string, PyObject> = {
    requires_grad: t.ones(2, kwargs({ requires_grad: true })),
    conj: complex.conj(),
    neg: complex.conj().imag,
  };
  for (const [name, tensor] of Object.entries(bad)) {
    for (const options of [undefined, { copy: true }, { copy: false }, { device: 'cpu' as const }]) {
      equal(
        attempt(() => fromDLPack(tensor, options)),
        'BufferError',
        `${name} ${JSON.stringify(options)}`,
      );
    }
  }
  const unfit: Record<string, PyObject> = {
    sparse: t.ones(2, 2).to_sparse(),
    meta: t.ones(2, kwargs({ device: 'meta' })),
    quantized: t.quantize_per_tensor(t.ones(2), 0.1, 0, t.qint8),
  };
  for (const [name, tensor] of Object.entries(unfit)) {
    ok(/^(BufferError|RuntimeError|NotImplementedError|ValueError)$/.test(attempt(() => fromDLPack(tensor))), name);
    ok(attempt(() => fromDLPack(tensor, { copy: true })).endsWith('Error'), name);
  }
  equal(
    [...fromDLPack(t.nn.Parameter(t.ones(2), kwargs({ requires_grad: false })))],
    [1, 1],
    'a subclass has the table too',
  );
});

testWith(torch.missing, 'PyTorch: its C interface describes tensors as its exchange table does', () => {
  const scope = builtins().dict();
  builtins().exec(
    `
import os, tempfile, torch

# A class of its own, so that its first tensor of each dtype goes through the table, and the next through the C interface.
class Own(torch.Tensor):
    pass

base = torch.arange(48).reshape(2, 3, 8)
names = ['uint8', 'int8', 'int16', 'int32', 'int64', 'float16', 'float32', 'float64', 'complex64', 'bool', 'bfloat16']
names += [name for name in ['uint16', 'uint32', 'uint64', 'float8_e5m2', 'float8_e4m3fn'] if hasattr(torch, name)]
def tensors(name):
    t = base.to(getattr(torch, name))
    views = [t, t, t[1, 1:, ::2], t.transpose(0, 2), t[:0], t[0, 0, 0], t[:, :1].expand(2, 5, 8), t.reshape(2, 1, 3, 2, 2, 2, 1)]
    return [view.as_subclass(Own) for view in views]
def facts(t):
    return [list(t.shape), list(t.stride()), t.data_ptr()]
unfit = [torch.ones(2, 2).to_sparse(), torch.ones(2, device='meta'), torch.ones(2, 2).to_mkldnn()]
fit = torch.ones(2)
file = tempfile.TemporaryFile()
def redirect():
    global saved
    saved = os.dup(2)
    os.dup2(file.fileno(), 2)
def restore():
    os.dup2(saved, 2)
    os.close(saved)
    return os.fstat(file.fileno()).st_size
`,
    scope,
  );
  const { get } = scope;
  for (const name of get('names')) {
    for (const tensor of get('tensors')(name)) {
      const imported = fromDLPack(tensor);
      const [shape, strides, address] = get('facts')(tensor);
      equal([imported.dtype, imported.device], [name as DType, 'cpu']);
      equal([[...imported.shape], [...imported.strides]], [[...shape], [...strides]], String(name));
      if (imported.size > 0) equal(addressOf(imported), BigInt(address as number), String(name));
      imported.dispose();
    }
  }
  equal([...fromDLPack(get('fit'))], [1, 1]); // from now on float32 tensors of this class need no table
  get('redirect')();
  const outcomes = [...get('unfit')].map((tensor) => attempt(() => fromDLPack(tensor as PyObject)));
  const printed = get('restore')();
  for (const outcome of outcomes)
    ok(/^(BufferError|RuntimeError|NotImplementedError|ValueError)$/.test(outcome), outcome);
  equal(printed, 0, 'the C interface prints its errors');
});

testWith(torch.missing, 'PyTorch: reading the flags runs Python code, which gives the tensor other memory', () => {
  const scope = py.import('builtins').dict();
  py.import('builtins').exec(
    `
import torch

class Restless(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        with torch._C.DisableTorchFunctionSubclass():
            if args[0].numel() == 6:
                args[0].set_(torch.full((3,), 5.0))
            return func(*args, **(kwargs or {}))

tensor = torch.zeros(6).as_subclass(Restless)
`,
    scope,
  );
  const tensor = py.getItem(scope, 'tensor');
  equal([...fromDLPack(tensor)], [5, 5, 5]);
});

testWith(torch.missing, 'PyTorch: asarray reads a buffer; as_tensor and from_dlpack do not', () => {
  const x = Tensor.from([1, 2, 3], { dtype: 'float64' });
  const knowsFormat = isSince(torch.module, '2.15');
  equal(String(torch.module.asarray(x).dtype), knowsFormat ? 'torch.float64' : 'torch.float32');
  const small = Tensor.from([1, 2], { dtype: 'bfloat16' });
  if (knowsFormat) raises('ValueError', 'could not infer', () => torch.module.asarray(small));
  equal(String(torch.module.as_tensor(small)), 'tensor([1., 2.], dtype=torch.bfloat16)');
  equal(String(torch.module.as_tensor(x)), 'tensor([1., 2., 3.], dtype=torch.float64)');
});

testWith(jax.missing, 'JAX: 64-bit dtypes are shared where it has them; its arrays are read-only', () => {
  const { config, numpy: jnp } = jax.module;
  const x = Tensor.from([1n, 2n], { dtype: 'int64' });
  config.update('jax_enable_x64', true);
  try {
    equal(BigInt(value<number>(jnp.from_dlpack(x).unsafe_buffer_pointer())), addressOf(x));
  } finally {
    config.update('jax_enable_x64', false);
  }
  const a = jnp.arange(3, kwargs({ dtype: 'float32' }));
  const y = fromDLPack(a);
  equal([y.isReadOnly, attempt(() => y.set(0, 9))], [true, 'dlpack ReadOnlyError']);
  const copy = fromDLPack(a, { copy: true });
  copy.set(0, 9);
  equal([copy.get(0), y.get(0)], [9, 0]);
});

testWith(pyarrow.missing, 'pyarrow: slices, nulls, bits, and copies of tensors with gaps', () => {
  const pa = pyarrow.module;
  equal([...fromDLPack(pa.array([1, 2, 3, 4] as never).slice(1, 2))], [2n, 3n]);
  for (const values of [[1, null], [true, false], ['a']]) {
    ok(/Arrow|TypeError|BufferError/.test(attempt(() => fromDLPack(pa.array(values as never)))), String(values));
  }
  const gaps = py.getItem(
    np.arange(24, kwargs({ dtype: 'float32' })).reshape(2, 12),
    py.tuple(builtins().slice(null), builtins().slice(0, 4, 2)),
  );
  equal([...fromDLPack(pa.Tensor.from_numpy(gaps), { copy: true })], [0, 2, 12, 14]);
});

testWith(numpy.missing || mlDTypes.missing, 'ml_dtypes: narrow types take a byte each and keep their names', () => {
  const ml = mlDTypes.module;
  const names: DType[] = [
    'bfloat16',
    'float8_e4m3fn',
    'float6_e2m3fn',
    'float4_e2m1fn',
    'int4',
    'uint2',
    'complex32',
    'bcomplex32',
  ];
  for (const name of names) {
    const a = np.ones(3, kwargs({ dtype: ml[name] }));
    const x = fromDLPack(a);
    equal([x.dtype, x.isPadded], [name, /^(float[46]|u?int)/.test(name)]);
    const before = liveCounts().exports;
    const back = np.asarray(x).view(ml[name]);
    equal(value(np.array_equal(a, back)), true, name);
    equal(liveCounts().exports, before, 'the array interface makes no managed tensor');
  }
});

const registers = numpy.missing === false && isSince(numpy.module, '2.5');
testWith(
  mlDTypes.missing || (registers ? false : 'NumPy 2.5 with np.dtypes.register_dlpack_dtype'),
  'NumPy exchanges dtypes of ml_dtypes: this package registers those of whole bytes',
  () => {
    const ml = mlDTypes.module;
    const x = Tensor.from([1, 2, 3], { dtype: 'bfloat16' });
    const a = np.from_dlpack(x);
    x.set(0, 7);
    equal([String(a), String(a.dtype)], ['[7 2 3]', 'bfloat16']);
    const [hidden] = define('class Hidden:\n  def __init__(self, a): self.__dlpack__ = a.__dlpack__', 'Hidden') as [
      PyObject,
    ];
    const back = fromDLPack(hidden(a));
    equal([back.dtype, addressOf(back)], ['bfloat16', addressOf(x)]);
    // Registered by an array that comes, and by one after another class was registered for these numbers.
    const e5m2 = np.ones(2, kwargs({ dtype: ml.float8_e5m2 }));
    raises('BufferError', 'DLPack only supports', () => hidden(e5m2).__dlpack__());
    equal(fromDLPack(e5m2).dtype, 'float8_e5m2');
    equal(fromDLPack(hidden(e5m2)).dtype, 'float8_e5m2');
    np.dtypes.register_dlpack_dtype(py.tuple(14, 8), np.dtype(ml.float8_e4m3b11fnuz));
    equal(String(np.from_dlpack(Tensor.zeros([1], 'float8_e8m0fnu')).dtype), 'float8_e4m3b11fnuz');
    raises('BufferError', 'Unsupported dtype', () => np.from_dlpack(Tensor.zeros([2], 'int4')));
  },
);

/** Peers that end the process for tensors that the standard allows. When a peer no longer does, its guard can be removed. */
testWith(torch.missing || jax.missing, 'what would end the process still does, and does not reach the peer', () => {
  const ends = (name: string) => {
    const { code, signal, output } = runChild(import.meta.url, './children/hazard.js', { args: [name] });
    return { ended: signal !== null || (code !== null && code > 128), output };
  };
  for (const name of ['torch, negative stride of NumPy', 'jax, NULL deleter']) {
    const { ended, output } = ends(name);
    const isCured = name.startsWith('torch') && isSince(torch.module, '2.14');
    ok(output.includes('about to') && (isCured ? output.includes('RuntimeError') : ended), `${name}: ${output}`);
  }
  for (const name of ['torch, negative stride of JavaScript', 'torch, behind another producer', 'jax, JavaScript']) {
    const { ended, output } = ends(name);
    ok(!ended && output.includes('still here'), `${name}: ${output}`);
  }
});
