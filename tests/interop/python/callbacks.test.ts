import { execFileSync } from 'node:child_process';
import { Worker } from 'node:worker_threads';
import { fromDLPack, isDLPackError, Tensor } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import { addressOf } from 'dlpack/native';
import { callAsync, isPyObject, type PyObject, PythonError } from 'dlpack/python';
import { equal, ok, rejection, throws } from '../../assert.js';
import { collect, testWith } from '../../harness.js';
import { probe, py, pythonMissing, settleUntil } from './available.js';

const numpy = probe('numpy');

function caught(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

/** Calls on the JavaScript thread, and on one of the pool. */
const ways: [string, (fn: PyObject, ...args: unknown[]) => unknown][] = [
  ['here', (fn, ...args) => fn(...args)],
  ['there', (fn, ...args) => callAsync(fn, ...args)],
];

// The first test, because it counts the functions of the whole process.
testWith(pythonMissing, 'functions are released once, when the last side drops them', async () => {
  equal(liveCounts().imports, 0);
  const keep = py.eval('[]');
  const freed: string[] = [];
  const registry = new FinalizationRegistry<string>((name) => freed.push(name));
  const pass = (name: string) => {
    const fn = () => name;
    registry.register(fn, name);
    keep.append(fn);
  };
  pass('python');
  await collect();
  equal([freed.length, liveCounts().imports], [0, 1]);
  equal(py.getItem(keep, 0)(), 'python');
  keep.clear();
  const isFreed = (count: number) => settleUntil(() => py.eval('0') === 0 && freed.length === count);
  ok(await isFreed(1), 'JavaScript forgets what Python gave up');
  equal(liveCounts().imports, 0);
  // Released on a Python thread.
  pass('thread');
  await callAsync(keep.clear);
  ok(await isFreed(2));
  // Held by JavaScript and not by Python.
  const mine = () => 1;
  for (let i = 0; i < 100; i++) py.eval('lambda f: f()')(mine);
  ok(await settleUntil(() => liveCounts().imports === 0), `${liveCounts().imports} functions`);
});

testWith(pythonMissing, 'arguments are converted like results, and results like arguments', async () => {
  for (const [way, call] of ways) {
    const seen: unknown[][] = [];
    const record = (...args: unknown[]) => {
      seen.push(args);
      return args.length;
    };
    const apply = py.eval('lambda f: f(None, True, 5, 2 ** 60, 1.5, "ü", b"\\x01", [1], a=1, __proto__="p")');
    equal(await call(apply, record), 9, way);
    const [args] = seen as [unknown[]];
    equal(args.slice(0, 6), [null, true, 5, 2n ** 60n, 1.5, 'ü']);
    equal([...(args[6] as Uint8Array)], [1]);
    ok(isPyObject(args[7]));
    equal(Object.entries(args[8] as object), [
      ['a', 1],
      ['__proto__', 'p'],
    ]);
    equal(await call(py.eval('lambda f: f()'), record), 0);
    equal(seen[1], []);
    const returns = py.eval('lambda f: repr(f())');
    const values: [unknown, string][] = [
      [undefined, 'None'],
      [true, 'True'],
      [-0, '-0.0'],
      [2n ** 70n, '1180591620717411303424'],
      ['é', "'é'"],
      [new Uint8Array([1]), "b'\\x01'"],
      [[1, [2]], '[1, [2]]'],
      [{ a: null }, "{'a': None}"],
      [py.tuple(1, 2), '(1, 2)'],
    ];
    for (const [value, text] of values) equal(await call(returns, () => value), text, way);
  }
});

testWith(numpy.missing, 'tensors go through a function without a copy', async () => {
  for (const [way, call] of ways) {
    const x = Tensor.from([1, 2, 3], { dtype: 'float32' });
    const double = (a: PyObject) => {
      const y = fromDLPack(a, { dtype: 'float32' });
      equal(addressOf(y), addressOf(x), way);
      y.set(0, y.get(0) * 2);
      return y;
    };
    const [apply] = define('import numpy as np\ndef apply(f, x): return np.asarray(f(np.asarray(x)))', 'apply');
    const back = fromDLPack((await call(apply, double, x)) as PyObject);
    equal([addressOf(back), back.toArray()], [addressOf(x), [2, 2, 3]]);
  }
});

function define(code: string, ...names: string[]): PyObject[] {
  const space = py.eval('{}');
  py.import('builtins').exec(code, space);
  return names.map((name) => py.getItem(space, name));
}

testWith(
  pythonMissing,
  'a value that a function throws reaches Python as an exception and comes back as the same value',
  async () => {
    const apply = py.eval('lambda f: f()');
    for (const thrown of [
      new RangeError('mine'),
      'text',
      undefined,
      null,
      {
        toString: () => {
          throw new Error();
        },
      },
    ]) {
      const fail = () => {
        throw thrown;
      };
      for (const error of [caught(() => apply(fail)), await rejection(callAsync(apply, fail))]) {
        ok(error instanceof PythonError && error.type === 'JavaScriptError', String(error));
        ok(Object.is(error.cause, thrown) && 'cause' in error);
        ok(error.traceback.includes('in <lambda>'), error.traceback);
      }
    }
    const [handled] = define(
      'def handled(f):\n  try:\n    f()\n  except Exception as e:\n    return type(e).__name__, str(e), isinstance(e, type(f).JavaScriptError)',
      'handled',
    );
    const fail = () => {
      throw new TypeError('odd');
    };
    equal(String(handled(fail)), "('JavaScriptError', 'TypeError: odd', True)");
    // An exception of that name that is not ours.
    const [foreign] = define(
      'class JavaScriptError(Exception): error = 5\ndef foreign(): raise JavaScriptError("x")',
      'foreign',
    );
    const error = caught(foreign) as PythonError;
    equal([error.type, error.cause, 'cause' in error], ['JavaScriptError', undefined, false]);
  },
);

testWith(pythonMissing, 'a Python exception passes through JavaScript unchanged', async () => {
  const [raise, apply, same] = define(
    'class Odd(Exception): pass\nlast = []\ndef raise_():\n  last[:] = [Odd("x")]\n  raise last[0]\n' +
      'def apply(f):\n  try:\n    f()\n  except Odd as e:\n    return e is last[0]\ndef through(f): f()',
    'raise_',
    'apply',
    'through',
  );
  equal(
    apply(() => raise()),
    true,
  );
  equal(await callAsync(apply, () => raise()), true);
  const error = caught(() => same(() => raise())) as PythonError;
  equal(error.type, 'Odd');
  ok(error.traceback.includes('in raise_') && error.traceback.includes('in through'), error.traceback);
  // A value that is not an exception cannot be raised, nor can a disposed exception.
  const wrong = () => {
    throw new PythonError('Odd', 'm', '', py.eval('[]'));
  };
  equal((caught(() => same(wrong)) as PythonError).type, 'TypeError');
  const disposed = () => {
    const inner = caught(raise) as PythonError;
    (inner.exception as PyObject)[Symbol.dispose]();
    throw inner;
  };
  equal((caught(() => same(disposed)) as PythonError).type, 'JavaScriptError');
});

testWith(pythonMissing, 'a Python exception that JavaScript makes and throws is raised in Python', async () => {
  const { KeyError, StopIteration } = py.import('builtins');
  const [caught_, through] = define(
    'def caught(f):\n  try: f()\n  except KeyError as e: return e\ndef through(f): f()',
    'caught',
    'through',
  ) as [PyObject, PyObject];
  const key = KeyError('key');
  const fail = () => {
    throw key;
  };
  const is = py.eval('lambda a, b: a is b');
  for (const [way, call] of ways) ok(is(await call(caught_, fail), key), way);
  equal((caught(() => through(fail)) as PythonError).message, "KeyError: 'key'");
  // An iterator whose end JavaScript decides.
  let count = 0;
  const next = () => {
    if (count++ === 2) throw StopIteration();
    return count;
  };
  equal(String(py.eval('lambda f: list(map(lambda i: f(), range(9)))')(next)), '[1, 2]');
  // Other Python objects are values like those of JavaScript.
  const list = py.eval('[]');
  const error = caught(() =>
    through(() => {
      throw list;
    }),
  ) as PythonError;
  equal([error.type, error.cause === list], ['JavaScriptError', true]);
  key[Symbol.dispose]();
  equal((caught(() => through(fail)) as PythonError).type, 'JavaScriptError');
});

testWith(pythonMissing, 'a result that Python cannot take raises an exception in Python', async () => {
  const apply = py.eval('lambda f: f()');
  for (const [, call] of ways) {
    for (const bad of [Symbol('s'), new WeakMap(), { x: new Date() }]) {
      let error: unknown;
      try {
        await call(apply, () => bad);
      } catch (thrown) {
        error = thrown;
      }
      ok(error instanceof PythonError && isDLPackError(error.cause, 'TypeError'), String(error));
    }
  }
});

testWith(
  pythonMissing,
  'other threads wait for a promise, and the JavaScript thread, which cannot wait, gets an error',
  async () => {
    const apply = py.eval('lambda f, x: f(x) + 1');
    const later = async (x: number) => {
      await new Promise((resolve) => setTimeout(resolve, 1));
      if (x < 0) throw new RangeError('negative');
      return x * 2;
    };
    equal(await callAsync(apply, later, 20), 41);
    ok((await rejection<PythonError>(callAsync(apply, later, -1))).cause instanceof RangeError);
    const error = caught(() => apply(later, 1)) as PythonError;
    ok(isDLPackError(error.cause, 'TypeError') && error.message.includes('callAsync'), error.message);
    const hostile = Object.defineProperty({}, 'then', {
      get() {
        throw new RangeError('getter');
      },
    });
    ok((caught(() => apply(() => hostile, 1)) as PythonError).cause instanceof RangeError);
    const thenable = { ['th' + 'en']: (resolve: (value: number) => void) => resolve(4) };
    equal(await callAsync(apply, () => thenable, 1), 5);
  },
);

testWith(
  pythonMissing,
  'calls that wait for promises leave threads free for the calls that they wait for',
  async () => {
    const apply = py.eval('lambda f, n: f(n)');
    const down = (n: number): unknown => (n === 0 ? 0 : callAsync(apply, down, n - 1).then((x: number) => x + 1));
    // Deeper than the pool has threads.
    equal(await callAsync(apply, down, 60), 60);
    // More than any pool has: the calls that find no thread fail instead of waiting for ever.
    const many = await Promise.allSettled(Array.from({ length: 40 }, () => callAsync(apply, down, 20)));
    for (const one of many) {
      if (one.status === 'fulfilled') equal(one.value, 20);
      else ok(String((one.reason as Error).message).includes('wait for JavaScript promises'), String(one.reason));
    }
    equal(await callAsync(apply, down, 3), 3);
  },
);

testWith(pythonMissing, 'a JavaScript function that a Python thread calls runs on the JavaScript thread', async () => {
  const [start] = define(
    'import threading\ndef start(f, n):\n  out = []\n  def work():\n    for i in range(n): out.append(f(i))\n' +
      '  threads = [threading.Thread(target=work) for _ in range(4)]\n  for t in threads: t.start()\n' +
      '  def join():\n    for t in threads: t.join()\n    return len(out), sum(out)\n  return join',
    'start',
  );
  let running = 0;
  const join = start((i: number) => {
    equal(++running, 1, 'one at a time');
    const sum = py.eval('lambda x: x + 1')(i); // uses Python, because that thread does not hold the GIL
    running--;
    return sum;
  }, 50);
  equal(String(await callAsync(join)), '(200, 5100)');
});

// At the end of the tick all slots of requests are free (src/native/wire/wire.ts), so none may be in use then.
testWith(pythonMissing, 'no microtask runs inside a request, whatever its callback does', async () => {
  const seen: boolean[] = [];
  const meddle = (): void => {
    let ran = false;
    queueMicrotask(() => {
      ran = true;
    });
    const doings = [
      () => execFileSync(process.execPath, ['--version']),
      () => new Worker('0', { eval: true }).unref(),
      () => py.eval('lambda: None')(),
    ];
    for (const doing of doings) {
      doing();
      seen.push(ran);
    }
  };
  const call = py.eval('lambda f: f()');
  call(meddle);
  await callAsync(call, meddle);
  equal(seen, new Array(6).fill(false));
});

testWith(pythonMissing, 'synchronous and asynchronous calls and callbacks interleave', async () => {
  const apply = py.eval('lambda f, x: f(x)');
  const add = (x: number): number => py.eval('lambda x: x + 1')(x);
  const pending: Promise<unknown>[] = [];
  for (let i = 0; i < 200; i++) {
    pending.push(callAsync(apply, add, i));
    equal(apply(add, i), i + 1);
    equal(
      apply((x: number) => apply(add, x), i),
      i + 1,
    );
  }
  equal(
    await Promise.all(pending),
    Array.from({ length: 200 }, (_, i) => i + 1),
  );
});

testWith(
  pythonMissing,
  "a function that runs in the middle of an operation does not change the operation's messages",
  async () => {
    // The next operation drops a few collected references at its start, and the finalizer of such an object calls
    // JavaScript. If earlier tests left many references, another thread drops the rest, and the call comes later.
    const [Bell] = define('class Bell:\n  def __init__(self, f): self.f = f\n  def __del__(self): self.f()', 'Bell');
    let rings = 0;
    const ring = () => {
      rings++;
      equal(py.eval('lambda *a: len(a)')(1, 'two', [3]), 3);
      Tensor.from([1, 2, 3]).dispose();
    };
    const show = py.eval('lambda *a: repr(a)');
    const operations: [() => unknown, unknown][] = [
      [() => show(1, 'x', 2.5), "(1, 'x', 2.5)"],
      [() => show([2, 'y'], { z: 3 }), "([2, 'y'], {'z': 3})"],
      [() => String(py.tuple(1, 'two')), "(1, 'two')"],
    ];
    for (const [operation, expected] of operations) {
      const before = rings;
      (() => Bell(ring))();
      await collect();
      equal(operation(), expected);
      await settleUntil(() => rings > before);
      equal(rings, before + 1);
    }
  },
);

testWith(pythonMissing, 'a function that is passed again while Python holds it is the same Python object', async () => {
  const f = () => 1;
  const is = py.eval('lambda a, b: a is b');
  equal([is(f, f), is(f, () => 1)], [true, false]);
  const object = py.callable(f);
  equal([is(f, object), String(object), object.__name__, object()], [true, '<dlpack.Function f>', 'f', 1]);
  ok(isPyObject(object) && !isPyObject(f));
  object[Symbol.dispose]();
  equal(is(f, f), true);
  ok(py.callable(object) === object, 'it is one already');
  throws('TypeError', 'function', () => py.callable(5 as never));
  const error = caught(() => py.import('builtins').type(py.callable(f))()) as PythonError;
  equal(error.type, 'TypeError');
  equal(String(py.callable(Object.defineProperty(() => 1, 'name', { value: 5 }))), '<dlpack.Function anonymous>');
});

testWith(pythonMissing, 'references before and after are equal, for every way a call can end', async () => {
  const { getrefcount } = py.import('sys');
  const marker = py.eval('object()');
  const apply = py.eval('lambda f, x: f(x, x, k=x)');
  const functions: ((...args: PyObject[]) => unknown)[] = [
    (x) => x,
    (x) => [x, { x }],
    () => {
      throw new Error('e');
    },
    (x) => [x, Symbol('s')],
    async (x) => x,
    (x) =>
      Promise.reject(x).then(
        () => 1,
        () => Symbol('s'),
      ),
    (x) => py.eval('lambda x: 1 / 0')(x),
  ];
  for (const [way, call] of ways) {
    for (const [i, fn] of functions.entries()) {
      const before = getrefcount(marker);
      for (let n = 0; n < 20; n++) {
        try {
          await call(apply, fn, marker);
        } catch (error) {
          ok(error instanceof PythonError, String(error));
        }
      }
      const settled = () => {
        py.eval('0');
        return getrefcount(marker) === before;
      };
      ok(await settleUntil(settled), `${way} ${i}: ${getrefcount(marker) - before} more`);
    }
  }
});

testWith(pythonMissing, 'an int is too long for a bigint: the other arguments are released', async () => {
  const { getrefcount } = py.import('sys');
  const marker = py.eval('object()');
  const before = getrefcount(marker);
  const Plain = BigInt;
  const refuse = () => {
    throw new RangeError('Maximum BigInt size exceeded');
  };
  const apply = py.eval('lambda f, x: f(x, 2 ** 70, x, k=x)');
  // A function of its own, so that no variable keeps an error, and with it the frames of Python.
  const check = async (call: (typeof ways)[number][1]): Promise<void> => {
    const error = await rejection(Promise.resolve().then(() => call(apply, refuse, marker)));
    ok(error instanceof PythonError && isDLPackError(error.cause, 'BufferError'), String(error));
  };
  globalThis.BigInt = new Proxy(Plain, { apply: refuse }); // the limits of engines differ, and are large
  try {
    for (const [, call] of ways) await check(call);
  } finally {
    globalThis.BigInt = Plain;
  }
  ok(await settleUntil(() => getrefcount(marker) === before), `${getrefcount(marker) - before} more`);
});

testWith(pythonMissing, 'endless recursion through both languages ends with an error', () => {
  const through = py.eval('lambda f: f()');
  let depth = 0;
  const recurse = (): unknown => {
    depth++;
    return through(recurse);
  };
  const error = caught(recurse);
  ok(error instanceof PythonError || error instanceof RangeError, String(error));
  ok(depth > 10, `${depth}`);
  equal(
    through(() => 5),
    5,
  );
});

testWith(pythonMissing, 'arguments of calls that find the stack full are released', async () => {
  const [give, count] = define(
    'import weakref\nclass Argument: pass\nfull = []\ndef give(f):\n  given = []\n  def made():\n    made = Argument()\n' +
      '    given.append(weakref.ref(made))\n    return made\n  try: f(made(), [made()], 1, key=made())\n' +
      "  except RuntimeError as error:\n    if 'stack is full' in str(error): full.extend(given)\n    else: raise\n" +
      'def count(): return sum(given() is not None for given in full), len(full)',
    'give',
    'count',
  );
  const counts = () => [...(count() as Iterable<number>)] as [live: number, full: number];
  let calls = 0;
  const take = () => {
    calls++;
  };
  /** Fills the stack, and calls from each level on the way back until there is room for the function. */
  const descend = (): void => {
    try {
      descend();
    } catch (error) {
      try {
        if (calls === 0) give(take);
      } catch {}
      if (calls === 0) throw error;
    }
  };
  for (let round = 0; round < 5; round++) {
    calls = 0;
    descend();
  }
  ok(counts()[1] > 0, 'no call found the stack full');
  ok(await settleUntil(() => counts()[0] === 0), `${counts()[0]} arguments stay`);
});

testWith(
  pythonMissing,
  'functions, results and exceptions of calls that find the stack full are released',
  async () => {
    const [through, make, count] = define(
      'import weakref\nclass Result: pass\nmade = []\ndef through(f): return f()\ndef make():\n  result = Result()\n' +
        '  made.append(weakref.ref(result))\n  return result\ndef count(): return sum(result() is not None for result in made)',
      'through',
      'make',
      'count',
    );
    const attempts = { function: () => through(() => 1), result: () => void make() };
    for (const [name, attempt] of Object.entries(attempts)) {
      attempt();
      const before = liveCounts().pins;
      let full = 0;
      /** Fills the stack, and tries from each level on the way back until there is room. */
      const descend = (): boolean => {
        let isDone = false;
        try {
          isDone = descend();
        } catch {}
        if (isDone) return true;
        try {
          attempt();
          return true;
        } catch {
          full++;
          return false;
        }
      };
      for (let round = 0; round < 5; round++) descend();
      ok(full > 0, `no ${name} found the stack full`);
      const left = () => [liveCounts().pins - before, count() as number];
      ok(await settleUntil(() => left().every((n) => n <= 0)), `${name}: ${left()} stay`);
    }
  },
);

testWith(pythonMissing, 'functions among the arguments of calls that find the stack full are released', async () => {
  const [apply] = define('def apply(f, x): return f(x)', 'apply');
  apply((x: number) => x, 3);
  const before = liveCounts().pins;
  let full = 0;
  /** Fills the stack, and calls from each of the last levels on the way back. */
  const descend = (state: { calls: number }): void => {
    try {
      descend(state);
    } catch {
      // no room yet
    }
    if (++state.calls > 60) return;
    try {
      apply((x: number) => x, 3);
    } catch {
      full++;
    }
  };
  for (let round = 0; round < 40; round++) descend({ calls: 0 });
  ok(full > 0, 'no call found the stack full');
  const left = () => liveCounts().pins - before;
  ok(await settleUntil(() => left() <= 0), `${left()} functions stay`);
});

testWith(pythonMissing, 'Python can ask for the signature and the names of a function, and copy it', () => {
  const [tell] = define(
    `import copy, functools, inspect
def tell(f):
    wrapper = functools.wraps(f)(lambda *a: f(*a))
    names = wrapper.__name__, wrapper.__qualname__, f.__module__, type(f).__qualname__
    copies = copy.copy(f) is f and copy.deepcopy([f])[0] is f
    return repr((str(inspect.signature(f)), str(inspect.signature(wrapper)), *names, copies, wrapper(2, 3)))`,
    'tell',
  ) as [PyObject];
  // A declaration, because Bun would replace a constant by its value, which has no name.
  function add(a: number, b: number): number {
    return a + b;
  }
  equal(tell(add), "('(*args, **kwargs)', '(*args, **kwargs)', 'add', 'add', 'dlpack', 'Function', True, 5)");
});

testWith(pythonMissing, 'too many arguments for a function', () => {
  equal((caught(() => py.eval('lambda f: f(*range(121))')(() => 1)) as PythonError).type, 'TypeError');
  equal(
    py.eval('lambda f: f(*range(120))')((...args: number[]) => args.length),
    120,
  );
});
