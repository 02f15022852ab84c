/** What a JavaScript tensor is for Python code and for the functions of PyTorch and JAX. */

import { fromDLPack, Tensor } from 'dlpack';
import { setDebug } from 'dlpack/debug';
import { callAsync, kwargs, type PyObject } from 'dlpack/python';
import { equal, ok, rejection, throws } from '../../assert.js';
import { testWith } from '../../harness.js';
import { define, probe, py, pythonMissing, raises, value, versionedNumPyMissing } from './available.js';

const numpy = probe('numpy');
const torch = probe('torch');
const jax = probe('jax.numpy');
const mlDTypes = probe('ml_dtypes');

const matrix = () =>
  Tensor.from(
    [
      [1, -2, 3],
      [-4, 5, -6],
    ],
    { dtype: 'float32' },
  );
/** The same elements in read-only memory. */
const readOnly = (): Tensor => {
  const array = numpy.module.from_dlpack(matrix());
  array.setflags(kwargs({ write: false }));
  return fromDLPack(array);
};
const shown = (f: string, x: Tensor): string => String(py.eval(`lambda x: repr(${f})`)(x));

testWith(pythonMissing, 'names and sizes are those of JavaScript', () => {
  const x = matrix();
  equal(shown('x', x), '<dlpack.Tensor shape=(2, 3) dtype=float32 device=cpu>');
  equal(
    shown('(x.shape, x.dtype, x.device, x.ndim, x.size, x.nbytes, len(x))', x),
    "((2, 3), 'float32', 'cpu', 2, 6, 24, 2)",
  );
  for (const dtype of [
    'bool',
    'int4',
    'uint128',
    'bfloat16',
    'complex64',
    'float8_e4m3fn',
    'float4_e2m1fn',
    'float32x4',
  ] as const) {
    const y = Tensor.zeros([3], dtype);
    equal(shown('(x.dtype, x.nbytes)', y), `('${dtype}', ${y.nbytes})`);
  }
  raises('TypeError', 'this tensor has none', () => shown('len(x)', Tensor.zeros([], 'int8')));
});

testWith(pythonMissing, 'the dtype and the device have their numbers of DLPack, and are strings', () => {
  const x = Tensor.zeros([2], 'bfloat16');
  equal(shown('(x.dtype.__dlpack_data_type__(), x.device.__dlpack_device__())', x), '((4, 16, 1), (1, 0))');
  equal(shown('x.dtype.__dlpack_data_type__()', Tensor.zeros([2], 'float32x4')), '(2, 32, 4)');
  equal(shown("(x.dtype == 'bfloat16', isinstance(x.dtype, str), {x.dtype: 1}['bfloat16'])", x), '(True, True, 1)');
  equal(shown("(lambda p: type(p.loads(p.dumps(x.dtype))))(__import__('pickle'))", x), "<class 'str'>");
  // JavaScript receives their text: as a result, as an attribute, and as an argument of a function.
  equal(value(py.eval('lambda x: x.dtype')(x)), 'bfloat16');
  equal(value(py.tensor(x).device), 'cpu');
  equal(value(py.eval('lambda x, f: f(x.dtype)')(x, (dtype: unknown) => dtype)), 'bfloat16');
});

testWith(versionedNumPyMissing(), 'Python code reads and writes elements', () => {
  const x = matrix();
  equal(
    shown('(float(x[0, 1]), x[1].tolist(), x.tolist()[0], [float(row[0]) for row in x])', x),
    '(-2.0, [-4.0, 5.0, -6.0], [1.0, -2.0, 3.0], [1.0, -4.0])',
  );
  py.eval('lambda x: x.__setitem__((0, 0), 7)')(x);
  equal(x.get(0, 0), 7);
  py.eval('lambda x: x.numpy().fill(9)')(x);
  equal(x.get(1, 2), 9);
  const one = Tensor.from([2], { dtype: 'int32' });
  equal(shown('(x.item(), int(x), float(x), bool(x))', one.reshape([])), '(2, 2, 2.0, True)');
  raises('ValueError', 'ambiguous', () => shown('bool(x)', x));
  raises('ValueError', 'read-only', () => shown('x.__setitem__(0, 1)', readOnly()));
  const array = new Float32Array(2);
  raises('BufferError', 'pass Tensor.from(array) or Tensor.adopt(array)', () =>
    shown('x.__setitem__(0, 1)', Tensor.wrap(array)),
  );
  equal(shown('x[0]', Tensor.wrap(array)).includes('0.0'), true, 'a copy can be read');
  raises('ValueError', 'copy=None or True', () => shown("x.__array__('float64', copy=False)", x));
});

