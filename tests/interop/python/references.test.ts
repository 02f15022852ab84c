import { fromDLPack, isDLPackError, Tensor } from 'dlpack';
import { isPyObject, kwargs, type PyObject } from 'dlpack/python';
import { equal, ok, throws } from '../../assert.js';
import { runChild } from '../../child.js';
import { testWith } from '../../harness.js';
import { probe, py, pythonMissing, settleUntil, value } from './available.js';

const numpy = probe('numpy');
const np = numpy.module;
const evaluate = (code: string): PyObject => py.eval(code);

testWith(numpy.missing, 'disposed references are dropped by the next operation or at the end of the tick', async () => {
  const seen = Tensor.zeros([1], 'int32');
  const array = py.tensor(seen, np.ndarray);
  // Records the end of the object in memory, so that checking it is not an operation.
  const makeThing = evaluate(
    'lambda a: (lambda o: (__import__("weakref").finalize(o, a.__setitem__, 0, 1), o)[1])(type("Thing", (), {})())',
  );
  const first = makeThing(array);
  first[Symbol.dispose]();
  equal(seen.get(0), 0);
  py.import('math');
  equal(seen.get(0), 1);
  seen.set(0, 0);
  makeThing(array)[Symbol.dispose]();
  await Promise.resolve();
  await Promise.resolve();
  equal(seen.get(0), 1);
  seen.set(0, 0);
  const many = Array.from({ length: 200 }, () => makeThing(array));
  for (const thing of many) thing[Symbol.dispose]();
  equal(seen.get(0), 1, 'not more than a few wait');
});

testWith(
  numpy.missing,
  'a large array is dropped when its tensor is disposed, a small one by the next operation',
  () => {
    const seen = Tensor.zeros([1], 'int32');
    const makeArray = evaluate(
      'lambda a, n: (lambda o: (__import__("weakref").finalize(o, a.__setitem__, 0, 1), o)[1])(__import__("numpy").zeros(n))',
    );
    for (const [size, dropped] of [
      [2 ** 17, 1],
      [8, 0],
    ] as const) {
      const source = makeArray(py.tensor(seen, np.ndarray), size);
      const x = fromDLPack(source);
      source[Symbol.dispose]();
      py.import('math');
      equal(seen.get(0), 0, 'the tensor keeps the array');
      x.dispose();
      equal(seen.get(0), dropped, `${size} elements`);
      py.import('math');
      equal(seen.get(0), 1);
      seen.set(0, 0);
    }
  },
);

testWith(pythonMissing, 'a disposed object stays disposed when its handle is reused', () => {
  const make = evaluate('lambda: object()');
  const old = make();
  old[Symbol.dispose]();
  const others = Array.from({ length: 100 }, () => make());
  throws('DisposedError', '', () => old.__class__);
  throws('DisposedError', '', () => evaluate('id')(old));
  old[Symbol.dispose]();
  for (const other of others) ok(String(other).startsWith('<object'));
});

testWith(pythonMissing, 'proxies share nothing that a program can change', () => {
  const [a, b] = [evaluate('type("A", (), {"name": "a"})()'), evaluate('type("B", (), {"name": "b"})()')];
  equal([value(a.name), value(b.name)], ['a', 'b']);
  const attempts: (() => unknown)[] = [
    () => Object.defineProperty(a, 'leak', { value: 1 }),
    () => Object.setPrototypeOf(a, null),
    () => Object.preventExtensions(a),
    () => delete a.name,
    () => {
      a[Symbol.for('leak')] = 1;
    },
  ];
  for (const attempt of attempts) {
    let error: unknown;
    try {
      attempt();
    } catch (thrown) {
      error = thrown;
    }
    ok(error instanceof TypeError || isDLPackError(error, 'TypeError'), String(error));
  }
  equal(b[Symbol.for('leak')], undefined);
  equal([Object.keys(a), Object.getPrototypeOf(b)], [[], Function.prototype]);
  equal([value(a.name), value(b.name)], ['a', 'b']);
});

testWith(pythonMissing, 'a program that has the private key cannot forge a reference that native code follows', () => {
  const identity = evaluate('lambda x: x');
  const object = evaluate('object()');
  let key: symbol | undefined;
  const spy = new Proxy(() => {}, {
    get(_target, name) {
      if (typeof name === 'symbol') key = name;
      return undefined;
    },
  });
  ok(!isPyObject(spy) && key !== undefined);
  const reference = object[key as symbol] as { handle: number };
  for (const handle of [2 ** 31, 0xffffffff, -1, Number.NaN, 1e300, 0]) {
    const forged = Object.assign(() => {}, {
      [key as symbol]: Object.assign(Object.create(Object.getPrototypeOf(reference)), { handle }),
    });
    let error: unknown;
    try {
      identity(forged);
    } catch (thrown) {
      error = thrown;
    }
    ok(isDLPackError(error), `${handle}: ${String(error)}`);
  }
});

