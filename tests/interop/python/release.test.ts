/** Python objects are counted with their bytes, and released by py.release and by scopes. */

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type DLPackSource, fromDLPack, scope, scopeAsync, Tensor } from 'dlpack';
import { leaks, liveCounts, setDebug } from 'dlpack/debug';
import { callAsync, kwargs, type PyObject, type PythonError } from 'dlpack/python';
import { equal, ok, throws } from '../../assert.js';
import { resultOf, runChild } from '../../child.js';
import { collect, testWith } from '../../harness.js';
import { probe, py, pythonMissing, raises, versionedNumPyMissing } from './available.js';

const MiB = 2 ** 20;
const numpy = probe('numpy');
const torch = probe('torch');

const live = (): [objects: number, bytes: number] => [liveCounts().objects, liveCounts().objectBytes];
const grown = ([objects, bytes]: readonly [number, number]): [number, number] => [
  live()[0] - objects,
  live()[1] - bytes,
];

/** The counts once the collector has released what was dropped before, which it could do at any wait. */
async function settled(): Promise<[objects: number, bytes: number]> {
  for (let before = live(); ; before = live()) {
    await collect();
    if (live()[0] === before[0]) return before;
  }
}

testWith(pythonMissing, 'liveCounts() counts Python objects, and py.release releases them', () => {
  const make = py.eval('lambda: object()');
  make();
  const before = live();
  const [a, b] = [make(), make()];
  equal(grown(before), [2, 8192]);
  py.release(a, b);
  py.release(a);
  equal(grown(before), [0, 0]);
  throws('DisposedError', 'disposed', () => a.x);
  throws('TypeError', 'a Python object', () => py.release(b, 5 as unknown as PyObject));
});

testWith(numpy.missing, 'liveCounts() knows the bytes of NumPy arrays, also those of asynchronous calls', async () => {
  const { ones } = numpy.module;
  py.release(ones(4));
  const before = await settled();
  const a = ones(MiB / 8);
  const b = await callAsync(ones, MiB / 4);
  equal(grown(before), [2, 3 * MiB]);
  py.release(a, b);
  equal(grown(before), [0, 0]);
});

testWith(pythonMissing, 'the error of a call does not hold its arguments', async () => {
  py.exec(`
def fail(x, text):
    raise ValueError(text)

def fail_twice(x):
    try:
        fail(x, 'first')
    except ValueError:
        fail(x, 'second')

async def fail_later(x):
    fail_twice(x)

def fail_as_group(x):
    errors = []
    try:
        fail_twice(x)
    except ValueError as error:
        errors.append(error)
    raise ExceptionGroup('several', errors)
`);
  const { fail_twice: failTwice, fail_later: failLater, fail_as_group: failAsGroup } = py.import('__main__');
  const minor = py.import('sys').version_info.minor as number;
  const calls: ((x: Tensor) => unknown)[] = [(x) => failTwice(x), (x) => callAsync(failTwice, x)];
  if (minor >= 11) calls.push((x) => failAsGroup(x));
  if (minor >= 13) calls.push((x) => py.async(failLater(x))); // clears no frame that may wait before
  const before = liveCounts().storages;
  const errors: PythonError[] = [];
  for (let i = 0; i < 20; i++) {
    const x = Tensor.zeros([16], 'float32');
    try {
      await (calls[i % calls.length] as (x: Tensor) => unknown)(x);
    } catch (error) {
      errors.push(error as PythonError);
    }
    x.dispose();
  }
  equal(liveCounts().storages, before);
  equal(errors.length, 20);
  for (const { traceback } of errors) ok(/first[\s\S]*in fail_twice[\s\S]*second/.test(traceback), traceback);
  py.exec('del fail, fail_twice, fail_later, fail_as_group');
});

testWith(pythonMissing, 'an error with the frame of a generator that waits does not end the generator', () => {
  py.exec(`
def waits():
    try:
        raise ValueError('bad')
    except ValueError as error:
        yield error
    yield 'still here'

def again(generator):
    raise next(generator)
`);
  const { waits, again } = py.import('__main__');
  const generator = waits();
  raises('ValueError', 'bad', () => again(generator));
  equal(py.import('builtins').next(generator), 'still here');
  py.exec('del waits, again');
});

const oldNumPy = fileURLToPath(new URL('../../../../.venv-numpy1', import.meta.url));

testWith(existsSync(oldNumPy) ? false : '.venv-numpy1', 'liveCounts() knows the bytes of arrays of NumPy 1', () => {
  const { output } = runChild(import.meta.url, './children/object-bytes.js', { env: { VIRTUAL_ENV: oldNumPy } });
  equal(resultOf<number>(output), MiB);
});

testWith(numpy.missing, 'liveCounts() counts no repetitions, and at most 1 TiB for an array', () => {
  const { ones, broadcast_to, lib } = numpy.module;
  const one = ones(MiB / 8);
  const { as_strided } = lib.stride_tricks;
  const overlap = () => as_strided(one, kwargs({ shape: [2 ** 52, 128], strides: [8, 8] }));
  py.release(overlap()); // the names of keywords stay
  const before = live();
  const repeated = [0, 1, 2].map(() => broadcast_to(one, [2 ** 42, MiB / 8]));
  equal(grown(before), [3, 3 * MiB]);
  const overlapping = [overlap(), overlap(), overlap()];
  equal(grown(before), [6, 3 * MiB + 3 * 2 ** 40]);
  py.release(...repeated, ...overlapping);
  equal(grown(before), [0, 0]);
});

