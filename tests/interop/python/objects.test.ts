import { inspect } from 'node:util';
import { isDLPackError } from 'dlpack';
import { callAsync, isPyObject, kwargs, type PyObject, PythonError } from 'dlpack/python';
import { equal, ok, rejection, throws } from '../../assert.js';
import { runChild } from '../../child.js';
import { collect, testWith } from '../../harness.js';
import { define, probe, py, pythonMissing, settleUntil, value } from './available.js';

const builtins = () => py.import('builtins');
const evaluate = (code: string): PyObject => py.eval(code);

function raised(action: () => unknown): PythonError {
  try {
    action();
  } catch (error) {
    ok(error instanceof PythonError, String(error));
    return error;
  }
  throw new Error('nothing was raised');
}

testWith(pythonMissing, 'values cross both ways unchanged', () => {
  const identity = evaluate('lambda x: x');
  const values = [
    null,
    true,
    false,
    0,
    1,
    -1,
    2 ** 53 - 1,
    -(2 ** 53) + 1,
    1.5,
    -0.25,
    1e300,
    'text',
    'ümläut 🎉',
    '',
    2n ** 70n,
    -(2n ** 63n),
  ];
  for (const x of values) equal(value(identity(x)), x);
  ok(Number.isNaN(value<number>(identity(Number.NaN))));
  equal(value(identity(Number.POSITIVE_INFINITY)), Number.POSITIVE_INFINITY);
  equal(value(identity(undefined)), null);
  equal([...value<Uint8Array>(identity(new Uint8Array([0, 1, 255])))], [0, 1, 255]);
  equal(value(builtins().type(-0).__name__), 'float');
  equal(value(builtins().type(5).__name__), 'int');
  equal(value(builtins().type(2n ** 70n).__name__), 'int');
  equal(value(identity(9007199254740993n)), 9007199254740993n, 'integers beyond 2^53 arrive as bigints');
});

testWith(pythonMissing, 'lists, dicts and tuples', () => {
  const text = (x: unknown) => value<string>(builtins().repr(x));
  equal(text([1, [2, 'a'], null] as never), "[1, [2, 'a'], None]");
  equal(text({ a: 1, b: [true] } as never), "{'a': 1, 'b': [True]}");
  equal(text(py.tuple(1, 2)), '(1, 2)');
  const list = evaluate('[10, 20, 30]');
  equal([...list].map(Number), [10, 20, 30]);
  equal(value(py.getItem(list, -1)), 30);
  py.setItem(list, 0, 5);
  equal(String(list), '[5, 20, 30]');
  const dict = evaluate('{"k": 7}');
  equal(value(py.getItem(dict, 'k')), 7);
});

testWith(pythonMissing, 'attributes, calls, keywords', () => {
  const types = py.import('types');
  const space = types.SimpleNamespace(kwargs({ a: 1, b: 'x' }));
  for (const wrong of [undefined, null, 5, ['a']]) throws('TypeError', '{ dim: 1 }', () => kwargs(wrong as never));
  equal([value(space.a), value(space.b)], [1, 'x']);
  space.a = 9;
  equal(value(space.a), 9);
  equal(String(evaluate('lambda *a, **k: (len(a), sorted(k))')(1, 2, kwargs({ z: 1, y: 2 }))), "(2, ['y', 'z'])");
  equal(String(py.import('math').floor), '<built-in function floor>');
  ok(isPyObject(space) && !isPyObject(() => 1) && !isPyObject({}));
});

testWith(pythonMissing, 'exceptions arrive with type, message and traceback, and none is left behind', () => {
  const error = raised(() => evaluate('1/0'));
  equal(
    [error.type, error.message, error.tag],
    ['ZeroDivisionError', 'ZeroDivisionError: division by zero', 'PythonError'],
  );
  ok(error.traceback.includes('Traceback (most recent call last)') && error.traceback.includes('1/0') === false);
  ok(isPyObject(error.exception));
  equal(raised(() => evaluate('{}["a"]')).type, 'KeyError');
  equal(raised(() => builtins().nothing_here).type, 'AttributeError');
  equal(raised(() => builtins().int('x')).type, 'ValueError');
  equal(raised(() => builtins().iter(5)).type, 'TypeError');
  equal(value(evaluate('1 + 1')), 2);
  try {
    py.import('no_such_module_here');
    throw new Error('found');
  } catch (missing) {
    ok(isDLPackError(missing, 'LoadError') && missing.message.includes('pip install no_such_module_here'));
  }
});