testWith(pythonMissing, 'nested arguments, and errors in the middle, do not mix up the arguments', async () => {
  const sys = py.import('sys');
  const text = evaluate('lambda *a, **k: repr((a, k))');
  const marker = evaluate('object()');
  const before = value<number>(sys.getrefcount(marker));
  equal(
    value(text(1, [2, { a: [3, 'x'], b: [[], {}] }], 'y', [4], kwargs({ k: [5, [6]], l: 'z' }))),
    "((1, [2, {'a': [3, 'x'], 'b': [[], {}]}], 'y', [4]), {'k': [5, [6]], 'l': 'z'})",
  );
  const numbers = Array.from({ length: 500 }, (_, i) => i);
  equal(value(evaluate('sum')(numbers)), 124750);
  equal(value(evaluate('lambda *a: sum(a)')(...numbers)), 124750);
  throws('ValueError', 'at most', () => evaluate('len')(...Array.from({ length: 40_000 }, () => 1)));
  // A getter that uses Python while the request is written, and a getter that throws after objects were made for the request.
  const busy = {
    get a(): unknown {
      return value(text([1, 2], 'inner', kwargs({ q: 1 })));
    },
  };
  equal(value(text(7, busy, 8)), `((7, {'a': "(([1, 2], 'inner'), {'q': 1})"}, 8), {})`);
  const failing = {
    get a(): unknown {
      throw new RangeError('half way');
    },
  };
  for (let i = 0; i < 100; i++) {
    let error: unknown;
    try {
      text([marker], [marker, [marker]], failing);
    } catch (thrown) {
      error = thrown;
    }
    ok(error instanceof RangeError);
  }
  await settleUntil(() => value<number>(sys.getrefcount(marker)) === before);
  equal(value<number>(sys.getrefcount(marker)), before);
});

testWith(numpy.missing, 'many tensors in one call', () => {
  const x = Tensor.from([1, 2], { dtype: 'float32' });
  const total = evaluate('lambda *a: float(sum(__import__("numpy").from_dlpack(x).sum() for x in a))');
  equal(value(total(...Array.from({ length: 100 }, () => x))), 300);
  equal(value(evaluate('lambda a: len(a)')([x, [x], { k: x }])), 3);
  const wide = Tensor.zeros(new Array(60).fill(1), 'int8');
  equal(value(evaluate('lambda *a: len(a)')(...Array.from({ length: 1000 }, () => wide))), 1000);
  throws('BufferError', 'the wire is full', () => evaluate('len')(...Array.from({ length: 1100 }, () => wide)));
  equal(value(total(x, Tensor.wrap(new Float32Array([4])))), 7);
});

testWith(pythonMissing, 'more attribute names than the cache keeps', () => {
  const space = py.import('types').SimpleNamespace();
  for (let i = 0; i < 5000; i++) space[`name${i}`] = i;
  equal([value(space.name0), value(space.name4999)], [0, 4999]);
  space.ümläut = 'x';
  equal(value(space.ümläut), 'x');
});

testWith(numpy.missing, 'workers that use Python, ended and terminated, with objects alive', () => {
  const { code, signal, output } = runChild(import.meta.url, './children/workers.js');
  equal([code, signal], [0, null], output);
  ok(output.includes('no thread states left'), output);
});

testWith(
  numpy.missing,
  'an object that a finalizer disposes in the middle of an operation is not replaced by another object',
  () => {
    py.exec(`
class Last:
  def __init__(self, call): self.call = call
  def __del__(self): self.call()
`);
    const { Last } = py.import('__main__');
    const shown = py.eval('lambda x, *a: str(__import__("numpy").from_dlpack(x))');
    const { str } = py.import('builtins');
    const { ndarray } = np;
    /** Runs an operation whose first step is the end of an object that calls `end`. */
    const during = (end: () => void, operation: () => unknown): unknown => {
      Last(end)[Symbol.dispose]();
      return operation();
    };
    for (const take of [
      (x: Tensor) => shown(x),
      (x: Tensor) => str(py.tensor(x, ndarray)),
      (x: Tensor) => shown(x, 'a'),
    ]) {
      const x = Tensor.from([1, 2, 3]);
      let other: Tensor | undefined;
      const end = () => {
        x.dispose();
        other = Tensor.from([7, 8, 9]);
      };
      equal([during(end, () => take(x)), x.isDisposed], ['[1. 2. 3.]', true]);
      equal(shown(other as Tensor), '[7. 8. 9.]');
      other?.dispose();
    }
    const list = py.eval('[1]');
    let other: PyObject | undefined;
    const end = () => {
      list[Symbol.dispose]();
      other = py.eval('[2]');
    };
    equal(
      during(end, () => str(list)),
      '[1]',
    );
    equal(str(other as PyObject), '[2]');
  },
);
