import { fromDLPack } from 'dlpack';
import {
  dims,
  extents,
  fullExtent,
  hostMdspan,
  layoutStride,
  layoutStrideRelaxed,
  submdspan,
  toDLPackTensor,
} from 'dlpack/mdspan';
import { equal, throws } from '../../assert.js';
import { test } from '../../harness.js';

test('a span repeats a row more than 2^53 times, and takes bigint indices', () => {
  const rows = 2n ** 60n + 1n;
  const span = hostMdspan(new Int32Array([1, 2, 3]), layoutStrideRelaxed(dims([rows, 3]), [0, 1]));
  equal(span.size, 3n * rows);
  equal([span.get(rows - 1n, 2), span.get(5, 1n)], [3, 2]);
  span.set(2n ** 59n, 0, 7);
  equal(span.get(0, 0), 7);
  throws('IndexError', 'from 0 to 1152921504606846976', () => span.get(rows, 0));
  throws('IndexError', '-1n', () => span.get(-1n, 0));
  throws('IndexError', 'axis 0', () => span.get(2 ** 55, 0)); // a number that is not exact
  throws('IndexError', 'axis 0', () => hostMdspan(new Int32Array(3), extents(3)).get(1n as never));
  const row = submdspan(span, 4, fullExtent);
  equal([...row], [7, 2, 3]);
  const columns = submdspan(span, fullExtent, [1, 3]);
  equal([columns.extent(0), columns.get(rows - 1n, 1)], [rows, 3]);
  throws('IndexError', 'from 0 to 1152921504606846976', () => submdspan(span, -1, 0));
});

test('a tensor has only numbers, so a span beyond 2^53 is not a producer', () => {
  const span = hostMdspan(new Int32Array(3), layoutStride(dims([1n, 3]), [2n ** 60n, 1]));
  equal([...(toDLPackTensor(span).get().strides as BigInt64Array)], [2n ** 60n, 1n]);
  throws('LayoutError', '2^53 - 1 for a tensor', () => fromDLPack(span));
  const small = hostMdspan(new Int32Array([1, 2, 3]), dims([1n, 3]));
  equal([...fromDLPack(small).shape], [1, 3]);
});
