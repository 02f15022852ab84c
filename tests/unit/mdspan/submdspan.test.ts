import {
  dynamic,
  extents,
  fullExtent,
  hostMdspan,
  type LayoutMapping,
  layoutLeft,
  layoutStride,
  layoutStrideRelaxed,
  stridedSlice,
  submdspan,
} from 'dlpack/mdspan';
import { equal, ok, throws } from '../../assert.js';
import { test } from '../../harness.js';

const counted = (n: number) => Float32Array.from({ length: n }, (_, i) => i);
const layoutOf = (span: { mapping: object }) => (span.mapping as { layout?: string }).layout;

test('an index drops its axis, a range narrows it, fullExtent keeps it', () => {
  const span = hostMdspan(counted(24), extents(2, 3, 4));
  const part = submdspan(span, 1, [1, 3], fullExtent);
  equal([...part.shape], [2, 4]);
  equal([...part], [16, 17, 18, 19, 20, 21, 22, 23]);
  equal(submdspan(span, 1, 2, 3).get(), 23);
  equal([...submdspan(span, fullExtent, 0, stridedSlice({ offset: 1, extent: 3, stride: 2 }))], [1, 3, 13, 15]);
});

test('a part shares the memory', () => {
  const data = counted(6);
  const row = submdspan(hostMdspan(data, extents(2, 3)), 1, fullExtent);
  row.set(2, 50);
  equal(data[5], 50);
  data[3] = 30;
  equal(row.get(0), 30);
});

test('static lengths survive fullExtent only', () => {
  const span = hostMdspan(counted(24), extents(2, dynamic(3), 4));
  const part = submdspan(span, [0, 2], fullExtent, fullExtent);
  equal(
    [0, 1, 2].map((axis) => part.extents.staticExtent(axis)),
    [null, null, 4],
  );
});

test('layoutRight is kept for outer blocks', () => {
  const span = hostMdspan(counted(24), extents(2, 3, 4));
  equal(layoutOf(submdspan(span, 1, [0, 2], fullExtent)), 'layoutRight');
  equal(layoutOf(submdspan(span, fullExtent, fullExtent, fullExtent)), 'layoutRight');
  equal(layoutOf(submdspan(span, 1, 1, [1, 3])), 'layoutRight');
  equal(layoutOf(submdspan(span, 1, 1, 1)), 'layoutRight');
  equal(layoutOf(submdspan(span, fullExtent, [0, 2], fullExtent)), 'layoutStride');
  equal(layoutOf(submdspan(span, fullExtent, fullExtent, 1)), 'layoutStride');
  equal(layoutOf(submdspan(span, stridedSlice({ offset: 0, extent: 2, stride: 1 }), 0, 0)), 'layoutStride');
});

test('layoutLeft is kept for outer blocks, which are slices of the last axes', () => {
  const span = hostMdspan(counted(24), layoutLeft(extents(2, 3, 4)));
  const part = submdspan(span, fullExtent, [1, 3], 2);
  equal(layoutOf(part), 'layoutLeft');
  equal([...part], [14, 16, 15, 17]);
  equal(layoutOf(submdspan(span, 1, [0, 2], fullExtent)), 'layoutStride');
});

test('parts of strided and relaxed spans', () => {
  const strided = hostMdspan(counted(40), layoutStride(extents(3, 4), [12, 2]));
  const part = submdspan(strided, [1, 3], stridedSlice({ offset: 0, extent: 4, stride: 3 }));
  equal(layoutOf(part), 'layoutStride');
  equal([...part.strides], [12, 6]);
  equal([...part], [12, 18, 24, 30]);
  const relaxed = hostMdspan(counted(6), layoutStrideRelaxed(extents(2, 3), [-3, -1], 5));
  const reversed = submdspan(relaxed, fullExtent, [1, 3]);
  equal(layoutOf(reversed), 'layoutStrideRelaxed');
  equal([...reversed], [4, 3, 1, 0]);
  equal(submdspan(relaxed, 1, 2).get(), 0);
});

test('empty parts', () => {
  const span = hostMdspan(counted(6), extents(2, 3));
  const part = submdspan(span, [2, 2], fullExtent);
  equal([[...part.shape], [...part]], [[0, 3], []]);
  equal([...submdspan(span, fullExtent, [3, 3]).shape], [2, 0]);
  equal([...submdspan(span, 1, stridedSlice({ offset: 3, extent: 0, stride: 5 })).shape], [0]);
  const empty = hostMdspan(counted(0), extents(2, 0, 3));
  equal([...submdspan(empty, fullExtent, fullExtent, 0).shape], [2, 0]);
});

test('one element keeps the stride of its axis', () => {
  const span = hostMdspan(counted(6), layoutStride(extents(3), [2]));
  equal(submdspan(span, stridedSlice({ offset: 1, extent: 1, stride: 3 })).stride(0), 2);
});

test('slices outside the extents are refused', () => {
  const span = hostMdspan(counted(6), extents(2, 3));
  throws('IndexError', 'slice 0', () => submdspan(span, 2, 0));
  throws('IndexError', 'slice 1', () => submdspan(span, 0, -1));
  throws('IndexError', 'inside 0 to 3', () => submdspan(span, 0, [0, 4]));
  throws('IndexError', 'inside 0 to 3', () => submdspan(span, 0, [2, 1]));
  throws('IndexError', 'inside 0 to 3', () => submdspan(span, 0, [-1, 1]));
  throws('IndexError', 'inside 0 to 3', () => submdspan(span, 0, [0, 1.5]));
  throws('IndexError', 'inside 0 to 3', () => submdspan(span, 0, stridedSlice({ offset: 2, extent: 2, stride: 1 })));
  throws('IndexError', 'Expected 2 slices', () => submdspan(span, ...([0] as never as [number, number])));
  throws('TypeError', 'slice 1', () => submdspan(span, 0, 'all' as never));
  throws('TypeError', 'slice 1', () => submdspan(span, 0, [1] as never));
  throws('TypeError', 'an mdspan', () => submdspan([] as never as typeof span, 0, 0));
  throws('ValueError', 'stride', () => stridedSlice({ offset: 0, extent: 1, stride: 0 }));
  throws('TypeError', 'slice', () => stridedSlice(undefined as never));
  throws('ValueError', 'extent', () => stridedSlice({ offset: 0, extent: -1, stride: 1 }));
});

test('a user-written layout defines its own parts', () => {
  const base: LayoutMapping<readonly [4]> = {
    extents: extents(4),
    requiredSpanSize: 16,
    isUnique: true,
    isExhaustive: false,
    isStrided: false,
    offsetAt: (i) => i * i,
  };
  const span = hostMdspan(counted(16), base);
  equal([...span], [0, 1, 4, 9]);
  throws('LayoutError', 'part() method', () => submdspan(span, [1, 3]));
  const able: LayoutMapping<readonly [4]> = {
    ...base,
    part: ([axis]) => ({ mapping: layoutStride(extents(), []), offset: (axis?.start ?? 0) ** 2 }),
  };
  const part = submdspan(hostMdspan(counted(16), able), 3);
  equal(part.get(), 9);
  ok(part.rank === 0);
});
