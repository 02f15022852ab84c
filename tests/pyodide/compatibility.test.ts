/** The row of NumPy in Pyodide in docs/compatibility.md. */

import { type DType, fromDLPack } from 'dlpack';
import { attach } from 'dlpack/pyodide';
import { checkRows } from '../adapters/matrix-page.js';
import { dtypes, type Found, oneOf, rowOf, type Verdict } from '../adapters/matrix-row.js';
import { counterparts, type Pyodide, type PyProxy } from './load.js';
import { testsWith } from './node.js';

/** The name of the error that Python or this package raised. */
const verdictOf = (error: unknown): Verdict => {
  const { tag, type } = error as { tag?: string; type?: string };
  return tag ?? type ?? String(error);
};

const sees = (pyodide: Pyodide): Verdict => (pyodide.runPython('bool(a[0] == 1)') ? 'shared' : 'copied');

function fromNumPy(pyodide: Pyodide, dtype: DType): Verdict {
  if (dtype === 'bfloat16' || dtype === 'int4') return '–';
  const array: PyProxy = pyodide.runPython(`a = np.zeros(3, '${dtype}'); a`);
  try {
    using x = fromDLPack(array);
    x.set(0, oneOf(dtype));
    return sees(pyodide);
  } catch (error) {
    return verdictOf(error);
  } finally {
    array.destroy();
  }
}

function toNumPy(pyodide: Pyodide, dtype: DType): Verdict {
  try {
    using x = attach(pyodide).empty([3], dtype);
    pyodide.globals.set('x', attach(pyodide).toPython(x));
    pyodide.runPython('a = np.from_dlpack(x)');
    x.set(0, oneOf(dtype));
    return sees(pyodide);
  } catch (error) {
    return verdictOf(error);
  }
}

const test = testsWith(counterparts.unversioned);

test('every dtype and direction is as docs/compatibility.md says', (pyodide) => {
  attach(pyodide);
  const inward: Found = dtypes.map((dtype) => [dtype, fromNumPy(pyodide, dtype)]);
  const outward: Found = dtypes.map((dtype) => [dtype, toNumPy(pyodide, dtype)]);
  const version = `${pyodide.runPython('np.__version__')} in Pyodide ${pyodide.version}`;
  const name = 'NumPy, tensors of `python.empty`';
  checkRows('Pyodide', [rowOf({ name, version, inward, outward, where: 'Pyodide, in Node and pages' })]);
});
