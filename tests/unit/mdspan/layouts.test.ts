import {
  dims,
  dynamic,
  extents,
  type LayoutMapping,
  layoutLeft,
  layoutRight,
  layoutStride,
  layoutStrideRelaxed,
} from 'dlpack/mdspan';
import { equal, ok, throws } from '../../assert.js';
import { test } from '../../harness.js';

const facts = (m: LayoutMapping) => [m.requiredSpanSize, m.isUnique, m.isExhaustive, m.isStrided];

test('right: the last axis is contiguous', () => {
  const m = layoutRight(extents(2, dynamic(3), 4));
  equal([...m.strides], [12, 4, 1]);
  equal(m.stride(1), 4);
  equal(m.offsetAt(1, 2, 3), 23);
  equal(facts(m), [24, true, true, true]);
  equal(m.layout, 'layoutRight');
});

test('left: the first axis is contiguous', () => {
  const m = layoutLeft(extents(2, 3, 4));
  equal([...m.strides], [1, 2, 6]);
  equal(m.offsetAt(1, 2, 3), 1 + 4 + 18);
  equal(facts(m), [24, true, true, true]);
});

test('rank 0 maps to one element', () => {
  for (const m of [layoutRight(extents()), layoutLeft(extents()), layoutStride(extents(), [])]) {
    equal(m.offsetAt(), 0);
    equal(facts(m), [1, true, true, true]);
  }
  equal(layoutStrideRelaxed(extents(), [], 5).offsetAt(), 5);
  equal(layoutStrideRelaxed(extents(), [], 5).requiredSpanSize, 6);
});

test('an empty axis makes the strides outside of it zero, as products in C++ do', () => {
  equal([...layoutRight(extents(2, 0, 3)).strides], [0, 3, 1]);
  equal([...layoutLeft(extents(2, 0, 3)).strides], [1, 2, 0]);
  equal(layoutRight(extents(2, 0, 3)).requiredSpanSize, 0);
});

test('stride: gaps are allowed, shared elements are not', () => {
  const m = layoutStride(extents(2, 3), [8, 2]);
  equal(m.offsetAt(1, 2), 12);
  equal(facts(m), [13, true, false, true]);
  equal(layoutStride(extents(2, 3), [1, 2]).isExhaustive, true);
  throws('LayoutError', 'unique mapping', () => layoutStride(extents(2, 3), [2, 1]));
  throws('LayoutError', 'unique mapping', () => layoutStride(extents(3, 3), [1, 1]));
  equal(layoutStride(extents(2, 1, 3), [3, 1, 1]).offsetAt(1, 0, 2), 5, 'an axis of length one cannot collide');
  throws('ValueError', 'strictly positive', () => layoutStride(extents(2, 3), [3, 0]));
  throws('ValueError', 'strictly positive', () => layoutStride(extents(2, 3), [-3, 1]));
});

test('stride: a mapping without elements is exhaustive, as in the standard', () => {
  equal(layoutStride(extents(0), [1]).isExhaustive, true);
  equal(layoutStride(extents(0), [2]).isExhaustive, false);
  equal(layoutStride(extents(0, 3), [3, 1]).isExhaustive, true);
  equal(layoutStride(extents(3, 0), [5, 1]).isExhaustive, false);
});

test('relaxed: zero strides repeat, and negative strides go back from an offset', () => {
  const repeated = layoutStrideRelaxed(extents(4, 3), [0, 1]);
  equal(repeated.offsetAt(3, 2), 2);
  equal(facts(repeated), [3, false, false, true]);
  const reversed = layoutStrideRelaxed(extents(2, 3), [-3, -1], 5);
  equal(reversed.offsetAt(0, 0), 5);
  equal(reversed.offsetAt(1, 2), 0);
  equal(facts(reversed), [6, false, false, false]);
  equal(reversed.stride(0), -3);
  equal(layoutStrideRelaxed(extents(0, 3), [-3, -1]).requiredSpanSize, 0);
});

test('relaxed: an offset must leave room for negative strides', () => {
  throws('LayoutError', 'insufficient for negative strides', () => layoutStrideRelaxed(extents(2, 3), [-3, -1], 4));
  throws('ValueError', 'nonnegative', () => layoutStrideRelaxed(extents(2), [1], -1));
  throws('ValueError', 'nonnegative', () => layoutStrideRelaxed(extents(2), [1], 0.5));
});

