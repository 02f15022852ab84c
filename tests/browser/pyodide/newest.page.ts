/** The newest Pyodide in a page: every case, a heap over 2 GiB, and Python that waits for JavaScript. */

import { fromDLPack } from 'dlpack';
import { attach } from 'dlpack/pyodide';
import { equal, ok } from '../../assert.js';
import { test, testWith } from '../../harness.js';
import { testCases } from '../../pyodide/cases.js';
import { counterparts, type PyProxy } from '../../pyodide/load.js';
import { start } from './load.js';

const pyodide = await start(counterparts.newest);
testCases((name, body) => test(name, () => body(pyodide)), true);

const jspi = 'Suspending' in WebAssembly;

testWith(
  jspi ? false : 'JavaScript Promise Integration',
  'Python waits in the middle, and JavaScript exchanges tensors',
  async () => {
    const python = attach(pyodide);
    pyodide.globals.set('wait', async (object: PyProxy) => {
      await new Promise((resolve) => setTimeout(resolve, 1));
      using x = fromDLPack(object, { copy: false });
      x.set(0, 41);
      using y = python.empty([2], 'float32').fill(1);
      pyodide.globals.set('y', python.toPython(y));
      return pyodide.runPython('memoryview(y)[0]');
    });
    const result = await pyodide.runPythonAsync(`
import array
from pyodide.ffi import run_sync
def deep(n):
    return deep(n - 1) if n else run_sync(wait(a))
a = array.array('f', [1, 2])
deep(50) + a[0]`);
    equal(result, 42);
  },
);

test('a heap over 2 GiB', () => {
  const python = attach(pyodide);
  // Memory that nobody touches, so that the machine needs none for it.
  const unused = Array.from({ length: 5 }, () => python.empty([500 * 2 ** 20], 'uint8'));
  // Larger than what is free below.
  pyodide.runPython('block = bytearray(64 << 20); block[:4] = b"..ab"');
  const x = fromDLPack(pyodide.runPython('block'), { copy: false });
  ok(x.unsafeData().byteOffset > 2 ** 31, String(x.unsafeData().byteOffset));
  equal(x.slice([0, 4]).toArray(), [46, 46, 97, 98]);
  x.set(0, 7);
  equal(pyodide.runPython('block[0]'), 7);
  pyodide.globals.set('x', python.toPython(x, { copy: false }));
  equal(pyodide.runPython('bytes(memoryview(x)[2:4]).decode()'), 'ab');
  const y = python.empty([3], 'int32').fill(9);
  pyodide.globals.set('y', python.toPython(y));
  equal(fromDLPack(pyodide.runPython('y'), { copy: false }).toArray(), [9, 9, 9]);
  for (const tensor of [x, y, ...unused]) tensor.dispose();
  pyodide.runPython('del block, x, y');
});