testWith(numpy.missing || mlDTypes.missing, 'numpy() has the dtypes of ml_dtypes', () => {
  equal(
    shown('(str(x.numpy().dtype), x.tolist())', Tensor.from([1.5, -2], { dtype: 'bfloat16' })),
    "('bfloat16', [1.5, -2.0])",
  );
  raises('TypeError', "x.astype('int8')", () => shown('x.numpy()', Tensor.from([1, 0], { dtype: 'uint1' })));
});

testWith(
  numpy.missing,
  'an attribute that only a library has: the error names the function that makes its object',
  () => {
    raises('AttributeError', "has no 'softmax'; make an object of the library that has it: torch.from_dlpack(x)", () =>
      shown('x.softmax(0)', matrix()),
    );
    equal(shown('hasattr(x, "__cuda_array_interface__")', matrix()), 'False');
    raises('AttributeError', 'needs memory of a CUDA device', () => shown('x.__cuda_array_interface__', matrix()));
  },
);

testWith(
  numpy.missing || torch.missing,
  'copy=False from Python is refused for memory that Python received as a copy',
  () => {
    const np = numpy.module;
    const source = new Float32Array([1, 2, 3]);
    const wrapped = Tensor.wrap(source);
    const no = kwargs({ copy: false });
    for (const take of [np.from_dlpack, torch.module.from_dlpack]) {
      raises('BufferError', 'Tensor.from or Tensor.adopt', () => take(wrapped, no));
      raises('BufferError', 'Tensor.from or Tensor.adopt', () => take(py.tensor(wrapped), no));
      equal(String(take(wrapped).tolist()), '[1.0, 2.0, 3.0]');
      equal(String(take(wrapped, kwargs({ copy: true })).tolist()), '[1.0, 2.0, 3.0]');
    }
    throws('BufferError', 'Tensor.adopt', () => py.tensor(wrapped, undefined, { copy: false }));
    // Memory that JavaScript got as a copy, and memory that is only pinned, is shared.
    const copied = fromDLPack(np.arange(3, kwargs({ dtype: 'float32' })), { copy: true });
    const shared = Tensor.wrap(new Float32Array(new SharedArrayBuffer(12)));
    for (const x of [copied, shared, py.tensor(copied)]) {
      np.from_dlpack(x, no).fill(5);
      equal(String(np.from_dlpack(x).tolist()), '[5.0, 5.0, 5.0]');
    }
    equal([copied.get(0), shared.get(0)], [5, 5]);
  },
);

testWith(numpy.missing, 'what Python writes to a copy of wrapped memory raises instead of vanishing', async () => {
  const np = numpy.module;
  const array = new Float32Array([1, 2, 3]);
  const wrapped = Tensor.wrap(array);
  const write = py.eval('lambda a: a.__setitem__(0, 9)');
  const views = {
    asarray: np.asarray(wrapped),
    from_dlpack: np.from_dlpack(wrapped),
    numpy: py.tensor(wrapped).numpy(),
    tensor: py.tensor(wrapped, np.ndarray),
    async: await callAsync(np.asarray, wrapped),
  };
  for (const [name, view] of Object.entries(views)) {
    equal(String(view.tolist()), '[1.0, 2.0, 3.0]', name);
    raises('ValueError', 'pass Tensor.from(array) or Tensor.adopt(array)', () => write(view));
  }
  raises('ValueError', 'Tensor.adopt(array)', () => np.add(1, 1, kwargs({ out: np.asarray(wrapped) })));
  // A copy that the program asked for, and memory that is shared, can be written.
  write(np.array(wrapped));
  write(py.eval('lambda x: __import__("pickle").loads(__import__("pickle").dumps(x, 5))')(wrapped));
  write(np.asarray(wrapped, kwargs({ dtype: 'float64' })));
  write(py.tensor(wrapped, np.ndarray, { copy: true }));
  for (const shared of [Tensor.from(array), Tensor.adopt(array.slice())]) {
    write(np.asarray(shared));
    equal(shared.get(0), 9);
  }
  equal([...array], [1, 2, 3]);
});

testWith(versionedNumPyMissing(), 'functions that take only arrays of NumPy say what to pass', () => {
  const { add, copyto, from_dlpack } = numpy.module;
  const x = Tensor.zeros([2], 'float64');
  raises('TypeError', 'out takes an array of NumPy: for a tensor of JavaScript pass np.from_dlpack(x)', () =>
    add(1, 1, kwargs({ out: x })),
  );
  raises('TypeError', 'pass an object of the library, such as', () => copyto(x, 3));
  if (Number(String(numpy.module.__version__).split('.')[0]) > 1) {
    add(1, 1, kwargs({ out: from_dlpack(x) }));
    equal(x.toArray(), [2, 2]);
  }
});

