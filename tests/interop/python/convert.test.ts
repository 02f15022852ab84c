import { type DType, fromDLPack, isDLPackError, Tensor } from 'dlpack';
import { leaks, liveCounts, setDebug } from 'dlpack/debug';
import { addressOf, exportManaged, importManaged } from 'dlpack/native';
import { kwargs, type PyObject } from 'dlpack/python';
import { equal, ok, throws } from '../../assert.js';
import { runChild } from '../../child.js';
import { collect, testWith } from '../../harness.js';
import { isSince, probe, py, pythonMissing, raises, settleUntil, value } from './available.js';

const numpy = probe('numpy');
const np = numpy.module;
const torch = probe('torch');
const jax = probe('jax');

const matrix = () =>
  Tensor.from(
    [
      [1, 2, 3],
      [4, 5, 6],
    ],
    { dtype: 'float32' },
  );
const addressIn = (t: PyObject): bigint => BigInt(value<number>(t.data_ptr()));
const itemOf = (a: PyObject, ...index: number[]): unknown => value(py.getItem(a, py.tuple(...index)).item());

function readonly(): Tensor {
  const a = np.arange(3, kwargs({ dtype: 'float32' }));
  a.setflags(kwargs({ write: false }));
  return fromDLPack(a);
}

testWith(torch.missing, 'a PyTorch tensor over the same memory', () => {
  const { Tensor: TorchTensor } = torch.module;
  const x = matrix();
  const t = py.tensor(x, TorchTensor);
  equal([addressIn(t), String(py.import('builtins').type(t).__name__)], [addressOf(x), 'Tensor']);
  x.set(0, 1, 20);
  t.mul_(2);
  equal(x.toArray(), [
    [2, 40, 6],
    [8, 10, 12],
  ]);
  equal(String(py.tensor(x.transpose(), TorchTensor).stride()), '(1, 3)');
  equal(String(py.tensor(Tensor.from(3), TorchTensor)), 'tensor(3., dtype=torch.float64)');
  equal(String(py.tensor(Tensor.zeros([2, 0], 'int8'), TorchTensor).shape), 'torch.Size([2, 0])');
  x.dispose();
  equal(itemOf(t, 0, 0), 2, 'PyTorch holds its own reference');
});

testWith(torch.missing, 'a PyTorch tensor releases its memory when it is released', () => {
  const x = matrix();
  const { Tensor: TorchTensor } = torch.module;
  for (let i = 0; i < 10; i++) {
    const { storages, exports } = liveCounts();
    const t = py.tensor(x, TorchTensor);
    equal(liveCounts().exports, exports + 1);
    t[Symbol.dispose]();
    equal(liveCounts().exports, exports);
    py.tensor(x, TorchTensor, { copy: true })[Symbol.dispose]();
    equal([liveCounts().storages, liveCounts().exports], [storages, exports]);
  }
});

testWith(numpy.missing, 'a NumPy array counts as an export, and debug mode names the place where it was made', () => {
  const x = matrix();
  const { exports } = liveCounts();
  for (const convert of [() => np.from_dlpack(x), () => py.tensor(x, np.ndarray)]) {
    setDebug(true);
    try {
      let array: PyObject | undefined;
      function leakyArray() {
        array = convert();
      }
      const live = () => leaks().filter(({ kind }) => kind !== 'python-object');
      leakyArray();
      equal(liveCounts().exports, exports + 1);
      equal(
        live()?.map(({ kind, stack }) => [kind, /leaky\w+/.exec(stack)?.[0]]),
        [['export', 'leakyArray']],
      );
      array?.[Symbol.dispose]();
      equal([liveCounts().exports, live()], [exports, []]);
    } finally {
      setDebug(false);
    }
  }
});

testWith(torch.missing, 'tensors that PyTorch cannot share are copied or refused', () => {
  const { Tensor: TorchTensor } = torch.module;
  for (const [x, text] of [
    [Tensor.from([1, 2, 3], { dtype: 'float32' }).flip(), 'tensor([3., 2., 1.])'],
    [readonly(), 'tensor([0., 1., 2.])'],
  ] as const) {
    const t = py.tensor(x, TorchTensor);
    equal(String(t), text);
    ok(addressIn(t) !== addressOf(x));
    throws('BufferError', 'allow a copy', () => py.tensor(x, TorchTensor, { copy: false }));
  }
  const shared = readonly();
  torch.module.from_dlpack(shared).add_(1);
  equal(shared.toArray(), [0, 1, 2], 'from_dlpack of PyTorch takes no notice of read-only memory either');
  raises('BufferError', 'writable', () => torch.module.from_dlpack(shared, kwargs({ copy: false })));
  const x = matrix();
  const copy = py.tensor(x, TorchTensor, { copy: true });
  x.set(0, 0, 9);
  equal(itemOf(copy, 0, 0), 1);
  const wrapped = Tensor.wrap(new Float32Array([1, 2]));
  equal(String(py.tensor(wrapped, TorchTensor)), 'tensor([1., 2.])');
  throws('BufferError', 'native code may keep', () => py.tensor(wrapped, TorchTensor, { copy: false }));
});

