import { dims, dynamic, Extents, extents } from 'dlpack/mdspan';
import { equal, ok, throws } from '../../assert.js';
import { test } from '../../harness.js';

test('static and dynamic lengths', () => {
  const e = extents(dynamic(2), 3, 4);
  equal(e.rank, 3);
  equal(e.rankDynamic, 1);
  equal([...e.lengths], [2, 3, 4]);
  equal([e.extent(0), e.extent(2)], [2, 4]);
  equal([e.staticExtent(0), e.staticExtent(1), e.staticExtent(2)], [null, 3, 4]);
  equal(e.size, 24);
  equal(String(e), 'extents(dynamic(2), 3, 4)');
  ok(Object.isFrozen(e.lengths), 'lengths are frozen');
});

test('rank 0 has one element, an empty axis none', () => {
  equal(extents().rank, 0);
  equal(extents().size, 1);
  equal(extents(3, 0).size, 0);
});

test('dims are all dynamic', () => {
  const e = dims([2, 3]);
  equal(e.rankDynamic, 2);
  equal(e.staticExtent(1), null);
  equal([...e.lengths], [2, 3]);
});

test('comparison compares lengths, static or dynamic', () => {
  ok(extents(2, 3).equals(dims([2, 3])));
  ok(extents(2, 3).equals(extents(2, dynamic(3)).withIndexType('int8')));
  ok(!extents(2, 3).equals(extents(2, 4)));
  ok(!extents(2, 3).equals(extents(2, 3, 1)));
  ok(!extents().equals(extents(1)));
  ok(!extents(2).equals([2] as never));
});

test('the index type must hold every length', () => {
  equal(extents(2).indexType, 'uint64');
  const e = extents(127).withIndexType('int8');
  equal(e.indexType, 'int8');
  equal(e.staticExtent(0), 127);
  throws('ValueError', 'representable as index type int8', () => extents(128).withIndexType('int8'));
  equal(extents(255).withIndexType('uint8').extent(0), 255);
  throws('ValueError', 'int8, uint8', () => extents(2).withIndexType('float32' as never));
  throws('ValueError', 'toString', () => extents(2).withIndexType('toString' as never));
});

test('axes outside the rank are refused', () => {
  throws('IndexError', 'from 0 to 1', () => extents(2, 3).extent(2));
  throws('IndexError', '-1', () => extents(2, 3).staticExtent(-1));
  throws('IndexError', '0.5', () => extents(2, 3).extent(0.5));
  throws('IndexError', 'from 0 to -1', () => extents().extent(0));
});

test('invalid lengths are refused', () => {
  throws('ValueError', 'zero or more', () => dynamic(-1));
  throws('ValueError', 'zero or more', () => dynamic(1.5));
  throws('ValueError', 'zero or more', () => dynamic(Number.NaN));
  throws('ValueError', 'extent is too large', () => dynamic(2n ** 63n));
  throws('ValueError', 'extent is too large', () => dynamic(2 ** 53));
  throws('ValueError', 'extent is too large', () => dynamic(Number.POSITIVE_INFINITY));
  equal(dynamic(2n ** 53n - 1n).length, Number.MAX_SAFE_INTEGER);
  throws('TypeError', "'3' (string)", () => dynamic('3' as never));
  throws('TypeError', 'extent 1', () => extents(2, '3' as never));
  throws('ValueError', 'extent 0', () => extents(-1 as never));
  throws('TypeError', 'dims', () => dims(3 as never));
  throws('LayoutError', '2^53 - 1', () => dims([2 ** 30, 2 ** 30]));
  throws('LayoutError', '64 axes', () => dims(new Array<number>(65).fill(1)));
});

test('lengths that were given as bigints are exact beyond 2^53', () => {
  const odd = 2n ** 53n + 1n;
  const e = extents(dynamic(odd), 3);
  equal([...e.lengths], [odd, 3]);
  equal(e.size, 3n * odd);
  equal([e.extent(0), e.staticExtent(0), e.staticExtent(1)], [odd, null, 3]);
  equal(extents(9007199254740993n, 0).staticExtent(0), odd);
  equal(extents(9007199254740993n, 0).size, 0);
  equal(String(e), 'extents(dynamic(9007199254740993), 3)');
  equal(dims([2n ** 30n, 2 ** 30]).size, 2n ** 60n);
  ok(e.equals(dims([odd, 3])) && !e.equals(dims([odd + 1n, 3])), 'a rounded comparison would find both equal');
  equal(e.withIndexType('int64').extent(0), odd);
});

test('bigints that a number holds become numbers', () => {
  const e = extents(dynamic(2n), 3n);
  equal([...e.lengths, e.size], [2, 3, 6]);
  equal([e.staticExtent(0), e.staticExtent(1)], [null, 3]);
  ok(e.usesBigInt && !extents(2, 3).usesBigInt);
  ok(e.equals(extents(2, 3)));
  throws('ValueError', 'index type int8', () => extents(200n).withIndexType('int8'));
  throws('ValueError', 'index type uint32', () => extents(9007199254740993n, 0).withIndexType('uint32'));
});

test('bigints end at 2^63 - 1, as in DLPack', () => {
  equal(dims([2n ** 63n - 1n]).size, 2n ** 63n - 1n);
  throws('LayoutError', '2^63 - 1', () => dims([2n ** 32n, 2n ** 31n]));
  throws('ValueError', '2^63 - 1', () => dims([2n ** 63n]));
  throws('ValueError', 'extent is too large', () => extents(9223372036854775808n));
  throws('ValueError', 'zero or more', () => dynamic(-1n));
  throws('ValueError', 'zero or more', () => dims([-1n, 2]));
  throws('ValueError', '2^53 - 1', () => dims([2n, 2 ** 53]));
  throws('ValueError', 'extents[1]', () => dims([2n, 1.5]));
  throws('LayoutError', '64 axes', () => dims(new Array<bigint>(65).fill(1n)));
});

test('extents are instances of an exported class', () => {
  ok(extents(1) instanceof Extents);
  throws('TypeError', '2 booleans', () => new Extents([1, 2], [true]));
  throws('TypeError', '2 booleans', () => new Extents([1, 2], undefined as never));
});
