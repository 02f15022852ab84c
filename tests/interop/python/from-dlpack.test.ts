import { type DType, fromDLPack, Tensor, type TensorView } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import { addressOf } from 'dlpack/native';
import { kwargs, type PyObject, PythonError } from 'dlpack/python';
import { equal, ok, throws } from '../../assert.js';
import { collect, testWith } from '../../harness.js';
import { probe, py, raises, settleUntil, value } from './available.js';

const numpy = probe('numpy');
const torch = probe('torch');
const np = numpy.module;

/** The function called by Python code, which receives a dlpack.Tensor. */
const byPython = (f: PyObject): PyObject => py.eval('lambda f: lambda x: f(x)')(f);
const matrix = () =>
  Tensor.from(
    [
      [1, 2, 3],
      [4, 5, 6],
    ],
    { dtype: 'float32' },
  );
function readonly(): Tensor {
  const array = np.arange(3, kwargs({ dtype: 'float32' }));
  array.setflags(kwargs({ write: false }));
  return fromDLPack(array);
}

/** The outcome of a call: a description of the object, or the exception. */
function outcome(f: PyObject, x: TensorView, describe: PyObject): string {
  try {
    return String(describe(f(x)));
  } catch (error) {
    ok(error instanceof PythonError, String(error));
    return `${error.type}: ${error.message}`;
  }
}

const dtypes: DType[] = [
  'bool',
  'int8',
  'uint8',
  'int16',
  'uint16',
  'int32',
  'uint32',
  'int64',
  'uint64',
  'float16',
  'bfloat16',
  'float32',
  'float64',
  'complex64',
  'complex128',
  'float8_e4m3fn',
  'float4_e2m1fn',
  'float32x2' as DType,
];

const samples = (): TensorView[] => [
  ...dtypes.map((dtype) => Tensor.zeros([2, 3], dtype)),
  matrix(),
  matrix().transpose(),
  matrix().slice(1),
  matrix().slice([0, 1], [1, 3]),
  Tensor.from(3),
  Tensor.zeros([2, 0], 'float32'),
  Tensor.zeros([1, 3], 'float32').broadcastTo([4, 3]),
  Tensor.zeros(new Array(40).fill(1), 'int8'),
  Tensor.wrap(new Float32Array([1, 2])),
  readonly(),
];

for (const [library, describe] of [
  [
    numpy,
    'lambda a: (type(a), a.dtype, a.shape, a.strides, a.flags.writeable, a.flags.owndata, a.flags.num, a.tolist())',
  ],
  [torch, 'lambda t: (type(t), t.dtype, t.shape, t.stride(), t.is_contiguous(), t.requires_grad, t.tolist())'],
] as const) {
  const name = library === numpy ? 'NumPy' : 'PyTorch';
  testWith(
    library.missing || numpy.missing,
    `from_dlpack of ${name} has the results and errors of its own code`,
    () => {
      const { from_dlpack } = library.module;
      const own = byPython(from_dlpack);
      const text = py.eval(describe);
      for (const x of samples()) equal(outcome(from_dlpack, x, text), outcome(own, x, text), `${x.dtype} ${x.shape}`);
      const reversed = fromDLPack(np.flip(np.arange(6, kwargs({ dtype: 'float32' })), 0));
      equal([reversed.strides, outcome(from_dlpack, reversed, text)], [[-1], outcome(own, reversed, text)]);
    },
  );
}

testWith(numpy.missing, 'np.from_dlpack shares the memory', () => {
  const x = matrix();
  const a = np.from_dlpack(x);
  equal(BigInt(value<number>(a.ctypes.data)), addressOf(x));
  a.fill(7);
  equal(x.get(1, 2), 7);
});

testWith(torch.missing, 'torch.from_dlpack shares the memory', () => {
  const x = matrix();
  const t = torch.module.from_dlpack(x);
  equal(BigInt(value<number>(t.data_ptr())), addressOf(x));
  t.mul_(2);
  x.set(0, 0, 50);
  equal(String(t), 'tensor([[50.,  4.,  6.],\n        [ 8., 10., 12.]])');
});