testWith(torch.missing, 'a dtype that PyTorch refuses leaves nothing behind', () => {
  const { Tensor: TorchTensor } = torch.module;
  for (const dtype of ['uint4', 'float4_e2m1fn', 'float6_e2m3fn', 'float8_e3m4'] as const) {
    const before = liveCounts().exports;
    raises('RuntimeError', 'Unsupported', () => py.tensor(Tensor.zeros([4], dtype), TorchTensor));
    equal(liveCounts().exports, before, dtype);
  }
  for (const dtype of ['uint16', 'uint64', 'bfloat16', 'float8_e4m3fn', 'complex64', 'bool'] as const) {
    equal(value(py.tensor(Tensor.zeros([2], dtype), TorchTensor).dtype.itemsize), Tensor.zeros([1], dtype).nbytes);
  }
});

testWith(torch.missing, "the flags that PyTorch's exchange table ignores, by both routes", () => {
  const complex = torch.module.tensor([1, 2] as never, kwargs({ dtype: torch.module.complex64 }));
  for (const options of [undefined, { copy: true }]) {
    raises('BufferError', 'detach', () => fromDLPack(torch.module.ones(2, kwargs({ requires_grad: true })), options));
    raises('BufferError', 'resolve_conj', () => fromDLPack(complex.conj(), options));
    raises('BufferError', 'resolve_neg', () => fromDLPack(complex.conj().imag, options));
    raises('BufferError', 'resolve_neg', () => fromDLPack(torch.module._neg_view(torch.module.arange(3)), options));
    equal(fromDLPack(torch.module.ones(2), options).toArray(), [1, 1]);
  }
  const parameter = torch.module.nn.Parameter(torch.module.ones(2));
  raises('BufferError', 'detach', () => fromDLPack(parameter));
  equal(fromDLPack(parameter.detach()).toArray(), [1, 1]);
});

testWith(numpy.missing, 'a NumPy array over the same memory', () => {
  const x = matrix();
  const a = py.tensor(x, np.ndarray);
  equal(
    [value(a.dtype.name), String(a.shape), String(a.strides), value(a.flags.writeable)],
    ['float32', '(2, 3)', '(12, 4)', true],
  );
  x.set(0, 1, 20);
  py.setItem(a, py.tuple(1, 2), 60);
  equal([itemOf(a, 0, 1), x.get(1, 2)], [20, 60]);
  equal(addressOf(fromDLPack(a)), addressOf(x));
  const view = x.transpose().flip(0).slice([0, 2]);
  equal(value(np.array_equal(py.tensor(view, np.ndarray), np.from_dlpack(view))), true);
  equal(value(py.tensor(Tensor.from(3), np.ndarray).item()), 3);
  equal(String(py.tensor(Tensor.zeros([2, 0], 'int8'), np.ndarray).shape), '(2, 0)');
  const fixed = py.tensor(readonly(), np.ndarray, { copy: false });
  equal(value(fixed.flags.writeable), false);
  raises('ValueError', 'read-only', () => py.setItem(fixed, 0, 1));
  x.dispose();
  equal(itemOf(a, 0, 0), 1, 'NumPy holds its own reference');
  raises('RuntimeError|BufferError', '', () => py.tensor(Tensor.zeros([2], 'float32x4'), np.ndarray)); // by version
  equal(value(py.tensor(Tensor.zeros(new Array(40).fill(1), 'int8'), np.ndarray).ndim), 40);
});

testWith(numpy.missing, 'every dtype that NumPy has becomes the array that np.from_dlpack returns', () => {
  const names: DType[] = ['bool', 'int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64'];
  for (const dtype of [...names, 'float16', 'float32', 'float64', 'complex64', 'complex128'] as const) {
    const x = Tensor.zeros([2, 2], dtype);
    const [ours, theirs] = [py.tensor(x, np.ndarray), np.from_dlpack(x)];
    equal([value(ours.dtype.name), value(ours.dtype.char)], [dtype, value(theirs.dtype.char)]);
    equal(value(ours.flags.aligned), true);
  }
});