testWith(torch.missing, 'liveCounts() knows the bytes of PyTorch tensors', () => {
  const { zeros } = torch.module;
  py.release(zeros(4));
  const before = live();
  const a = zeros(MiB / 4);
  equal(grown(before), [1, MiB]);
  a[Symbol.dispose]();
  equal(grown(before), [0, 0]);
});

testWith(
  pythonMissing,
  'an iterator that leaves a scope before its first step still reaches the elements',
  async () => {
    const before = await settled();
    const letters = () => py.eval('["a", "b"]')[Symbol.iterator]() as Generator<unknown>;
    const iterator = scope(letters);
    equal([...iterator], ['a', 'b']);
    equal([...iterator], [], 'it is over');
    equal(grown(before), [0, 0]);
    raises('TypeError', 'not iterable', () => py.eval('len')[Symbol.iterator]());
  },
);

testWith(
  numpy.missing,
  'scopes release the Python objects that the function tracks, except those that it returns',
  async () => {
    const { ones } = numpy.module;
    py.release(ones(4));
    const before = await settled();
    const kept = scope((track) => {
      const a = track(ones(MiB / 8));
      const b = track(ones(8));
      equal(fromDLPack(a).get(0), 1);
      return { b };
    });
    equal(grown(before), [1, 4096]);
    equal(fromDLPack(kept.b as DLPackSource).get(7), 1);
    py.release(kept.b);
    await scopeAsync(async (track) => {
      track(await callAsync(ones, MiB / 8));
      equal(grown(before), [1, MiB]);
    });
    equal(grown(before), [0, 0]);
  },
);

testWith(
  versionedNumPyMissing(),
  'a scope releases Python objects without track: results, attributes, items, elements',
  async () => {
    const { ones, from_dlpack } = numpy.module;
    const use = () => {
      const a = ones([2, 8]);
      const made = [
        a.T,
        py.getItem(a, 0),
        [...a],
        py.eval('[]'),
        py.callable(() => 1),
        py.tensor(Tensor.zeros([2], 'float32')),
      ];
      const copy = from_dlpack(Tensor.zeros([3], 'float32')); // a converter makes it
      return { a, made, copy };
    };
    scope(() => void use()); // names and helpers stay
    const before = await settled();
    const outer = ones(4);
    let lost: PyObject;
    const kept = scope(() => {
      const { a, copy } = use();
      lost = scope(() => [use(), a][0]?.toString()) as PyObject;
      lost = ones(3);
      fromDLPack(copy);
      return new Map([['a', a]]);
    });
    equal(grown(before)[0], 2, 'the result and an object from outside');
    throws('DisposedError', 'disposed', () => lost.shape);
    equal(fromDLPack(kept.get('a') as DLPackSource).shape, [2, 8]);
    equal(outer.__len__(), 4);
    py.release(outer, kept.get('a'));
  },
);

testWith(
  pythonMissing,
  'modules, the exception of a thrown error, and what the package keeps outlive a scope',
  async () => {
    const sys = scope((): { module: PyObject | null } => ({ module: null }));
    let caught: unknown;
    scope(() => {
      sys.module = py.import('sys');
      equal(py.toJS(py.eval('(1, [2])')), [1, [2]]);
      for (const x of py.eval('iter(range(3))')) if (x === 1) break; // closes a generator
      try {
        py.eval('{}["a"]');
      } catch (error) {
        caught = error;
      }
    });
    ok(typeof sys.module.version === 'string');
    equal(String(((caught as PythonError).exception as PyObject).args), "('a',)");
    scope(() => equal(py.toJS(py.eval('(3, [4])')), [3, [4]]));
    equal([...py.eval('range(2)')], [0, 1]);
    let promise: Promise<unknown> | undefined;
    const controller = new AbortController();
    scope(() => {
      py.exec('import asyncio\nasync def later():\n    await asyncio.sleep(0.01)\n    return 5\n');
      promise = py.async(py.import('__main__').later(), { signal: controller.signal });
    });
    equal(await promise, 5);
    equal(await py.async(py.import('__main__').later()), 5);
  },
);

testWith(
  numpy.missing,
  'in debug mode liveCounts() tells the dtype, shape, bytes and line of arrays, also after callAsync',
  async () => {
    const { zeros } = numpy.module;
    setDebug(true);
    try {
      const a = zeros([2, 3]);
      const b = await callAsync(zeros, 1024);
      const found = () =>
        leaks()
          .filter(({ kind, dtype }) => kind === 'python-object' && dtype !== null)
          .map(({ bytes, dtype, shape, device, stack }) => [
            bytes,
            dtype,
            shape,
            device,
            stack.includes('release.test'),
          ]);
      equal(found(), [
        [8192, 'float64', [1024], 'cpu', true],
        [4096, 'float64', [2, 3], 'cpu', true],
      ]);
      py.release(a, b);
      equal(found(), []);
    } finally {
      setDebug(false);
    }
  },
);

testWith(pythonMissing, 'in debug mode liveCounts() tells where a Python object was made', () => {
  const make = py.eval('lambda: object()');
  setDebug(true);
  try {
    const a = make();
    const places = () => leaks().filter(({ kind }) => kind === 'python-object') ?? [];
    ok(
      places().some(({ stack }) => stack.includes('release.test')),
      JSON.stringify(places()),
    );
    py.release(a);
    equal(places(), []);
  } finally {
    setDebug(false);
  }
});

testWith(numpy.missing, 'objects that wait for their registration stay in line where the stack is full', () => {
  const { code, signal, output } = runChild(import.meta.url, './children/full-stack-objects.js');
  equal([code, signal, output.trim()], [0, null, '0'], output);
});