testWith(numpy.missing, 'np.asarray with copy=False is refused for memory that Python received as a copy', () => {
  const asarray = py.eval('lambda np, x, **k: np.array(x, **k)');
  const no = kwargs({ copy: false });
  if (Number(String(numpy.module.__version__).split('.')[0]) > 1) {
    raises('ValueError', 'pass Tensor.from(array) or Tensor.adopt(array)', () =>
      numpy.module.asarray(Tensor.wrap(new Float32Array(2)), no),
    );
    raises('ValueError', 'Tensor.adopt(array)', () => asarray(numpy.module, Tensor.wrap(new Float32Array(2)), no));
  }
  const shared = Tensor.from([1, 2]);
  asarray(numpy.module, shared, no).fill(5);
  equal(shared.get(0), 5);
});

testWith(numpy.missing, 'protocols that cannot say that memory is a copy serve its readers only', () => {
  const bytes = Tensor.wrap(new Uint8Array([1, 2, 3]));
  raises('BufferError', 'x.numpy() or x.tobytes()', () => shown('memoryview(x)', bytes));
  raises('BufferError', 'Tensor.adopt(array)', () => shown('(__import__("ctypes").c_char * 3).from_buffer(x)', bytes));
  raises('AttributeError', 'Tensor.adopt(array)', () => py.tensor(bytes).__array_interface__);
  equal(shown('bytes(x)', bytes), "b'\\x01\\x02\\x03'");
  equal(shown('__import__("zlib").crc32(x)', bytes), String(shown('__import__("zlib").crc32(b"\\1\\2\\3")', bytes)));
  const { BytesIO } = py.import('io');
  raises('TypeError', 'pass Tensor.from(array) or Tensor.adopt(array)', () =>
    BytesIO(new Uint8Array(3)).readinto(bytes),
  );
  const shared = Tensor.zeros([3], 'uint8');
  BytesIO(new Uint8Array([4, 5, 6])).readinto(shared);
  equal(shared.toArray(), [4, 5, 6]);
  // As Pillow does it.
  equal(shown('(x.__array_interface__["data"][1], getattr(x, "__array_interface__")["shape"])', bytes), '(True, (3,))');
});

testWith(torch.missing, 'a function of PyTorch that writes to a copy of wrapped memory is refused', () => {
  const { module } = torch;
  const { relu_, add, relu, nn, ops } = module;
  const wrapped = Tensor.wrap(new Float32Array([-1, 2]));
  const out = kwargs({ out: wrapped });
  for (const write of [
    () => relu_(wrapped),
    () => ops.aten.relu_(wrapped),
    () => add(Tensor.from([1, 2]), 1, out),
    () => module._foreach_add_([wrapped], 1),
    () => nn.functional.relu(wrapped, kwargs({ inplace: true })),
  ]) {
    raises('BufferError', 'pass Tensor.from(array) or Tensor.adopt(array)', write);
  }
  equal(fromDLPack(relu(wrapped)).toArray(), [0, 2]);
});

testWith(torch.missing, 'a copy of wrapped memory that PyTorch can write to comes with a warning', () => {
  const wrapped = Tensor.wrap(new Float32Array([1, 2]));
  const { from_dlpack, Tensor: TorchTensor, relu } = torch.module;
  const caught = py.eval('__import__("warnings").catch_warnings')(kwargs({ record: true }));
  const log = caught.__enter__();
  const warningsOf = (action: () => unknown): string => {
    log.clear();
    action();
    return String(py.eval("lambda log: ' '.join(str(w.message) for w in log)")(log));
  };
  py.import('warnings').simplefilter('always');
  const lose = py.eval('lambda take, x: take(x).fill_(9)');
  const takes = {
    from_dlpack: () => lose(from_dlpack, wrapped),
    torch: () => lose(py.eval('lambda x: x.torch()'), wrapped),
    tensor: () => py.tensor(wrapped, TorchTensor).fill_(9),
    flipped: () => lose(from_dlpack, wrapped.slice([null, null, -1])),
  };
  try {
    for (const [name, take] of Object.entries(takes)) {
      const text = warningsOf(take);
      equal([name, text.split('Tensor.from(array) or Tensor.adopt(array)').length], [name, 2]);
    }
    const quiet = {
      read: () => relu(wrapped),
      copy: () => from_dlpack(wrapped, kwargs({ copy: true })),
      option: () => py.tensor(wrapped, TorchTensor, { copy: true }),
      shared: () => from_dlpack(Tensor.from([1, 2])),
      adopted: () => py.tensor(Tensor.adopt(new Float32Array(2)), TorchTensor),
    };
    for (const [name, take] of Object.entries(quiet)) equal([name, warningsOf(take)], [name, '']);
    // Where the program has made warnings errors, this one is an error, too.
    py.import('warnings').simplefilter('error');
    raises('UserWarning', 'Tensor.adopt(array)', () => from_dlpack(wrapped));
  } finally {
    caught.__exit__(null, null, null);
  }
  equal([...wrapped], [1, 2]);
});

