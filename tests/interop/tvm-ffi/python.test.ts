/** One process, one library, two hosts: Python's tvm_ffi with PyTorch's tensors, and this package with its own. */

import { fromDLPack, Tensor } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import { addressOf } from 'dlpack/native';
import { type PyObject, PythonError } from 'dlpack/python';
import {
  asModule,
  currentStream,
  Dict,
  type FFIFunction,
  FFIObject,
  getGlobalFunc,
  List,
  loadModule,
  registerGlobalFunc,
  registerObject,
  removeGlobalFunc,
  setAllocator,
  TVMFFIError,
  withStream,
} from 'dlpack/tvm-ffi';
import { equal, ok } from '../../assert.js';
import { runChild } from '../../child.js';
import { collect, collectUntil, testWith } from '../../harness.js';
import { probe as probePython, py, value } from '../python/available.js';
import { caught, kernelsMissing, kernelsPath, probe, probePath, raises, testing } from './peer.js';

const tvmFfi = probePython('tvm_ffi');
const torch = probePython('torch');
const pythonMissing = kernelsMissing || tvmFfi.missing;
const torchMissing = pythonMissing || torch.missing;

const floats = (values: number[]) => Tensor.from(values, { dtype: 'float32' });
const pythonModule = (path: string): PyObject => tvmFfi.module.load_module(path);

/** The action throws a Python exception of this type. */
function raisesInPython(type: string, text: string, action: () => unknown): void {
  try {
    action();
  } catch (error) {
    ok(error instanceof PythonError && error.type === type && error.message.includes(text), String(error));
    return;
  }
  throw new Error(`expected ${type}`);
}

interface Found {
  readonly traps: string[];
  readonly copies: number;
  readonly addresses: number[];
  readonly calls: number[];
}

for (const order of ['import,javascript', 'javascript,import', 'exec,javascript', 'lazily,javascript', 'import']) {
  testWith(pythonMissing, `one copy of the library, and WebAssembly traps still throw: ${order}`, () => {
    const { code, signal, output } = runChild(import.meta.url, './children/with-python.js', {
      args: [probePath, ...order.split(',')],
    });
    equal([code, signal], [0, null], output);
    const { traps, copies, addresses, calls } = JSON.parse(output) as Found;
    ok(/out of bounds/i.test(traps[0] ?? ''), output);
    equal(new Set(traps).size, 1, output);
    equal([copies, new Set(addresses).size, calls], [1, 1, [2, 42]], output);
  });
}

testWith(torchMissing, 'the same file with PyTorch’s tensors and with ours', () => {
  const ours = loadModule<Record<'add_one' | 'sum_rows' | 'fail', FFIFunction>>(kernelsPath);
  const theirs = pythonModule(kernelsPath);
  const x = floats([1, 2, 3]);
  const t = torch.module.from_dlpack(x);
  const u = torch.module.zeros(3);
  theirs.add_one(t, u);
  equal(fromDLPack(u).toArray(), [2, 3, 4]);
  ours.add_one(x, x);
  theirs.add_one(t, t);
  ours.add_one(fromDLPack(u), x);
  equal([x.toArray(), value(t.tolist())].map(String), ['3,4,5', '[3.0, 4.0, 5.0]']);
  // Python's binding takes our tensor without conversion.
  theirs.add_one(x, u);
  equal(fromDLPack(u).toArray(), [4, 5, 6]);
  raisesInPython('ValueError', 'there', () => theirs.fail('there'));
  raises('ValueError', 'here', () => ours.fail('here'));
  raisesInPython('TypeError', 'float32', () =>
    theirs.add_one(torch.module.zeros(3, py.kwargs({ dtype: torch.module.int32 })), u),
  );
  ours.add_one(x, x);
  equal(x.toArray(), [4, 5, 6]);
});

