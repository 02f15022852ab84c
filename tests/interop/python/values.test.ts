/** Numbers, strings and bytes at their limits, on each of the ways between Python and JavaScript. */

import { Tensor } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import { callAsync, kwargs, type PythonError } from 'dlpack/python';
import { equal, ok, throws } from '../../assert.js';
import { runChild } from '../../child.js';
import { testWith } from '../../harness.js';
import { py, pythonMissing, raises, value } from './available.js';

/** The value of an expression as a result, as the result of an asynchronous call, and as an argument on two threads. */
async function arrivals(expression: string): Promise<unknown[]> {
  const received: unknown[] = [];
  const receive = (x: unknown): void => void received.push(x);
  const give = py.eval(`lambda f: f(${expression})`);
  received.push(py.eval(expression));
  received.push(await callAsync(py.eval(`lambda: ${expression}`)));
  give(receive);
  await callAsync(give, receive);
  return received;
}

testWith(pythonMissing, 'integers of any length arrive exactly', async () => {
  const integers: [string, number | bigint][] = [
    ['2**53 - 1', 2 ** 53 - 1],
    ['2**53', 2n ** 53n],
    ['-2**53', -(2n ** 53n)],
    ['10**4300', 10n ** 4300n],
    ['10**5000 + 7', 10n ** 5000n + 7n],
    ['-(10**20000) - 3', -(10n ** 20000n) - 3n],
  ];
  for (const [expression, expected] of integers) {
    for (const got of await arrivals(expression)) ok(got === expected, expression);
  }
});

testWith(pythonMissing, 'bigints of any length are passed exactly', () => {
  const isEqual = py.eval('lambda x, digits, base: x == int(digits, base)');
  for (const x of [2n ** 64n, -(2n ** 64n), 10n ** 5000n, -(10n ** 20000n)]) {
    equal(isEqual(x, x.toString(16), 16), true);
  }
});

testWith(pythonMissing, 'strings with lone surrogates keep every character', async () => {
  const strings: [string, string][] = [
    ["'hello\\udcffworld'", 'hello\udcffworld'],
    ["'\\ud800'", '\ud800'],
    ["b'file-\\xff.txt'.decode('utf-8', 'surrogateescape')", 'file-\udcff.txt'],
    ["'\\ud83c\\udf89 \\U0001f389 \\udc00'", '\ud83c\udf89 🎉 \udc00'],
    ["'\\ufffd real'", '\ufffd real'],
  ];
  for (const [expression, expected] of strings) {
    for (const got of await arrivals(expression)) equal(got, expected);
  }
  const characters = py.eval('lambda s: [ord(c) for c in s]');
  equal([...characters('a\udcffb')], [0x61, 0xdcff, 0x62]);
  equal([...characters('\ufffd\ud800')], [0xfffd, 0xd800]);
  equal([...characters('\ufffd 🎉')], [0xfffd, 0x20, 0x1f389]);
});

testWith(pythonMissing, 'the message of an exception keeps a lone surrogate', async () => {
  const raise = py.eval("lambda: (_ for _ in ()).throw(ValueError('text \\udcff of an error'))");
  for (const call of [() => raise(), () => callAsync(raise)]) {
    let message = '';
    try {
      await call();
    } catch (error) {
      message = (error as PythonError).message;
    }
    equal(message, 'ValueError: text \udcff of an error');
  }
});

testWith(pythonMissing, 'a str that is too long for JavaScript gives an error, not undefined', () => {
  const { code, output } = runChild(import.meta.url, './children/long-values.js', { args: ['str'] });
  equal(code, 0, output);
  equal(output.trim(), 'ok');
});

testWith(pythonMissing, 'bytes that are too long for JavaScript give an error and do not end the process', () => {
  const { code, output } = runChild(import.meta.url, './children/long-values.js', { args: ['bytes'] });
  equal(code, 0, output);
  equal(output.trim(), 'ok');
});

testWith(pythonMissing, 'large bytes arrive whole', async () => {
  const length = 3 * 2 ** 20;
  for (const got of await arrivals(`bytes(range(256)) * ${length / 256}`)) {
    const bytes = value<Uint8Array>(got);
    ok(bytes instanceof Uint8Array && bytes.length === length, String(bytes.length));
    equal([bytes[255], bytes[256], bytes[length - 1]], [255, 0, 255]);
  }
});