testWith(numpy.missing, 'from_dlpack with other arguments runs the library’s own code', () => {
  const { from_dlpack } = np;
  const x = matrix();
  const copy = from_dlpack(x, kwargs({ copy: true }));
  copy.fill(7);
  equal(x.get(0, 0), 1);
  raises('TypeError', '', () => from_dlpack());
  raises('TypeError', '', () => from_dlpack(x, x));
  raises('TypeError|AttributeError', '', () => from_dlpack(1));
  raises('TypeError', '', () => from_dlpack(x, kwargs({ unknown: 1 })));
  const a = np.arange(3);
  ok(from_dlpack(a).tolist()[Symbol.iterator]().next().value === 0, 'a Python tensor');
  const disposed = matrix();
  disposed.dispose();
  throws('DisposedError', 'dispose()', () => from_dlpack(disposed));
});

for (const library of ['numpy', 'torch']) {
  const { module, missing } = library === 'numpy' ? numpy : torch;
  testWith(missing, `a from_dlpack that a program put into ${library} is called as it is`, () => {
    const original = module.from_dlpack;
    const x = matrix();
    py.exec(`
import functools
def patch(module):
    original = module.from_dlpack
    @functools.wraps(original)
    def from_dlpack(x):
        from_dlpack.calls += 1
        return original(x)
    from_dlpack.calls = 0
    module.from_dlpack = from_dlpack
    return from_dlpack
`);
    const patched = py.import('__main__').patch(module);
    try {
      module.from_dlpack(x);
      module.from_dlpack(x);
      equal(value<number>(patched.calls), 2);
      original(x);
      equal(value<number>(patched.calls), 2, 'the original function, which JavaScript looked up before');
    } finally {
      module.from_dlpack = original;
    }
    module.from_dlpack(x);
    equal(value<number>(patched.calls), 2);
  });

  testWith(missing, `an object of ${library}’s from_dlpack releases the memory once, when it is dropped`, async () => {
    const { from_dlpack } = module;
    await collect();
    const before = liveCounts();
    const objects = Array.from({ length: 10 }, () => {
      const x = matrix();
      const object = from_dlpack(x);
      x.dispose();
      return object;
    });
    for (const object of objects) {
      equal(value<number>(py.getItem(object, py.tuple(1, 2)).item()), 6, 'the object keeps the memory');
      object[Symbol.dispose]();
    }
    ok(await settleUntil(() => liveCounts().storages <= before.storages && liveCounts().exports <= before.exports));
  });
}

testWith(numpy.missing, "an array that arrives without a capsule equals NumPy's own", async () => {
  const imports = liveCounts().imports;
  const { ref } = py.import('weakref');
  for (const code of [
    'np.arange(6, dtype="int32").reshape(2, 3)',
    'np.arange(6, dtype="complex128").reshape(2, 3).T',
    'np.arange(6, dtype="float16")[::-2]',
    'np.array(5, dtype="bool")',
    'np.arange(24, dtype="longlong").reshape(2, 3, 4)[:, 1]',
    'np.zeros((1, 3))[:, ::2]',
    'np.broadcast_to(np.arange(3.0), (2, 3))',
  ]) {
    const array = py.eval(`(lambda np: ${code})(__import__("numpy"))`);
    const [direct, capsule] = [
      fromDLPack(array),
      fromDLPack(array.__dlpack__(kwargs({ max_version: py.tuple(1, 0) }))),
    ];
    const facts = (t: Tensor) => [t.dtype, t.shape, t.strides, t.isReadOnly, addressOf(t), t.toArray()];
    equal(facts(direct), facts(capsule), code);
    direct.dispose();
    capsule.dispose();
  }
  const array = np.arange(3);
  const weak = ref(array);
  const isAlive = () => py.eval('lambda weak: weak() is not None')(weak) as boolean;
  const tensor = fromDLPack(array);
  array[Symbol.dispose]();
  ok(isAlive(), 'the tensor keeps the array');
  tensor.dispose();
  ok(await settleUntil(() => !isAlive() && liveCounts().imports === imports));
});

testWith(numpy.missing, "arrays that DLPack cannot describe are refused with NumPy's error", () => {
  for (const code of ['np.zeros(2, dtype=">i4")', 'np.zeros(2, dtype="U3")', 'np.zeros(2, dtype="i4,i2")["f0"]']) {
    const array = py.eval(`(lambda np: ${code})(__import__("numpy"))`);
    raises('BufferError', '', () => fromDLPack(array));
  }
});