testWith(torchMissing, 'each host keeps its allocator, in turns, nested, and after errors', () => {
  const theirs = pythonModule(probePath);
  const t = torch.module.ones(2);
  const x = floats([1, 2]);
  const own = probe('allocator')(x);
  const torchs = value<number>(theirs.allocator(t));
  ok(own !== torchs && torchs !== 0, `${own}, ${torchs}`);
  const check = () => equal([probe('allocator')(x), value(theirs.allocator(t))], [own, torchs]);
  check();
  raisesInPython('RuntimeError', 'on stream', () => theirs.stream_then_fail(t));
  check();
  raises('RuntimeError', 'on stream', () => probe('stream_then_fail')(x));
  check();

  // A JavaScript function inside a Python call: our kernels use our allocator, and Python's allocator is restored.
  const seen: unknown[] = [];
  registerGlobalFunc('dlpack.test.inside', () => {
    seen.push(probe('allocator')(x));
    seen.push(value(theirs.allocator(t)));
    if (seen.length === 4) throw new RangeError('inside');
  });
  const inside = tvmFfi.module.get_global_func('dlpack.test.inside');
  equal([value(theirs.allocator_after(inside, t)), seen], [torchs, [own, torchs]]);
  raisesInPython('RuntimeError', 'inside', () => theirs.allocator_after(inside, t));
  equal(seen, [own, torchs, own, torchs]);
  check();

  // And Python code inside one of our calls.
  py.exec('def again(module, tensor):\n  return lambda x: module.allocator(tensor)');
  const again = py.eval('again')(theirs, t);
  tvmFfi.module.register_global_func('dlpack.test.again', again);
  equal(probe('allocator_after')(getGlobalFunc('dlpack.test.again'), x), own);
  check();

  // With the user's allocator, for the duration of our calls.
  setAllocator((shape, dtype) => Tensor.zeros(shape, dtype));
  try {
    const users = probe('allocator')(x);
    ok(users !== own && users !== torchs);
    equal([value(theirs.allocator(t)), probe('allocator')(x)], [torchs, users]);
  } finally {
    setAllocator(null);
  }
  check();
});

testWith(torchMissing, 'memory that kernels allocate belongs to the host that called them', async () => {
  const theirs = pythonModule(probePath);
  for (let i = 0; i < 5; i++) await collect();
  py.import('sys'); // the next use of Python releases objects of earlier tests
  const before = liveCounts().storages;
  const t = theirs.allocate_like(torch.module.ones(4));
  const after = liveCounts().storages; // this use of Python, too, may have released objects of earlier tests
  equal([value(t.__class__.__name__), after <= before], ['Tensor', true]);
  ok(value(torch.module.is_tensor(t)), 'PyTorch’s own class');
  const y = probe('allocate_like')(floats([1, 2, 3])) as Tensor<'float32'>;
  ok(liveCounts().storages > after && addressOf(y) % 256n === 0n);
  // Without a tensor of a framework Python sets no allocator, so it uses ours on this thread.
  const plain = pythonModule(kernelsPath).iota(3);
  equal(fromDLPack(plain).toArray(), [0, 1, 2]);
});

testWith(pythonMissing, "streams belong to the thread: each host sees the other's stream and restores it", () => {
  py.exec(`
import tvm_ffi
def on_stream(device, handle, action):
    with tvm_ffi.use_raw_stream(tvm_ffi.device(device), handle):
        return action()
def fail(): raise KeyError("inside")
`);
  const theirs = pythonModule(probePath);
  const onStream = py.eval('on_stream') as unknown as (device: string, handle: number, action: PyObject) => unknown;
  const streamAt = () => value<number>(theirs.stream_at(2, 1));
  registerGlobalFunc('dlpack.test.stream', () => {
    const outer = currentStream('cuda:1');
    const inner = withStream('cuda:1', 9n, () => probe('stream_at')(2, 1));
    equal(currentStream('cuda:1'), outer);
    return [Number(outer), inner];
  });
  const inside = tvmFfi.module.get_global_func('dlpack.test.stream');
  equal([...fromPython(onStream('cuda:1', 5, inside))], [5, 9]);
  equal([currentStream('cuda:1'), streamAt()], [0n, 0]);
  withStream('cuda:1', 7n, () => {
    equal(streamAt(), 7);
    raisesInPython('KeyError', 'inside', () => onStream('cuda:1', 8, py.eval('fail')));
    equal([currentStream('cuda:1'), streamAt()], [7n, 7]);
  });
  equal([currentStream('cuda:1'), streamAt()], [0n, 0]);
});

testWith(torchMissing, 'Python tensors and objects as arguments', () => {
  py.exec(`
import tvm_ffi, numpy, torch
array = numpy.arange(3, dtype='float32')
tensor = torch.ones(2)
class Thing: pass
thing = Thing()
thing.tensor = tensor
tvm_ffi.register_global_func('dlpack.test.is_thing', lambda x: x is thing)
`);
  const type = probe('type_of');
  const types = { int: 1, function: 68, shape: 69, tensor: 70, array: 71, map: 72, module: 73, opaque: 74 };
  const sum = probe('sum_owned');
  equal([sum(py.eval('array')), sum(py.eval('tensor'))], [3, 2]);
  // Without a copy: native code keeps PyTorch's memory and JavaScript writes to it.
  const back = testingEcho([py.eval('tensor')]) as [Tensor<'float32'>];
  back[0].set(0, 41);
  equal(sum(py.eval('tensor')), 42);
  const expressions: [string, number][] = [
    ['tvm_ffi.from_dlpack(tensor)', types.tensor],
    ['tvm_ffi.Shape((1, 2))', types.shape],
    ['tvm_ffi.convert(len)', types.function],
    ['tvm_ffi.Array([1])', types.array],
    ['(lambda x: x)', types.function],
    ['[1, tensor]', types.array],
    ['(1, 2)', types.array],
    ["{'a': tensor}", types.map],
    ['thing', types.opaque],
    ['torch.nn.Identity()', types.function],
  ];
  for (const [expression, expected] of expressions) equal(type(py.eval(expression)), expected, expression);
  equal(getGlobalFunc('dlpack.test.is_thing')(py.eval('thing')), true);
  equal((testingEcho(py.eval('tvm_ffi.convert(lambda x: x + 1)')) as FFIFunction)(41), 42);
  equal(testingEcho(py.eval('[1, [2, "three"]]')), [1, [2, 'three']]);
  equal((asModule(pythonModule(probePath)).type_of as FFIFunction)(5), 1);
  raisesInPython('BufferError', 'detach()', () => type(py.eval('torch.ones(1, requires_grad=True)')));
});