testWith(pythonMissing, 'Maps become dicts with any keys, Sets become sets', async () => {
  const show = py.eval('lambda x: repr(sorted(x) if isinstance(x, set) else x)');
  const values: [unknown, string][] = [
    [
      new Map<unknown, unknown>([
        [1, [2, 3]],
        [py.float(2), null],
        [py.tuple(1, 'a'), new Map()],
        ['k', { a: 1 }],
      ]),
      "{1: [2, 3], 2.0: None, (1, 'a'): {}, 'k': {'a': 1}}",
    ],
    [new Set([3, 1, 2, 3]), '[1, 2, 3]'],
    [new Set(), '[]'],
    [[new Set([1])], '[{1}]'],
  ];
  for (const [given, expected] of values) {
    equal(show(given), expected);
    equal(await callAsync(show, given), expected, 'on another thread');
  }
  raises('TypeError', 'unhashable', () => show(new Set([[1]])));
  raises('TypeError', 'unhashable', () => show(new Map([[[1], 1]])));
  const cyclic = new Set<unknown>();
  cyclic.add(cyclic);
  throws('ValueError', 'nested', () => show(cyclic));
});

/** `json.dumps` in Python, parsed again. */
const echo = (value: unknown): unknown => JSON.parse(py.import('json').dumps(value));
const many = <T>(length: number, f: (i: number) => T): T[] => Array.from({ length }, (_, i) => f(i));

testWith(pythonMissing, 'containers of any length arrive whole and in order', async () => {
  const values = many(100_001, (i) => (i % 7 === 0 ? `s${i}` : i));
  equal(echo(values), values);
  const rows = many(1000, (i) => many(150, (j) => i * j));
  equal(echo(rows), rows);
  const nested = {
    a: values,
    b: { c: many(70_001, String) },
    d: Object.fromEntries(many(40_001, (i) => [`k${i}`, [i]])),
  };
  equal(echo(nested), nested);
  const length = py.eval('len');
  equal(length(new Map(many(40_001, (i) => [i, i]))), 40_001);
  equal(length(new Set(values)), 100_001);
  equal(py.eval('lambda a: a[-1]')(kwargs({ a: values })), 100_000);
  equal(await callAsync(length, values), 100_001);
  equal(
    py.eval('lambda f: f()[-1]')(() => values),
    100_000,
  );
});

testWith(pythonMissing, 'long containers of tensors and functions leave nothing behind, also after an error', () => {
  const before = liveCounts().storages;
  const tensors = many(5000, (i) => Tensor.from([i]));
  equal(py.eval('lambda all: (len(all), all[-1].shape[0])[0]')(tensors), 5000);
  equal(py.eval('lambda all: all[-1]()')(many(40_000, (i) => () => i)), 39_999);
  throws('TypeError', 'Symbol(last)', () => echo([...tensors, ...many(40_000, (i) => i), Symbol('last')]));
  raises('TypeError', 'unhashable', () =>
    echo(new Map<unknown, number>([...many(40_000, (i) => [i, i] as const), [[1], 2]])),
  );
  for (const tensor of tensors) tensor.dispose();
  py.eval('None'); // drops what was released
  equal(liveCounts().storages, before);
});

testWith(pythonMissing, 'a long container that contains itself is refused', () => {
  const first: unknown[] = many(70_000, (i) => i);
  first[0] = first;
  const last: unknown[] = many(70_000, (i) => i);
  last[69_999] = last;
  for (const cycle of [first, last]) throws('ValueError', 'contain itself', () => echo(cycle));
  equal(echo([1]), [1]);
});

testWith(pythonMissing, 'arguments that Python cannot take say what to pass instead', () => {
  throws('TypeError', 'the last argument of a call', () => py.eval('print')(kwargs({ end: '' }), 1));
  throws('TypeError', 'Object.fromEntries', () => kwargs(new Map([['axis', 0]]) as never));
  throws('TypeError', 'new Uint8Array', () => py.eval('len')(new ArrayBuffer(2)));
  for (const argument of [new Float32Array(2), [1, new Float32Array(2)]] as never[]) {
    const advice =
      'pass Tensor.from(array), a copy that Python can write to, or Tensor.adopt(array), which takes the memory over';
    throws('TypeError', advice, () => py.eval('lambda x: x')(argument));
  }
  throws('ValueError', 'received 40000 (number); pass them as a list', () => py.eval('len')(...many(40_000, (i) => i)));
  throws('TypeError', 'py.getItem(x, -1)', () => py.eval('[1, 2]')[-1]);
});
