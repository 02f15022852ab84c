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

test('stride: exhaustive without elements, as the standard has it', () => {
  equal(layoutStride(extents(0), [1]).isExhaustive, true);
  equal(layoutStride(extents(0), [2]).isExhaustive, false);
  equal(layoutStride(extents(0, 3), [3, 1]).isExhaustive, true);
  equal(layoutStride(extents(3, 0), [5, 1]).isExhaustive, false);
});

test('relaxed: zero strides repeat, negative ones go back from an offset', () => {
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

test('arguments of the wrong kind are refused', () => {
  throws('TypeError', 'extents(...)', () => layoutRight([2, 3] as never));
  throws('TypeError', 'extents(...)', () => layoutLeft(null as never));
  throws('TypeError', 'strides', () => layoutStride(extents(2), undefined as never));
  throws('LayoutError', 'Expected 2 strides', () => layoutStride(extents(2, 3), [1] as never));
  throws('ValueError', 'strides[0]', () => layoutStrideRelaxed(extents(2), [1.5]));
  throws('ValueError', 'strides[0]', () => layoutStrideRelaxed(extents(2), [2 ** 53]));
  throws('IndexError', 'from 0 to 1', () => layoutRight(extents(2, 3)).stride(2));
});