const testingEcho = (value: unknown) => testing('echo')(value);

testWith(torchMissing, 'Python numbers, strings, dtypes, devices and pointers arrive as from Python', () => {
  py.exec(`
import ctypes, enum, fractions, numpy, torch, tvm_ffi
tvm_ffi.register_global_func('javascript.describe', lambda x: type(x).__name__ + ' ' + repr(x), override=True)
Text = type('Text', (str,), {})`);
  const describe = getGlobalFunc('javascript.describe');
  const described = py.eval("tvm_ffi.get_global_func('javascript.describe')");
  for (const code of [
    'numpy.float64(2)', // stays a float although JavaScript's 2 is an int
    'numpy.float32(-0.0)',
    'numpy.int64(-7)',
    'enum.IntEnum("Kind", "A B").B',
    'fractions.Fraction(1, 2)',
    'complex(1, 2)',
    'numpy.str_("text")',
    'Text("3:")',
    'Text("\\u00e9\\0")',
    'bytearray(b"bytes")',
    'numpy.dtype("float16")',
    'torch.bfloat16',
    'tvm_ffi.dtype("int4x2")',
    'tvm_ffi.device("cuda:3")',
    'ctypes.c_void_p(2**64 - 8)',
    'ctypes.c_void_p(None)',
  ]) {
    equal(describe(py.eval(code)), String(described(py.eval(code))), code);
  }
  const codes = ['numpy.float64(0.5)', 'torch.int8', 'tvm_ffi.device("cpu")'];
  const [number, dtype, device] = testingEcho(codes.map((code) => py.eval(code))) as unknown[];
  equal([number, String(dtype), String(device)], [0.5, 'int8', 'cpu']);
  removeGlobalFunc('javascript.describe');
});

testWith(kernelsMissing, 'Python objects where Python has no tvm_ffi', () => {
  const { code, signal, output } = runChild(import.meta.url, './children/python-objects.js');
  equal([code, signal], [0, null], output);
  equal(JSON.parse(output), { sum: 3, called: 8, tag: 'TypeError' }, output);
});

testWith(
  pythonMissing,
  'memory for the result of a JavaScript function is released when Python made the call',
  async () => {
    registerGlobalFunc('dlpack.test.made', () => [floats([1, 2, 3])], { override: true });
    py.exec(`
import tvm_ffi
made = tvm_ffi.get_global_func('dlpack.test.made')
def many(): return [len(made()) for i in range(50)]
`);
    for (let i = 0; i < 5; i++) await collect();
    const before = liveCounts();
    equal(value(py.eval('sum(many())')), 50);
    ok(
      await collectUntil(() => liveCounts().exports <= before.exports && liveCounts().storages <= before.storages),
      JSON.stringify({ before, now: liveCounts() }),
    );
    removeGlobalFunc('dlpack.test.made');
  },
);

const fromPython = (list: unknown): Iterable<number> => list as Iterable<number>;

