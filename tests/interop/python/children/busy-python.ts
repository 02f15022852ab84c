/**
 * A thread of Python holds the GIL until JavaScript opens a pipe, and no asynchronous call runs. Meanwhile JavaScript reads
 * and disposes a result, and starts the next call. If this thread waited for the GIL, it would wait for ever. Prints `ok`.
 */

import { mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { callAsync, callTensorAsync, python } from 'dlpack/python';

const folder = mkdtempSync(join(tmpdir(), 'dlpack-gil-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const [begin, held, go] = ['begin', 'held', 'go'].map((name) => join(folder, name)) as [string, string, string];

const py = python();
py.exec(`
import ctypes, numpy, os, threading
library = ctypes.PyDLL(None)  # calls that keep the GIL
def hold(begin, held, go):
    os.open(begin, os.O_RDONLY)
    library.open(held.encode(), os.O_WRONLY)  # until the other end is open
    library.open(go.encode(), os.O_RDONLY)
def make(value, size):
    return numpy.full(size, float(value))
def start(*paths):
    threading.Thread(target=hold, args=paths).start()
`);
const [make, start] = ['make', 'start'].map((name) => py.eval(name));
for (const path of [begin, held, go]) py.import('os').mkfifo(path);
const small = await callTensorAsync(make, 1, 3);
const large = await callTensorAsync(make, 2, 1 << 20);
await callAsync(start, begin, held, go);
py.eval('1'); // an operation that may have changed what asynchronous calls take over from this thread
openSync(begin, 'w');
openSync(held, 'r'); // the GIL is held from here on
const sum = (small.get(0) as number) + (large.get(5) as number);
small.dispose();
large.dispose();
await Promise.resolve(); // the end of the tick drops what was released
await new Promise((resolve) => setImmediate(resolve));
const next = callTensorAsync(make, 4, 1);
openSync(go, 'w');
console.log(sum + ((await next).get(0) as number) === 7 ? 'ok' : sum);
