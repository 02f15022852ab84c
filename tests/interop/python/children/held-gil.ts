/**
 * A call holds the GIL until JavaScript writes to a pipe; meanwhile JavaScript starts calls and releases objects. Waiting for
 * the GIL anywhere on this thread would be for ever. Prints `ok`.
 */

import { readSync, writeSync } from 'node:fs';
import { Tensor } from 'dlpack';
import { callAsync, kwargs, python } from 'dlpack/python';

const py = python();
py.exec(`
import ctypes, os
library = ctypes.PyDLL(None)  # calls that keep the GIL
def hold(ready, go):
    byte = ctypes.create_string_buffer(1)
    library.write(ready, byte, 1)
    library.read(go, byte, 1)
    return 'held'
def echo(*args, **keywords):
    return repr((args[:3], len(args), sorted(keywords)))
`);
const [hold, echo] = ['hold', 'echo'].map((name) => py.eval(name));
const [readyRead, readyWrite] = [...py.import('os').pipe()] as number[];
const [goRead, goWrite] = [...py.import('os').pipe()] as number[];
const released = py.eval('[object() for _ in range(3)]');
const holding = callAsync(hold, readyWrite, goRead);
readSync(readyRead as number, new Uint8Array(1)); // the GIL is held from here on
const x = Tensor.from([1, 2, 3], { dtype: 'float32' });
const arguments_ = ['text \udcff', [1, { a: 2n ** 80n }], Tensor.wrap(new Float32Array(4)), x, () => 1, released];
const echoed = callAsync(echo, ...arguments_, kwargs({ someName: 1, other: [2] }));
released[Symbol.dispose]();
x.dispose();
await Promise.resolve(); // the end of the tick drops what was released
await new Promise((resolve) => setImmediate(resolve));
writeSync(goWrite as number, new Uint8Array(1));
const results = [await holding, await echoed];
const expected = [
  'held',
  "(('text \\udcff', [1, {'a': 1208925819614629174706176}], <dlpack.Tensor shape=(4,) dtype=(2, 32, 1) device=(1, 0)>), 6, ['other', 'someName'])",
];
console.log(JSON.stringify(results) === JSON.stringify(expected) ? 'ok' : results);