testWith(pythonMissing, 'values and errors cross between the hosts', async () => {
  const before = liveCounts();
  py.exec(`
import tvm_ffi
class Box: pass
boxes = []
def box():
    boxes.append(Box())
    return boxes[-1]
def fail(): raise KeyError("of Python")
tvm_ffi.register_global_func("dlpack.test.same", lambda x: x)
tvm_ffi.register_global_func("dlpack.test.box", box)
tvm_ffi.register_global_func("dlpack.test.is_box", lambda x: x is boxes[-1])
tvm_ffi.register_global_func("dlpack.test.fail", fail)
`);
  const x = floats([1, 2]);
  const same = getGlobalFunc('dlpack.test.same');
  equal([same(5), same('a longer text'), same([1, [2]]), same(null)], [5, 'a longer text', [1, [2]], undefined]);
  const y = same(x) as Tensor;
  equal(addressOf(y), addressOf(x));
  // A Python object stays the same object and is returned to Python.
  const box = getGlobalFunc('dlpack.test.box')();
  ok(box instanceof FFIObject && box.typeKey === 'ffi.OpaquePyObject', String(box));
  equal(getGlobalFunc('dlpack.test.is_box')(box), true);
  const error = raises('KeyError', 'of Python', () => getGlobalFunc('dlpack.test.fail')());
  ok(error.backtrace.includes('in fail'), error.backtrace);

  registerGlobalFunc('dlpack.test.throw', (kind: string) => {
    throw new TVMFFIError(kind, 'of JavaScript');
  });
  const thrower = tvmFfi.module.get_global_func('dlpack.test.throw');
  raisesInPython('ValueError', 'of JavaScript', () => thrower('ValueError'));
  // A list and a dict are the same objects in Python.
  py.exec(`
import tvm_ffi
tvm_ffi.register_global_func("dlpack.test.append", lambda a, d: (a.append(3), d.__setitem__("k", len(a))) and None)
`);
  const [list, dict] = [new List([1, 2]), new Dict<string, number>([])];
  getGlobalFunc('dlpack.test.append')(list, dict);
  equal([list.toArray(), dict.get('k'), same(list) === list], [[1, 2, 3], 3, true]);
  // An object of a JavaScript class has its fields and methods in Python.
  class Counter {
    count = 1;
    add(by: number): number {
      this.count += by;
      return this.count;
    }
  }
  registerObject('dlpack.test.Counter', Counter, { fields: ['count'], methods: ['add'] });
  py.exec(`
import tvm_ffi
kept = []
def use(c):
  kept.append(c); c.count = c.count + 1
  return [c.count, c.add(10), type(c).__name__]
tvm_ffi.register_global_func("dlpack.test.use", use)
tvm_ffi.register_global_func("dlpack.test.kept", lambda: kept.pop())
`);
  const counter = new Counter();
  equal(getGlobalFunc('dlpack.test.use')(counter), [2, 12, 'Counter']);
  ok(counter.count === 12 && getGlobalFunc('dlpack.test.kept')() === counter);
  // The same object twice is one object in Python, which other threads of Python can hold but not use.
  py.exec(`
import threading
def use_elsewhere(a, b, other):
  found = [a.same_as(b), a.same_as(other)]
  def run():
    for action in (lambda: a.count, lambda: setattr(a, 'count', 5), lambda: a.add(1)):
      try: found.append(action())
      except RuntimeError: found.append('refused')
  thread = threading.Thread(target=run); thread.start(); thread.join()
  held = [[a] for i in range(100)]
  return found
tvm_ffi.register_global_func("dlpack.test.use_elsewhere", use_elsewhere)
`);
  const elsewhere = getGlobalFunc('dlpack.test.use_elsewhere')(counter, counter, new Counter());
  equal([elsewhere, counter.count], [[true, false, 'refused', 'refused', 'refused'], 12]);
  equal(testing('object_use_count')(counter), 1);
  // Python's traceback has the JavaScript frames, and an error that passes through Python comes back as the same object.
  const originals: Error[] = [];
  const throwInJavaScript = registerGlobalFunc('dlpack.test.original', function innermost() {
    const original = new RangeError('kept');
    originals.push(original);
    throw original;
  });
  py.exec(`
import traceback, tvm_ffi
def passing(f): return f()
def text(f):
  try: f()
  except Exception as error: return type(error).__name__ + " " + "".join(traceback.format_exception(error))
tvm_ffi.register_global_func("dlpack.test.passing", passing)
tvm_ffi.register_global_func("dlpack.test.text", text)
`);
  const text = getGlobalFunc('dlpack.test.text')(throwInJavaScript) as string;
  ok(/^RuntimeError [\s\S]*python\.test\.[jt]s", line \d+, in innermost/.test(text), text);
  const kept = caught(() => getGlobalFunc('dlpack.test.passing')(throwInJavaScript)) as Error;
  ok(kept instanceof RangeError && kept === originals.at(-1));
  ok(/innermost[\s\S]*at passing \(/.test(kept.stack ?? ''), kept.stack);
  // Python's exception, through JavaScript, back in Python.
  registerGlobalFunc('dlpack.test.pass_on', () => getGlobalFunc('dlpack.test.fail')());
  raisesInPython('KeyError', 'of Python', () => tvmFfi.module.get_global_func('dlpack.test.pass_on')());
  y.dispose();
  x.dispose();
  ok(await collectUntil(() => liveCounts().storages <= before.storages), JSON.stringify({ before, now: liveCounts() }));
});

testWith(pythonMissing, 'a JavaScript function that Python calls while it keeps the GIL calls Python', () => {
  const { code, output } = runChild(import.meta.url, './children/held-gil.js');
  equal(code, 0, output);
  equal(output.trim(), 'ok');
});