testWith(pythonMissing, 'an exception whose own code raises arrives with its traceback', async () => {
  const [silent, nameless] = define(
    `class Silent(Exception):
    def __str__(self): raise RuntimeError('no text')
def silent(): raise Silent
class Meta(type):
    def __getattribute__(cls, name): raise RuntimeError('no name')
class Nameless(Exception, metaclass=Meta): pass
def nameless(): raise Nameless('text')`,
    'silent',
    'nameless',
  );
  for (const error of [raised(() => silent()), await rejection<PythonError>(callAsync(silent))]) {
    equal([error.type, error.message], ['Silent', 'Silent: <exception str() failed>']); // as Python prints it
    ok(error.traceback.includes('in silent'), error.traceback);
  }
  equal(raised(() => nameless()).message, '?: text');
  equal(value(evaluate('1 + 1')), 2);
});

testWith(
  pythonMissing,
  'the error of a function that reads the variables of its caller says how to call it',
  async () => {
    const [caller, query] = define(
      'import sys\ndef caller(): return sys._getframe(1).f_code.co_name\ndef query(x, *, y): return caller() and x + y',
      'caller',
      'query',
    ) as [PyObject, PyObject];
    const advice = "py.eval('lambda f, *a, **k: f(*a, **k)')(f, ...)";
    const errors = [
      raised(() => caller()),
      await rejection<PythonError>(callAsync(caller)),
      raised(() => builtins().locals()),
    ];
    for (const error of errors) ok(error.message.endsWith(advice), error.message);
    const through = evaluate('lambda f, *a, **k: f(*a, **k)');
    equal([value(through(caller)), value(through(query, 1, kwargs({ y: 2 })))], ['<lambda>', 3]);
    ok(!raised(() => evaluate('lambda: 1/0')()).message.includes('eval'));
  },
);

testWith(pythonMissing, 'an exception of Python where the stack is almost full', () => {
  // V8 would end the process if the error compiled a regular expression there.
  const { code, signal, output } = runChild(import.meta.url, './children/full-stack.js');
  equal([code, signal, output.split('\n')[0]], [0, null, 'ZeroDivisionError: division by zero'], output);
});

testWith(pythonMissing, 'exec takes code that is indented with the JavaScript around it', () => {
  py.exec(`
    # a comment
    def indented(x):
        if x:
            return 1

        return 2
    text = '''a
    b'''
  `);
  const { indented, text } = py.import('__main__');
  equal([indented(true), indented(false), text], [1, 2, 'a\nb']);
  py.exec('\r\n\tif True:\r\n\t\tindented = 3');
  equal(evaluate('indented'), value(3));
  py.exec('  # a comment\r\n  indented = 4\r\n  indented += 1');
  equal(evaluate('indented'), value(5));
  py.exec('    # not code\nif True:\n    text = """\n    c"""');
  equal(evaluate('text'), value('\n    c'), 'other code stays as it is');
  equal(raised(() => py.exec('  a = 1\n b = 2')).type, 'IndentationError');
});

testWith(pythonMissing, 'instanceof with a Python class is isinstance, and delete says what to call', async () => {
  const { int, list } = builtins();
  const numbers = evaluate('[1]');
  await collect();
  equal([numbers instanceof list, numbers instanceof int, {} instanceof list], [true, false, false]);
  equal([(5 as never as object) instanceof int, evaluate('True.__class__') instanceof builtins().type], [true, true]);
  equal(raised(() => numbers instanceof numbers).type, 'TypeError');
  throws('TypeError', "builtins.delattr(x, 'append')", () => delete numbers.append);
});

testWith(pythonMissing, 'Number takes the float of a Python object, or its text as JavaScript reads it', () => {
  const [third, infinite, number, amount, text, many, big] = define(
    `import decimal, fractions
class Number(float):
    def __str__(self): return 'a number'
third, infinite, number = fractions.Fraction(1, 4), Number('inf'), Number(2)
amount, text, many, big = decimal.Decimal('1.10'), type('Text', (str,), {})('0x10'), [1, 2], type('Big', (int,), {})(10 ** 400)`,
    ...['third', 'infinite', 'number', 'amount', 'text', 'many', 'big'],
  ) as PyObject[];
  const inf = Number.POSITIVE_INFINITY;
  equal([third, infinite, number, amount, text, big].map(Number), [0.25, inf, 2, 1.1, 16, inf]);
  ok(Number.isNaN(Number(many)));
  equal([value<number>(number) * 3, value<number>(third) < 0.5], [6, true]);
  equal([`${amount}`, value<number>(amount) + value<number>(amount), String(third)], ['1.10', '1.101.10', '1/4']);
});

