/**
 * A thread of Python holds the GIL until JavaScript opens a pipe, and no asynchronous call runs. Meanwhile JavaScript reads
 * and disposes results, and starts the next call. If this thread waited for the GIL, it would wait for ever. Prints `ok`.
 * The argument is the library of the results.
 */

import { mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fromDLPack, type Tensor } from 'dlpack';
import { callAsync, callTensorAsync, python } from 'dlpack/python';

const folder = mkdtempSync(join(tmpdir(), 'dlpack-gil-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const [begin, held, go] = ['begin', 'held', 'go'].map((name) => join(folder, name)) as [string, string, string];

const py = python();
py.exec(`
import ctypes, os, threading
import ${process.argv[2]} as results
library = ctypes.PyDLL(None)  # calls that keep the GIL
def hold(begin, held, go):
    os.open(begin, os.O_RDONLY)
    library.open(held.encode(), os.O_WRONLY)  # until the other end is open
    library.open(go.encode(), os.O_RDONLY)
def make(value, size):
    return results.full((size,), float(value))
def identity(x):
    return x
def parts(value):
    return {'pair': (make(value, 1), [make(value, 1)]), 'label': 'cat'}
def start(*paths):
    threading.Thread(target=hold, args=paths).start()
`);
const [identity, make, parts, start] = ['identity', 'make', 'parts', 'start'].map((name) => py.eval(name));
for (const path of [begin, held, go]) py.import('os').mkfifo(path);
const small = await callTensorAsync(make, 1, 3);
const large = await callTensorAsync(make, 2, 1 << 20);
fromDLPack(await callAsync(make, 1, 1)); // the first tensor of a class and dtype of PyTorch
const object = await callAsync(make, 8, 3);
const argument = await callAsync(make, 16, 1);
await callAsync(start, begin, held, go);
py.eval('1'); // an operation that may have changed what asynchronous calls take over from this thread
openSync(begin, 'w');
openSync(held, 'r'); // the GIL is held from here on
const converted = fromDLPack(object) as Tensor;
const sum = [small, large, converted].reduce((total, x) => total + (x.get(2) as number), 0);
for (const x of [small, large, converted]) x.dispose();
object[Symbol.dispose]();
await Promise.resolve(); // the end of the tick drops what was released
await new Promise((resolve) => setImmediate(resolve));
const next = callTensorAsync(make, 4, 1);
const last = callTensorAsync(identity, argument);
const taken = py.callToJSAsync(parts, 32); // the first one of the program
openSync(go, 'w');
const [y, z] = await Promise.all([next, last]);
const { pair, label } = (await taken) as { pair: [Tensor, [Tensor]]; label: string };
const rest = [y, z, pair[0], pair[1][0]].map((x) => x.get(0) as number);
const all = rest.reduce((total, value) => total + value, sum);
console.log(all === 95 ? 'ok' : all, label);
