import { type DType, scope, Tensor } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import { isPyObject, type PyObject } from 'dlpack/python';
import { equal, ok, throws } from '../../assert.js';
import { testWith } from '../../harness.js';
import { probe, py, pythonMissing, settleUntil } from './available.js';

const torch = probe('torch');

/** Runs statements in `__main__`, and evaluates an expression there. */
function define(code: string, expression: string): PyObject {
  py.exec(code);
  return py.eval(expression);
}

const evaluate = (code: string): PyObject => py.eval(code);
const converted = (code: string): unknown => py.toJS(evaluate(code));

testWith(pythonMissing, 'containers become arrays, objects, Maps and Sets, with everything inside', () => {
  equal(converted('[1, "a", None, True, 2.5, [], ()]'), [1, 'a', null, true, 2.5, [], []]);
  equal(converted('{"a": [1, (2, 3)], "b": {"c": {}}}'), { a: [1, [2, 3]], b: { c: {} } });
  const map = converted('{1: "a", (2, 3): {"x": 1}}') as Map<unknown, unknown>;
  ok(map instanceof Map);
  equal(
    [...map],
    [
      [1, 'a'],
      [[2, 3], { x: 1 }],
    ],
  );
  equal([...(converted('{1, 2}') as Set<number>)].sort(), [1, 2]);
  ok(converted('frozenset()') instanceof Set);
  equal(converted('[2 ** 70, -(2 ** 53) - 1]'), [2n ** 70n, -(2n ** 53n) - 1n]);
  equal(converted('{"__proto__": 1, "constructor": 2}'), JSON.parse('{"__proto__": 1, "constructor": 2}'));
  equal(converted('{"bytes": b"ab", "z": 1 + 2j}'), { bytes: new Uint8Array([97, 98]), z: { re: 1, im: 2 } });
  equal(converted('range(0)') !== null && isPyObject(converted('range(3)')), true, 'other objects stay as they are');
});

testWith(pythonMissing, 'values of JavaScript stay as they are', () => {
  for (const value of [1, 'a', null, undefined, true]) equal(py.toJS(value), value);
  const object = { a: 1 };
  ok(py.toJS(object) === object);
});

testWith(pythonMissing, 'subclasses of containers, and dataclasses', () => {
  const make = define(
    `
    import collections, dataclasses, types, typing
    @dataclasses.dataclass
    class Point:
        x: int
        tags: list
    class Pair(typing.NamedTuple):
        a: int
        b: str
    def make():
        return [Point(1, ['a']), Pair(1, 'b'), collections.OrderedDict(k=1), collections.defaultdict(int, k=2),
                types.MappingProxyType({'k': 3}), Point]
  `,
    'make',
  );
  const [point, pair, ordered, counted, proxy, type] = py.toJS(make()) as unknown[];
  equal([point, pair, ordered, counted, proxy], [{ x: 1, tags: ['a'] }, [1, 'b'], { k: 1 }, { k: 2 }, { k: 3 }]);
  ok(isPyObject(type), 'the class itself');
});

testWith(
  probe('numpy').missing || torch.missing,
  'arrays and tensors become Tensors over the same memory, NumPy scalars numbers',
  () => {
    const make = define(
      `
    import numpy, torch
    a = numpy.arange(4, dtype='float32')
    t = torch.zeros(2, 2)
    def make():
        return {'a': a, 'list': [t, (a[1:],)], 'f': numpy.float32(1.5), 'i': numpy.int64(7), 'b': numpy.bool_(True)}
    def first():
        return float(a[0]), float(t[1, 1])
  `,
      'make',
    );
    const result = py.toJS<{ a: Tensor; list: [Tensor, [Tensor]]; f: number; i: number; b: boolean }>(make());
    equal([result.f, result.i, result.b], [1.5, 7, true]);
    const {
      a,
      list: [t, [rest]],
    } = result;
    equal([a.dtype, a.shape, t.shape, rest.shape], ['float32', [4], [2, 2], [3]]);
    ok(rest.sharesMemory(a));
    a.set(0, 9);
    t.set(1, 1, 8);
    equal(py.toJS(evaluate('first()')), [9, 8]);
    const x = Tensor.from([1, 2]);
    const [back] = py.toJS<[Tensor]>(evaluate('lambda x: [x]')(x));
    ok(back.sharesMemory(x));
  },
);

testWith(pythonMissing, 'arrays without numbers become nested arrays', () => {
  const make = define(
    `
    import numpy
    def make():
        return [numpy.array([['a', 'b'], ['c', 'd']]), numpy.array([b'x']), numpy.array([1, 'a', None], dtype=object),
                numpy.array([(1, 2.5)], dtype=[('a', 'i4'), ('b', 'f8')]), numpy.array('a'),
                numpy.array(['2024-02-03T04:05:06.007', 'NaT'], dtype='datetime64[ns]')]
  `,
    'make',
  );
  const result = py.toJS<unknown[]>(make());
  equal(result.slice(0, 2), [
    [
      ['a', 'b'],
      ['c', 'd'],
    ],
    [new Uint8Array([120])],
  ]);
  equal(result.slice(2, 5), [[1, 'a', null], [[1, 2.5]], 'a']);
  const [moment, none] = result[5] as [Date, Date];
  equal([moment.toISOString(), Number.isNaN(none.getTime())], ['2024-02-03T04:05:06.007Z', true]);
});

testWith(pythonMissing, 'the first and last datetime become Dates in every time zone', () => {
  const code = '[__import__("datetime").datetime.min, __import__("datetime").datetime.max]';
  const day = 86_400_000;
  for (const [i, date] of (converted(code) as Date[]).entries()) {
    const expected = Date.parse(['0001-01-01T00:00:00Z', '9999-12-31T23:59:59.999Z'][i] as string);
    ok(Math.abs(date.getTime() - expected) <= day, String(date.getTime()));
  }
});

