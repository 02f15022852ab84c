/**
 * A call holds the GIL until JavaScript opens a pipe; meanwhile JavaScript starts calls and releases objects. If this thread
 * waited for the GIL, it would wait for ever. Prints `ok`.
 */

import { mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Tensor } from 'dlpack';
import { callAsync, kwargs, python } from 'dlpack/python';

const folder = mkdtempSync(join(tmpdir(), 'dlpack-gil-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const [ready, go] = ['ready', 'go'].map((name) => join(folder, name)) as [string, string];

const py = python();
py.exec(`
import ctypes, os
library = ctypes.PyDLL(None)  # calls that keep the GIL
def hold(ready, go):
    library.open(ready.encode(), os.O_WRONLY)  # until the other end is open
    library.open(go.encode(), os.O_RDONLY)
    return 'held'
def echo(*args, **keywords):
    return repr((args[:3], len(args), sorted(keywords)))
`);
const [hold, echo] = ['hold', 'echo'].map((name) => py.eval(name));
for (const path of [ready, go]) py.import('os').mkfifo(path);
const released = py.eval('[object() for _ in range(3)]');
const holding = callAsync(hold, ready, go);
openSync(ready, 'r'); // the GIL is held from here on
const x = Tensor.from([1, 2, 3], { dtype: 'float32' });
const args = ['text \udcff', [1, { a: 2n ** 80n }], Tensor.wrap(new Float32Array(4)), x, () => 1, released];
const echoed = callAsync(echo, ...args, kwargs({ someName: 1, other: [2] }));
released[Symbol.dispose]();
x.dispose();
await Promise.resolve(); // the end of the tick drops what was released
await new Promise((resolve) => setImmediate(resolve));
openSync(go, 'w');
const results = [await holding, await echoed];
const tensor = '<dlpack.Tensor shape=(4,) dtype=float32 device=cpu>';
const expected = [
  'held',
  `(('text \\udcff', [1, {'a': 1208925819614629174706176}], ${tensor}), 6, ['other', 'someName'])`,
];
console.log(JSON.stringify(results) === JSON.stringify(expected) ? 'ok' : results);
