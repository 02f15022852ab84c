/** Evaluates the package twice over one addon file and uses Python through both. Prints `ok`. */

import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type * as Core from 'dlpack';
import type * as Debug from 'dlpack/debug';
import type * as PythonModule from 'dlpack/python';

const root = dirname(fileURLToPath(import.meta.resolve('dlpack/package.json')));
const top = mkdtempSync(join(tmpdir(), 'dlpack-two-'));
process.on('exit', () => rmSync(top, { recursive: true, force: true }));

interface Instance extends Pick<typeof Core, 'Tensor' | 'fromDLPack'> {
  readonly py: PythonModule.Python;
  readonly callAsync: typeof PythonModule.callAsync;
  readonly liveCounts: typeof Debug.liveCounts;
}

async function evaluate(name: string): Promise<Instance> {
  const folder = join(top, name);
  cpSync(join(root, 'dist'), join(folder, 'dist'), { recursive: true });
  cpSync(join(root, 'package.json'), join(folder, 'package.json'));
  symlinkSync(join(root, 'prebuilds'), join(folder, 'prebuilds'));
  const load = async <T>(file: string): Promise<T> =>
    (await import(pathToFileURL(join(folder, 'dist', file)).href)) as T;
  const { Tensor, fromDLPack } = await load<typeof Core>('index.node.js');
  const { python, callAsync } = await load<typeof PythonModule>('python/index.js');
  const { liveCounts } = await load<typeof Debug>('debug/index.js');
  return { Tensor, fromDLPack, py: python(), callAsync, liveCounts };
}

function expect(got: unknown, wanted: unknown): void {
  if (JSON.stringify(got) !== JSON.stringify(wanted)) {
    throw new Error(`expected ${JSON.stringify(wanted)} but received ${JSON.stringify(got)}`);
  }
}

const [a, b] = [await evaluate('a'), await evaluate('b')];
expect(a.py === b.py, false);
const makers = [a, b].map(({ py }) => py.eval('lambda x: [x, repr(x)]'));
// Handles of both instances start at 1, so a mix-up would find another object.
const objects = [a, b].map(({ py }, i) => Array.from({ length: 200 }, (_, j) => py.eval(`["${i}", ${j}]`)));
for (const [i, { py }] of [a, b].entries()) {
  for (const [j, object] of (objects[i] as object[]).entries()) expect(String(object), `['${i}', ${j}]`);
  expect([...(makers[i] as (x: unknown) => Iterable<unknown>)(i)], [i, String(i)]);
  expect(py.eval('1 + 1'), 2);
}
// A function of one instance inside a call of the other, and the reverse inside that.
const call = a.py.eval('lambda f, x: f(x)');
const nested = b.py.eval('lambda f, x: f(x)');
expect(
  call((x: number) => nested((y: number) => (a.py.eval('lambda z: z * 2') as (z: number) => number)(y) + 1, x), 20),
  41,
);
// Tensors of one instance reach the other through Python, over the same memory.
const x = a.Tensor.from([1, 2, 3], { dtype: 'float32' });
a.py.import('builtins').kept = a.py.tensor(x);
const y = b.fromDLPack(b.py.eval('kept'));
y.set(1, 20);
expect(x.toArray(), [1, 20, 3]);
y.dispose();
// Asynchronous calls of both at once, with callbacks.
const sums = await Promise.all(
  [a, b, a, b].map(({ py, callAsync }, i) =>
    callAsync(py.eval('lambda f, x: f(x) + 1'), async (v: number) => v * 10, i),
  ),
);
expect(sums, [1, 11, 21, 31]);
// At the end, an executor does not wait for threads that wait for a function of either.
a.py.exec(`
import concurrent.futures
threads = concurrent.futures.ThreadPoolExecutor(2)
def call(f):
    try: f()
    except RuntimeError: pass
`);
for (const { py } of [a, b]) {
  const { threads, call } = py.import('__main__');
  threads.submit(call, () => {});
}
console.log('ok');
process.exit(0);