testWith(jax.missing, 'a class without an exchange table uses from_dlpack of its module', () => {
  const x = matrix();
  const a = py.tensor(x, jax.module.Array, { copy: false });
  equal(BigInt(value<number>(a.unsafe_buffer_pointer())), addressOf(x));
  const y = readonly();
  const take = () => py.tensor(y, jax.module.Array);
  if (!isSince(jax.module, '0.12')) return raises('BufferError', 'read-only', take);
  equal(String(take()), '[0. 1. 2.]'); // shared only where NumPy's memory begins at 64 bytes
});

testWith(numpy.missing, 'without a class the result is an object that can be consumed several times', () => {
  const x = matrix();
  const own = py.tensor(x);
  const [a, b] = [np.from_dlpack(own), np.asarray(own)];
  x.set(0, 0, 7);
  equal([itemOf(a, 0, 0), itemOf(b, 0, 0)], [7, 7]);
  equal(addressOf(fromDLPack(own)), addressOf(x));
});

testWith(torch.missing, 'from one Python library to another', () => {
  const a = np.arange(3, kwargs({ dtype: 'float32' }));
  const t = py.tensor(a, torch.module.Tensor);
  t.add_(1);
  equal(String(a), '[1. 2. 3.]');
});

testWith(numpy.missing, 'arguments that are not a tensor or not a class throw', () => {
  const x = matrix();
  const { SimpleNamespace } = py.import('types');
  raises('TypeError', 'a class of tensors', () => py.tensor(x, np));
  raises('TypeError', 'from_dlpack', () => py.tensor(x, SimpleNamespace));
  for (const bad of [null, 5, 'x', {}, [1], () => 1]) {
    throws('TypeError', 'a Tensor', () => py.tensor(bad as never, np.ndarray));
  }
  for (const bad of [5, {}, () => 1]) throws('TypeError', 'a Python class', () => py.tensor(x, bad));
  if (torch.missing === false) {
    raises('TypeError', 'derived', () => py.tensor(x, torch.module.nn.Parameter));
  }
  x.dispose();
  throws('DisposedError', '', () => py.tensor(x, np.ndarray));
});

testWith(numpy.missing, 'calls that return tensors, in one step', () => {
  const a = np.arange(3, kwargs({ dtype: 'float32' }));
  const sum = py.callTensor(np.add, a, a);
  equal([sum.dtype, sum.toArray()], ['float32', [0, 2, 4]]);
  equal(py.callTensor(np.add, matrix(), matrix()).get(1, 2), 12);
  equal(py.callTensor(np.full, 2, 7, kwargs({ dtype: 'int16' })).toArray(), [7, 7]);
  const imports = liveCounts().imports;
  raises('ValueError', 'broadcast', () => py.callTensor(np.add, a, np.zeros(2)));
  raises('AttributeError', '__dlpack__', () => py.callTensor(py.import('math').floor, 2.5));
  equal(liveCounts().imports, imports);
  let error: unknown;
  try {
    py.callTensor(np.zeros, 3, kwargs({ dtype: 'datetime64[s]' }));
  } catch (thrown) {
    error = thrown;
  }
  ok(isDLPackError(error), String(error));
});

testWith(
  numpy.missing,
  "a class whose first use disposes the tensor: the array has that tensor's memory, not another's",
  async () => {
    py.exec(`
look = None
class Curious(type):
    def __getattr__(cls, name):
        global look
        call, look = look, None
        if call is not None: call()
        raise AttributeError(name)
class Watched(metaclass=Curious):
    __module__ = "numpy"
`);
    const main = py.import('__main__');
    const native = (fill: number): Tensor => importManaged(exportManaged(Tensor.zeros([16], 'float32').fill(fill)));
    // Without objects that earlier tests left, because they would hide a leak.
    await collect();
    py.exec('pass');
    await collect();
    const { storages } = liveCounts();
    const x = native(1);
    const place = addressOf(x);
    let other: Tensor | undefined;
    main.look = () => {
      x.dispose();
      other = native(2);
    };
    (() => {
      const array = py.tensor(x, main.Watched);
      equal([BigInt(value<number>(array.ctypes.data)), itemOf(array, 15)], [place, 1]);
      array[Symbol.dispose]();
    })();
    other?.dispose();
    ok(await settleUntil(() => liveCounts().storages <= storages), 'given back');
  },
);

testWith(pythonMissing, 'a table may delete the tensor on another thread, during the call or after it', () => {
  const { code, signal, output } = runChild(import.meta.url, './children/handover.js');
  equal([code, signal], [0, null], output);
  equal(output.trim(), 'ok');
});
