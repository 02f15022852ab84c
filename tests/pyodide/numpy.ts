/** A real NumPy in Pyodide. */

import { fromDLPack, Tensor } from 'dlpack';
import { attach } from 'dlpack/pyodide';
import { equal, throws } from '../assert.js';
import { pythonError } from './cases.js';
import type { Pyodide, PyProxy } from './load.js';

type Test = (name: string, body: (pyodide: Pyodide) => void | Promise<void>) => void;

/** `isVersioned`: this NumPy exports versioned capsules. */
export function testNumPy(test: Test, isVersioned: boolean): void {
  test("an array is its tensor's memory, for every dtype", (pyodide) => {
    attach(pyodide);
    const dtypes =
      'bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128';
    for (const dtype of dtypes.split(' ')) {
      const array: PyProxy = pyodide.runPython(`a = np.arange(6).astype('${dtype}').reshape(2, 3); a`);
      using x = fromDLPack(array, { copy: false });
      equal([x.dtype, x.shape, x.strides], [dtype, [2, 3], [3, 1]]);
      pyodide.runPython('a[1, 2] = 1');
      equal(x.toArray(), fromDLPack(pyodide.runPython('a.copy()')).toArray(), dtype);
      x.copyFrom(Tensor.zeros([2, 3], 'bool'));
      equal(pyodide.runPython('int(np.abs(a).sum())'), 0, dtype);
      array.destroy();
    }
  });

  test('transposed, reversed, broadcast, no axes, no elements', (pyodide) => {
    attach(pyodide);
    const views: Record<string, [number[], number[]]> = {
      'a.T': [[3, 2], [1, 3]],
      'a[::-1, ::-1]': [[2, 3], [-3, -1]],
      'a[:, 1:]': [[2, 2], [3, 1]],
      'np.broadcast_to(a[0], (4, 3))': [[4, 3], [0, 1]],
      'a[1, 2:].reshape(())': [[], []],
    }; // biome-ignore format: a table
    pyodide.runPython("a = np.arange(6, dtype='float32').reshape(2, 3)");
    for (const [view, [shape, strides]] of Object.entries(views)) {
      using x = fromDLPack(pyodide.runPython(view), { copy: false });
      equal([x.shape, x.strides], [shape, strides], view);
      equal(
        JSON.stringify(x.toArray()),
        pyodide.runPython(`import json; json.dumps((${view}).tolist())`).replaceAll(' ', '').replaceAll('.0', ''),
      );
    }
    using none = fromDLPack(pyodide.runPython("np.zeros((0, 3), 'float32')"));
    equal(none.shape, [0, 3]);
  });

  test('a read-only array stays read-only', (pyodide) => {
    attach(pyodide);
    using x = fromDLPack(pyodide.runPython('a = np.arange(3.0); a.flags.writeable = False; a'), { copy: false });
    equal([x.isReadOnly, x.toArray()], [true, [0, 1, 2]]);
    throws('ReadOnlyError', 'set', () => x.set(0, 1));
  });

  test('NumPy uses a tensor of JavaScript in place', (pyodide) => {
    const python = attach(pyodide);
    const y = python.empty([2, 3], 'float32').fill(2);
    pyodide.globals.set('y', python.toPython(y));
    pyodide.runPython('b = np.from_dlpack(y)');
    y.set(0, 0, 50);
    equal(pyodide.runPython('float(b[0, 0] + b.sum())'), 110);
    if (!isVersioned) {
      pyodide.runPython('c = np.asarray(y); c[1, 2] = -1; c *= 2');
      equal(y.toArray(), [[100, 4, 4], [4, 4, -2]]); // biome-ignore format: a table
    }
    y.dispose();
    pyodide.runPython('del y');
    equal(pyodide.runPython('str(b.shape)'), '(2, 3)');
    pyodide.runPython('del b');
  });

  test('half and complex numbers arrive by the buffer protocol, too', (pyodide) => {
    attach(pyodide);
    for (const dtype of ['float16', 'complex64', 'complex128']) {
      using x = fromDLPack(pyodide.runPython(`a = np.arange(3).astype('${dtype}'); memoryview(a)`), { copy: false });
      using same = fromDLPack(pyodide.runPython('a'), { copy: false });
      equal([x.dtype, x.sharesMemory(same), x.toArray()], [dtype, true, same.toArray()]);
    }
    const records = "np.zeros(3, dtype=[('a', 'u1'), ('b', 'f4')])['b']";
    throws('BufferError', 'strides of whole elements', () => fromDLPack(pyodide.runPython(`memoryview(${records})`)));
  });

  test('a dtype that no tensor has is an error of Python, and NumPy goes on', (pyodide) => {
    attach(pyodide);
    pythonError('BufferError', () => fromDLPack(pyodide.runPython("np.array(['a'])")));
    pythonError('BufferError', () => fromDLPack(pyodide.runPython("np.arange(3, dtype='>i4')")));
    equal(fromDLPack(pyodide.runPython('np.matmul(np.eye(2), np.ones((2, 1)))')).toArray(), [[1], [1]]);
  });
}
