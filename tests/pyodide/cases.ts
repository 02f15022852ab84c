/** What every Pyodide can do, without NumPy: buffers, capsules of our own tensors, lifetimes, growth and errors. */

import { DLPACK, type DLPackProducer, type DType, fromDLPack, Tensor } from 'dlpack';
import { attach } from 'dlpack/pyodide';
import { equal, ok, throws } from '../assert.js';
import type { Pyodide, PyProxy } from './load.js';

type Test = (name: string, body: (pyodide: Pyodide) => void | Promise<void>) => void;

/** The names that a Python error has in its text. */
export function pythonError(name: string, run: () => unknown): void {
  try {
    run();
  } catch (error) {
    ok((error as { type?: string }).type === name, `expected ${name} but received ${String(error)}`);
    return;
  }
  ok(false, `expected ${name}`);
}

/** True when a Python expression is true. */
const holds = (pyodide: Pyodide, expression: string): boolean => pyodide.runPython(`bool(${expression})`);

/** Makes Python's memory grow, which moves it. */
export function grow(pyodide: Pyodide): void {
  const probe = attach(pyodide).empty([1], 'uint8');
  const before = probe.data.buffer;
  for (let size = 32; probe.data.buffer === before; size *= 2) pyodide.runPython(`bytearray(${size} << 20); None`);
  equal(before.byteLength, 0);
  probe.dispose();
}