testWith(numpy.missing || torch.missing, 'errors for the words of the other language name the own ones', () => {
  throws('TypeError', "torch.float32 is 'float32' here", () => matrix().astype(torch.module.float32));
  throws('TypeError', "numpy.int64 is 'int64' here", () => matrix().astype(numpy.module.int64));
  raises('AttributeError', "Python's len(x) is x.__len__()", () => py.eval('[1, 2]').length);
});

testWith(torch.missing, 'functions of PyTorch take a JavaScript tensor, without a copy', () => {
  const x = matrix();
  const module = torch.module;
  const relu = (): unknown => fromDLPack(module.relu(x)).toArray();
  equal(relu(), [
    [1, 0, 3],
    [0, 5, 0],
  ]);
  module.relu_(x);
  equal(x.toArray(), [
    [1, 0, 3],
    [0, 5, 0],
  ]);
  const out = Tensor.zeros([2, 3], 'float32');
  module.add(x, x, kwargs({ out }));
  equal(out.get(1, 1), 10);
  equal([...module.stack([x, out]).shape], [2, 2, 3]);
  equal([...module.ops.aten.mul(x, module.ones(3)).shape], [2, 3]);
  equal(value(module.add(module.ones(2, 3), x).sum().item()), 15);
  raises('RuntimeError', 'shapes cannot be multiplied', () => module.matmul(x, x));
});

testWith(torch.missing, 'a whole model takes a JavaScript tensor and returns a Tensor', async () => {
  const [model, traced] = define(
    `
import torch
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2)).requires_grad_(False)
traced = torch.jit.trace(model, torch.ones(2, 3))
`,
    'model',
    'traced',
  ) as [PyObject, PyObject];
  const x = matrix();
  const expected = fromDLPack(model(torch.module.from_dlpack(x))).toArray();
  equal(fromDLPack(model(x)).toArray(), expected);
  equal(fromDLPack(traced(x)).toArray(), expected);
  equal(py.callTensor(model, x).toArray(), expected);
  equal(fromDLPack(await callAsync(model, x)).toArray(), expected);
});

testWith(
  torch.missing,
  'a model that uses operators or methods of its argument gets an error that says what to pass',
  async () => {
    const [model, method] = define(
      `
import torch
class Doubled(torch.nn.Module):
    def forward(self, x):
        return x * 2
class Turned(torch.nn.Module):
    def forward(self, x):
        return x.view(-1)
model, method = Doubled(), Turned()
`,
      'model',
      'method',
    ) as [PyObject, PyObject];
    const x = matrix();
    for (const failing of [model, method]) {
      throws('PythonError', 'torch.from_dlpack(x)', () => failing(x));
      throws('PythonError', 'torch.from_dlpack(x)', () => py.callTensor(failing, x));
      ok((await rejection<Error>(callAsync(failing, x))).message.includes('torch.from_dlpack(x)'));
    }
    equal(fromDLPack(model(torch.module.from_dlpack(x))).get(0, 0), 2);
    throws('PythonError', 'torch.from_dlpack(x)', () => torch.module.vmap(torch.module.sum)(x));
  },
);

testWith(jax.missing, 'functions of JAX take a JavaScript tensor', () => {
  const x = matrix();
  equal(String(jax.module.abs(x).tolist()), '[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]');
  ok(Math.abs(value<number>(jax.module.sin(x).tolist().__getitem__(0).__getitem__(0)) - Math.sin(1)) < 1e-6);
  const square = py.import('jax').jit(py.eval('lambda x: x * x'));
  equal(String(square(x).tolist()), '[[1.0, 4.0, 9.0], [16.0, 25.0, 36.0]]');
  equal(
    value(
      jax.module.asarray(x).unsafe_buffer_pointer() ===
        py.tensor(x).__array_interface__.__getitem__('data').__getitem__(0),
    ),
    true,
  );
  equal(String(jax.module.add(readOnly(), 1).tolist()), '[[2.0, -1.0, 4.0], [-3.0, 6.0, -5.0]]');
});

testWith(pythonMissing, 'debug mode reports the copy of wrapped memory for Python once, with its line', () => {
  const { emitWarning } = process;
  const texts: string[] = [];
  process.emitWarning = ((text: string, { code }: { code: string }) => void texts.push(`${code} ${text}`)) as never;
  setDebug(true);
  try {
    const wrapped = Tensor.wrap(new Float32Array(2));
    for (let i = 0; i < 2; i++) py.release(py.tensor(wrapped));
    py.release(py.tensor(Tensor.from([1])));
  } finally {
    setDebug(false);
    process.emitWarning = emitWarning;
  }
  equal(texts.length, 1);
  ok(texts[0]?.startsWith('DLPACK_COPY') && texts[0].includes('tensor-object.test'), texts[0]);
});