testWith(pythonMissing, 'a scope keeps the tensors in what toJS returns, whatever contains them', () => {
  const map = scope(() => converted('{1: __import__("numpy").ones(2)}')) as Map<number, Tensor>;
  equal(map.get(1)?.toArray(), [1, 1]);
});

testWith(pythonMissing, 'datetimes become Dates', () => {
  const make = define(
    `
    from datetime import date, datetime, timedelta, timezone
    def make():
        zone = timezone(timedelta(hours=2))
        return [datetime(2024, 2, 3, 6, 5, 6, 7999, zone), datetime(1969, 12, 31, 23, 59, 59, 999000, timezone.utc),
                datetime(2024, 2, 3, 4, 5), date(2024, 2, 3)]
  `,
    'make',
  );
  const [zoned, early, local, day] = py.toJS<[Date, Date, Date, unknown]>(make());
  equal(zoned.toISOString(), '2024-02-03T04:05:06.007Z');
  equal(early.getTime(), -1);
  equal(local.getTime(), new Date(2024, 1, 3, 4, 5).getTime(), 'without a zone it is local time');
  ok(isPyObject(day));
});

testWith(pythonMissing, 'cycles and deep values are errors that say so', () => {
  const cycle = define(
    `
    cycle = {'a': [1]}
    cycle['a'].append({'b': cycle, 'c': cycle})
  `,
    'cycle',
  );
  throws('ValueError', 'a value that does not contain itself for object but received one that does; convert', () =>
    py.toJS(cycle),
  );
  const deep = define(
    `
    deep = []
    for i in range(250):
        deep = [deep]
    shared = [[1]] * 2
  `,
    'deep',
  );
  throws('ValueError', 'a value of at most 200 levels for object but received a deeper one; convert its parts', () =>
    py.toJS(deep),
  );
  ok(Array.isArray(py.toJS(deep, { depth: 251 })));
  throws('ValueError', 'at most 250 levels', () => py.toJS(deep, { depth: 250 }));
  equal(converted('shared'), [[1], [1]], 'twice is no cycle');
  throws('ValueError', 'from 1 to 1000', () => py.toJS(deep, { depth: 0 }));
  throws('TypeError', "did you mean 'depth'", () => py.toJS(deep, { dept: 1 } as never));
});

testWith(pythonMissing, 'what Python raises, and a tensor that cannot be imported, leave nothing behind', async () => {
  const make = define(
    `
    import numpy
    class Bad:
        def __dlpack__(self, **options):
            raise ValueError('not today')
        def __dlpack_device__(self):
            return (1, 0)
    def make():
        return [numpy.zeros(1000), Bad()]
  `,
    'make',
  );
  const object = make();
  await settleUntil(() => true);
  const { imports } = liveCounts();
  throws('PythonError', 'not today', () => py.toJS(object));
  equal(liveCounts().imports, imports);
});

testWith(pythonMissing, 'the object stays alive, and its parts are released', async () => {
  const make = define(
    `
    import numpy
    def make():
        return [numpy.zeros(8) for i in range(50)]
  `,
    'make',
  );
  const list = make();
  const { objects } = liveCounts();
  for (const tensor of py.toJS<Tensor[]>(list)) tensor.dispose();
  equal(list.__len__(), 50);
  ok(await settleUntil(() => liveCounts().objects <= objects + 5), `${liveCounts().objects - objects} more`);
});

testWith(
  probe('ml_dtypes').missing,
  'dtypes and devices of Python become names that every function of this package takes',
  () => {
    const make = define(
      `
    import numpy, ml_dtypes
    class DType:
        def __init__(self, *numbers):
            self.numbers = numbers
        def __dlpack_data_type__(self):
            return self.numbers
    class Device:
        def __dlpack_device__(self):
            return (2, 3)
    def make():
        other = numpy.dtype('>f4'), numpy.dtype('U3'), numpy.dtype([('a', 'f4')]), numpy.dtype('longdouble')
        known = numpy.dtype('float32'), numpy.zeros(1, ml_dtypes.bfloat16).dtype
        return [[*known, DType(2, 16, 1), DType(17, 4, 2), Device()], other]
  `,
      'make',
    );
    const [known, other] = py.toJS<[string[], unknown[]]>(make());
    equal(known, ['float32', 'bfloat16', 'float16', 'float4_e2m1fnx2', 'cuda:3']);
    equal(other.map(isPyObject), [true, true, true, true]);
    equal(Tensor.from([1, 2]).astype(py.toJS<DType>(evaluate('numpy.dtype("int16")'))).dtype, 'int16');
    throws('UnsupportedDTypeError', '99', () => converted('DType(99, 8, 1)'));
  },
);

testWith(torch.missing, 'dtypes and devices of PyTorch become names', () => {
  equal(converted('__import__("torch").float32'), 'float32');
  equal(converted('__import__("torch").float4_e2m1fn_x2'), 'float4_e2m1fnx2');
  equal(converted('[__import__("torch").device(name) for name in ("cpu", "cuda", "cuda:1")]'), [
    'cpu',
    'cuda:0',
    'cuda:1',
  ]);
  ok(isPyObject(converted('__import__("torch").quint8')));
  ok(isPyObject(converted('__import__("torch").device("meta")')));
});

testWith(pythonMissing, 'JSON of a Python object names toJS', () => {
  throws('TypeError', 'received a Python object; convert it first: py.toJS(x)', () => JSON.stringify(evaluate('[1]')));
  equal(JSON.stringify(converted('[{"label": "cat", "score": 0.5}]')), '[{"label":"cat","score":0.5}]');
});