export function testCases(test: Test, hasBuffers: boolean): void {
  test('a buffer is shared in both directions, with its dtype', (pyodide) => {
    attach(pyodide);
    const letters = {
      b: 'int8',
      B: 'uint8',
      h: 'int16',
      H: 'uint16',
      i: 'int32',
      I: 'uint32',
      l: 'int32',
      L: 'uint32',
    };
    for (const [letter, dtype] of Object.entries({ ...letters, q: 'int64', Q: 'uint64', f: 'float32', d: 'float64' })) {
      const array: PyProxy = pyodide.runPython(`import array; a = array.array('${letter}', [1, 2, 3]); a`);
      using x = fromDLPack(array, { copy: false });
      equal([x.dtype, x.shape, Number(x.get(2)), x.isReadOnly], [dtype, [3], 3, false], letter);
      x.set(0, (typeof x.get(0) === 'bigint' ? 7n : 7) as never);
      pyodide.runPython('a[1] = 8');
      equal([pyodide.runPython('int(a[0])'), Number(x.get(1))], [7, 8], letter);
      array.destroy();
    }
    using bool = fromDLPack(pyodide.runPython("memoryview(bytearray([0, 1])).cast('?')"));
    equal([bool.dtype, bool.toArray()], ['bool', [false, true]]);
    using half = fromDLPack(pyodide.runPython("import struct; memoryview(bytearray(struct.pack('e', 1.5))).cast('B')"));
    equal(half.toArray(), [0, 62]);
  });

  test('shapes, strides, no axes, no elements, and fields that a buffer leaves out', (pyodide) => {
    attach(pyodide);
    using grid = fromDLPack(pyodide.runPython("m = memoryview(bytearray(range(24))).cast('B', (2, 3, 4)); m"));
    equal([grid.shape, grid.strides, grid.get(1, 2, 3)], [[2, 3, 4], [12, 4, 1], 23]);
    using back = fromDLPack(pyodide.runPython("memoryview(array.array('i', [1, 2, 3, 4]))[::-2]"));
    equal([back.strides, back.toArray()], [[-2], [4, 2]]);
    using scalar = fromDLPack(pyodide.runPython('import ctypes; ctypes.c_double(2.5)'));
    equal([scalar.shape, scalar.get()], [[], 2.5]);
    using nested = fromDLPack(pyodide.runPython('((ctypes.c_int * 3) * 2)((1, 2, 3), (4, 5, 6))')); // strides NULL
    equal(nested.toArray(), [[1, 2, 3], [4, 5, 6]]); // biome-ignore format: a table
    using none = fromDLPack(pyodide.runPython("array.array('f')"));
    equal([none.shape, none.toArray()], [[0], []]);
  });

  test('bytes are read-only, and a copy of them is not', (pyodide) => {
    attach(pyodide);
    const bytes: PyProxy = pyodide.runPython("import builtins; memoryview(b'abc')");
    using x = fromDLPack(bytes);
    equal([x.isReadOnly, x.toArray()], [true, [97, 98, 99]]);
    throws('ReadOnlyError', 'set', () => x.set(0, 1));
    using copy = fromDLPack(bytes, { copy: true });
    copy.set(0, 1);
    equal([copy.isReadOnly, copy.sharesMemory(x), x.get(0)], [false, false, 97]);
  });

  test('the object lives exactly as long as its tensor', (pyodide) => {
    attach(pyodide);
    const array: PyProxy = pyodide.runPython("import weakref; a = array.array('f', [1, 2]); alive = weakref.ref(a); a");
    const x = fromDLPack(array);
    array.destroy();
    pyodide.runPython('del a');
    const second = x.slice([1, 2]);
    x.dispose();
    x.dispose();
    equal([holds(pyodide, 'alive()'), second.get(0)], [true, 2]);
    second.dispose();
    equal(holds(pyodide, 'alive() is None'), true);
  });

  test('tensors stay valid when the memory grows, and typed arrays do not', (pyodide) => {
    const python = attach(pyodide);
    const x = fromDLPack(pyodide.runPython("a = array.array('i', [1, 2, 3]); a"), { copy: false });
    const y = python.empty([3], 'int32').fill(5);
    const old = x.data;
    grow(pyodide);
    equal([old.length, x.toArray(), y.toArray()], [0, [1, 2, 3], [5, 5, 5]]);
    x.set(0, 10);
    equal(pyodide.runPython('a[0]'), 10);
    x.dispose();
    y.dispose();
  });

  test("Python's errors pass through, and Python goes on", (pyodide) => {
    attach(pyodide);
    pythonError('TypeError', () => fromDLPack(pyodide.runPython('{}')));
    pythonError('TypeError', () => fromDLPack(pyodide.runPython('print')));
    pythonError('BufferError', () => fromDLPack(pyodide.runPython('(ctypes.c_int.__ctype_be__ * 2)()')));
    pyodide.runPython(`
class Producer:
    def __init__(self, result): self.result = result
    def __dlpack__(self, **options):
        if isinstance(self.result, BaseException): raise self.result
        return self.result`);
    pythonError('KeyError', () => fromDLPack(pyodide.runPython("Producer(KeyError('x'))")));
    pythonError('BufferError', () => fromDLPack(pyodide.runPython("Producer(BufferError('x'))")));
    pythonError('TypeError', () => fromDLPack(pyodide.runPython('Producer(None)')));
    pyodide.globals.set('y', attach(pyodide).toPython(Tensor.from([1, 2])));
    const used: PyProxy = pyodide.runPython('Producer(y.__dlpack__(max_version=(1, 3)))');
    equal(fromDLPack(used).toArray(), [1, 2]);
    pythonError('TypeError', () => fromDLPack(used)); // its capsule was taken
    equal(fromDLPack(pyodide.runPython("array.array('f', [1])")).toArray(), [1]);
  });

  test('a destroyed proxy, and arguments that are no Pyodide', (pyodide) => {
    const python = attach(pyodide);
    ok(attach(pyodide) === python);
    const array: PyProxy = pyodide.runPython("array.array('f', [1])");
    array.destroy();
    throws('DisposedError', 'destroyed', () => fromDLPack(array));
    for (const wrong of [null, {}, 'pyodide']) throws('TypeError', 'loadPyodide', () => attach(wrong as never));
    throws('TypeError', 'copy', () => python.toPython(Tensor.from([1]), { copy: 1 } as never));
    throws('TypeError', 'request', () => (pyodide.runPython("bytearray(b'a')") as DLPackProducer)[DLPACK](1 as never));
  });

  test("a tensor in Python's memory is shared, with a version and without", (pyodide) => {
    const python = attach(pyodide);
    const y = python.empty([2, 3], 'float32').fill(1);
    pyodide.globals.set('y', python.toPython(y, { copy: false }));
    equal(pyodide.runPython('repr(y) + str(y.__dlpack_device__())'), '<dlpack tensor float32[2, 3]>(1, 0)');
    pyodide.runPython(`
class Old:
    """A producer from before versions."""
    def __init__(self, tensor): self.tensor = tensor
    def __dlpack__(self): return self.tensor.__dlpack__()`);
    for (const expression of ['y', 'Old(y)', 'Old(y)']) {
      using back = fromDLPack(pyodide.runPython(expression), { copy: false });
      ok(back.sharesMemory(y), expression);
      back.set(1, 2, 40);
      equal(y.get(1, 2), 40);
      y.set(1, 2, 1);
    }
    using turned = y.transpose();
    using again = fromDLPack(python.toPython(turned));
    equal([again.strides, again.sharesMemory(y)], [[1, 3], true]);
    pythonError('BufferError', () => pyodide.runPython('y.__dlpack__(dl_device=(2, 0))'));
    pythonError('BufferError', () => pyodide.runPython('y.__dlpack__(stream=1)'));
    using copy = fromDLPack(
      pyodide.runPython('type("C", (), {"__dlpack__": lambda s, **k: y.__dlpack__(copy=True, **k)})()'),
    );
    equal([copy.isCopied, copy.sharesMemory(y), copy.toArray()], [true, false, y.toArray()]);
    y.dispose();
  });

  test('a tensor elsewhere is copied once, and a read-only one stays read-only', (pyodide) => {
    const python = attach(pyodide);
    const outside = Tensor.from([[1, 2], [3, 4]], { dtype: 'int16' }); // biome-ignore format: a table
    throws('BufferError', 'copy: false', () => python.toPython(outside, { copy: false }));
    using back = fromDLPack(python.toPython(outside.transpose()));
    back.set(0, 0, 9);
    equal([back.toArray(), outside.get(0, 0)], [[[9, 3], [2, 4]], 1]); // biome-ignore format: a table
    using bytes = fromDLPack(pyodide.runPython("memoryview(b'abc')"));
    pyodide.globals.set('r', python.toPython(bytes));
    using still = fromDLPack(pyodide.runPython('r'));
    equal(still.isReadOnly, true);
    pythonError('BufferError', () => pyodide.runPython('r.__dlpack__()'));
    throws('TypeError', 'Tensor.from', () => python.toPython([1, 2] as never));
  });

  test('a capsule that nobody takes gives its tensor back, and so does the object', (pyodide) => {
    const python = attach(pyodide);
    pyodide.runPython("a = array.array('f', [1, 2]); alive = weakref.ref(a)");
    const array = pyodide.globals.get('a') as PyProxy;
    const x = fromDLPack(array);
    array.destroy();
    const object: PyProxy = python.toPython(x);
    pyodide.globals.set('y', object);
    object.destroy();
    pyodide.runPython('y.__dlpack__(); y.__dlpack__(max_version=(1, 0)); kept = y.__dlpack__(); del a');
    x.dispose();
    equal(holds(pyodide, 'alive()'), true);
    pyodide.runPython('del y');
    equal(holds(pyodide, 'alive()'), true, 'Python still has a capsule:');
    pyodide.runPython('del kept');
    pyodide.globals.set('z', python.toPython(Tensor.from([1])));
    pyodide.runPython('z.__dlpack__()');
    equal(holds(pyodide, 'alive() is None'), true);
  });

  test("a copy of a tensor in Python's memory has memory of its own", (pyodide) => {
    const python = attach(pyodide);
    using y = python.empty([3], 'int32').fill(1);
    using copy = fromDLPack(python.toPython(y, { copy: true }), { copy: false });
    copy.set(0, 9);
    equal([copy.sharesMemory(y), y.toArray()], [false, [1, 1, 1]]);
  });

  if (hasBuffers) {
    test('memoryview(x) has the format and the bytes of every dtype that buffers have', (pyodide) => {
      const python = attach(pyodide);
      const names =
        'bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128';
      const formats = '? b h i q B H I Q e f d Zf Zd'.split(' ');
      for (const [i, dtype] of names.split(' ').entries()) {
        using x = python.empty([2], dtype as DType).copyFrom(Tensor.from([1, 0], { dtype: dtype as DType }));
        using bytes = Tensor.from([1, 0], { dtype: dtype as DType });
        pyodide.globals.set('m', python.toPython(x));
        equal(pyodide.runPython('m = memoryview(m); m.format'), formats[i], dtype);
        const { buffer, byteOffset } = bytes.data as Uint8Array;
        const text = new Uint8Array(buffer, byteOffset, bytes.nbytes).join(' ');
        equal(pyodide.runPython("' '.join(map(str, m.tobytes()))"), text, dtype);
      }
      pyodide.runPython('del m');
    });

    test('memoryview(x) has strides and a format, and keeps the tensor', (pyodide) => {
      const python = attach(pyodide);
      const y = python.empty([2, 3], 'float32').fill(1);
      pyodide.globals.set('y', python.toPython(y.transpose()));
      pyodide.runPython('m = memoryview(y); del y; m[2, 1] = 7.5');
      equal(y.get(1, 2), 7.5);
      equal(pyodide.runPython('str((m.shape, m.strides, m.format, m.readonly))'), "((3, 2), (4, 12), 'f', False)");
      y.dispose();
      equal(pyodide.runPython('m[2, 1]'), 7.5);
      using bytes = fromDLPack(pyodide.runPython("memoryview(b'abc')"));
      pyodide.globals.set('r', python.toPython(bytes));
      equal(pyodide.runPython('bytes(memoryview(r)).decode() + str(memoryview(r).readonly)'), 'abcTrue');
      pyodide.globals.set('h', python.toPython(Tensor.zeros([2], 'bfloat16')));
      pythonError('BufferError', () => pyodide.runPython('memoryview(h)'));
    });

    test('an old capsule over memory that its buffer calls read-only is read-only', (pyodide) => {
      const python = attach(pyodide);
      using y = python.empty([3], 'int32').fill(4);
      pyodide.globals.set('y', python.toPython(y));
      pyodide.runPython(`
class Older:
    """A producer from before versions, whose struct cannot say that the memory is read-only."""
    def __init__(self, buffer): self.buffer = buffer
    def __dlpack__(self): return y.__dlpack__()
    def __buffer__(self, flags): return self.buffer`);
      for (const [buffer, isReadOnly] of [
        ['memoryview(y).toreadonly()', true],
        ['memoryview(y)', false],
      ] as const) {
        using x = fromDLPack(pyodide.runPython(`Older(${buffer})`), { copy: false });
        equal([x.isReadOnly, x.sharesMemory(y), x.toArray()], [isReadOnly, true, [4, 4, 4]], buffer);
        if (isReadOnly) throws('ReadOnlyError', 'set', () => x.set(0, 1));
      }
      pyodide.runPython('del y');
    });
  }

  test('a thousand round trips need no more memory', (pyodide) => {
    const python = attach(pyodide);
    const array: PyProxy = pyodide.runPython("a = array.array('f', bytes(4096)); a");
    const round = () => {
      const x = fromDLPack(array);
      const object = python.toPython(x);
      fromDLPack(object).dispose();
      object.destroy();
      x.dispose();
    };
    const size = () => python.empty([1], 'uint8').data.buffer.byteLength;
    for (let i = 0; i < 100; i++) round();
    const before = pyodide.runPython('import gc, sys; gc.collect(); sys.getrefcount(a)');
    const bytes = size();
    for (let i = 0; i < 1000; i++) round();
    equal([pyodide.runPython('gc.collect(); sys.getrefcount(a)'), size()], [before, bytes]);
  });
}