testWith(pythonMissing, 'arguments that Python cannot take are refused before Python is called', () => {
  const identity = evaluate('lambda x: x');
  for (const bad of [Symbol('s'), new WeakMap(), new Date()]) {
    let error: unknown;
    try {
      identity(bad as never);
    } catch (thrown) {
      error = thrown;
    }
    ok(isDLPackError(error, 'TypeError'), String(error));
  }
  throws('TypeError', 'datetime.fromtimestamp(date / 1000)', () => identity(new Date()));
});

testWith(pythonMissing, 'references: dispose drops one reference, and the collector drops the rest', async () => {
  const weakref = py.import('weakref');
  const make = evaluate('type("Thing", (), {})');
  const thing = make();
  const alive = weakref.ref(thing);
  thing[Symbol.dispose]();
  thing[Symbol.dispose]();
  equal(value(alive()), null);
  let error: unknown;
  try {
    thing.x;
  } catch (thrown) {
    error = thrown;
  }
  ok(isDLPackError(error, 'DisposedError'));
  const forgotten = (() => weakref.ref(make()))();
  ok(await settleUntil(() => value(forgotten()) === null));
});

testWith(
  pythonMissing,
  'a loop over a Python object lasts many ticks, and releases the object at its end',
  async () => {
    const list = evaluate('[1, 2, 3]');
    const { getrefcount } = py.import('sys');
    const before = value<number>(getrefcount(list));
    const seen: unknown[] = [];
    for (const x of list) {
      seen.push(x);
      await collect();
    }
    equal(seen, [1, 2, 3]);
    for (const _ of list) break;
    equal(value<number>(getrefcount(list)), before);
  },
);

testWith(pythonMissing, 'a loop that ends early closes a Python generator, and nothing else', async () => {
  const [count, fail, closed, Lines] = define(
    `closed = []
def count(n):
    try: yield from range(n)
    finally: closed.append(n)
def fail():
    try: yield 1
    finally: raise ValueError('closing')
class Lines:
    def __init__(self): self.left = 3
    def __iter__(self): return self
    def __next__(self): self.left -= 1; return self.left
    def close(self): closed.append('lines')`,
    'count',
    'fail',
    'closed',
    'Lines',
  ) as [PyObject, PyObject, PyObject, PyObject];
  const kept = count(5); // held by this variable, too
  for (const x of kept) if (x === 1) break;
  equal(String(closed), '[5]');
  equal([...kept], []);
  for await (const _ of count(6)) break;
  const [first, second] = count(7);
  equal([first, second], [0, 1]);
  equal([...count(8)].length, 8);
  try {
    for (const _ of count(9)) throw new RangeError('mine');
  } catch (error) {
    ok(error instanceof RangeError, String(error));
  }
  equal(String(closed), '[5, 6, 7, 8, 9]');
  const message = raised(() => {
    for (const _ of fail()) break;
  }).message;
  equal(message, 'ValueError: closing');
  const lines = Lines(); // as a file: the program goes on reading
  for (const _ of lines) break;
  for (const x of lines) {
    equal(x, 1);
    break;
  }
  equal(String(closed), '[5, 6, 7, 8, 9]');
});

const gc = probe('gc');
testWith(gc.missing, 'ten thousand calls leave no objects behind', async () => {
  const sys = py.import('sys');
  const marker = evaluate('object()');
  const identity = evaluate('lambda x: x');
  const before = value<number>(sys.getrefcount(marker));
  for (let i = 0; i < 10_000; i++) identity(marker)[Symbol.dispose]();
  for (let i = 0; i < 1000; i++) identity(marker);
  await settleUntil(() => value<number>(sys.getrefcount(marker)) === before);
  equal(value<number>(sys.getrefcount(marker)), before);
});

testWith(pythonMissing, "the console prints Python's text, or the exception that printing raised", () => {
  equal(inspect(evaluate('[1, 2]')), 'PyObject [1, 2]');
  py.exec('class Shy:\n  def __str__(self): raise ValueError("not for you")');
  ok(inspect(evaluate('Shy()')).includes('ValueError: not for you'));
});