test('comparison of mappings', () => {
  ok(layoutRight(extents(2, 3)).equals(layoutStride(dims([2, 3]), [3, 1])));
  ok(layoutStrideRelaxed(extents(2, 3), [3, 1]).equals(layoutRight(extents(2, 3))));
  ok(!layoutStrideRelaxed(extents(2, 3), [3, 1], 1).equals(layoutRight(extents(2, 3))));
  ok(!layoutRight(extents(2, 3)).equals(layoutLeft(extents(2, 3))));
  ok(!layoutRight(extents(2, 3)).equals(layoutRight(extents(3, 2))));
  throws('TypeError', 'layout mapping', () => layoutRight(extents(2)).equals(null as never));
});

test('the span must be representable in the index type', () => {
  throws('ValueError', 'representable as index type int8', () => layoutRight(extents(40, 40).withIndexType('int8')));
  throws('ValueError', 'requiredSpanSize', () => layoutStride(extents(3).withIndexType('uint8'), [200]));
  throws('LayoutError', '2^53 - 1', () => layoutStrideRelaxed(extents(3, 3), [2 ** 52, 2 ** 52]));
});

test('layouts of extents with bigints are exact beyond 2^53', () => {
  const odd = 2n ** 53n + 1n;
  const right = layoutRight(dims([3n, odd]));
  equal([...right.strides], [odd, 1]);
  equal(right.requiredSpanSize, 3n * odd);
  equal(right.offsetAt(2, odd - 1n), 3n * odd - 1n);
  equal(right.offsetAt(0n, 5), 5);
  const stride = layoutStride(dims([2n, 3]), [odd, 2n ** 60n]);
  equal(stride.offsetAt(1, 2), odd + 2n ** 61n);
  equal(facts(stride as never), [odd + 2n ** 61n + 1n, true, false, true]);
  const relaxed = layoutStrideRelaxed(dims([2n, 3]), [-odd, 1], odd + 2n);
  equal([relaxed.offset, relaxed.offsetAt(1n, 0), relaxed.requiredSpanSize], [odd + 2n, 2, odd + 5n]);
  ok(relaxed.equals(layoutStrideRelaxed(dims([2n, 3]), [-odd, 1], odd + 2n)));
  ok(!relaxed.equals(layoutStrideRelaxed(dims([2n, 3]), [-odd, 1], odd + 3n)));
  ok(!right.equals(layoutRight(dims([3n, odd + 1n]))));
});

test('layouts of extents with bigints make the same checks', () => {
  const e = dims([2n, 3]);
  throws('LayoutError', 'unique mapping', () => layoutStride(e, [2n ** 60n, 2n ** 60n]));
  throws('ValueError', 'strictly positive', () => layoutStride(e, [2n ** 60n, 0n]));
  throws('LayoutError', 'at least 1152921504606846977', () =>
    layoutStrideRelaxed(e, [-(2n ** 60n) - 1n, 1], 2n ** 60n),
  );
  throws('ValueError', 'nonnegative', () => layoutStrideRelaxed(e, [1, 1], -1n));
  throws('ValueError', 'index type uint64', () => layoutStride(e, [1, 2n ** 62n]));
  throws('ValueError', '2^63 - 1', () => layoutStrideRelaxed(e, [2n ** 63n, 1]));
  throws('TypeError', '2 integers', () => layoutStrideRelaxed(e, [1n] as never));
  throws('TypeError', 'index 1', () => layoutRight(e).offsetAt(1, 'a' as never));
  throws('ValueError', 'index 0', () => layoutRight(e).offsetAt(0.5, 1));
  throws('TypeError', 'strides[0]', () => layoutStrideRelaxed(extents(1, 3), [2n ** 60n, 1] as never));
});

test('arguments of the wrong kind are refused', () => {
  throws('TypeError', 'extents(...)', () => layoutRight([2, 3] as never));
  throws('TypeError', 'extents(...)', () => layoutLeft(null as never));
  throws('TypeError', 'strides', () => layoutStride(extents(2), undefined as never));
  throws('LayoutError', 'Expected 2 strides', () => layoutStride(extents(2, 3), [1] as never));
  throws('ValueError', 'strides[0]', () => layoutStrideRelaxed(extents(2), [1.5]));
  throws('ValueError', 'strides[0]', () => layoutStrideRelaxed(extents(2), [2 ** 53]));
  throws('IndexError', 'from 0 to 1', () => layoutRight(extents(2, 3)).stride(2));
});
