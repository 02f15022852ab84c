/** Spans where tensors go: Python and TVM-FFI calls, without a copy. */

import { Tensor } from 'dlpack';
import { extents, hostMdspan, layoutLeft, layoutStrideRelaxed, submdspan } from 'dlpack/mdspan';
import { addressOf } from 'dlpack/native';
import { equal, ok } from '../../assert.js';
import { testWith } from '../../harness.js';
import { probe, py, value } from '../python/available.js';
import { ffiMissing, testing } from '../tvm-ffi/peer.js';

const numpy = probe('numpy');

testWith(numpy.missing, 'a span is NumPy’s array: same address, column-major strides, writes seen', () => {
  const x = Tensor.from([1, 2, 3, 4, 5, 6], { dtype: 'float32' });
  const span = hostMdspan(x, layoutLeft(extents(2, 3)));
  const a = numpy.module.from_dlpack(span);
  equal([...a.strides].map(Number), [4, 8]);
  equal(BigInt(value<number>(a.ctypes.data)), addressOf(x));
  equal(String(a.tolist()), '[[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]]');
  py.setItem(a, py.tuple(1, 2), 60);
  equal(span.get(1, 2), 60);
  span.set(0, 0, 10);
  equal(value(py.getItem(a, py.tuple(0, 0)).item()), 10);
});

testWith(numpy.missing, 'a reversed and a sliced span', () => {
  const x = Tensor.from([1, 2, 3, 4], { dtype: 'int32' });
  const reversed = hostMdspan(x, layoutStrideRelaxed(extents(4), [-1], 3));
  equal(String(numpy.module.from_dlpack(reversed).tolist()), '[4, 3, 2, 1]');
  const row = submdspan(hostMdspan(x, layoutLeft(extents(2, 2))), 1, [0, 2]);
  equal(String(numpy.module.from_dlpack(row).tolist()), '[2, 4]');
});

testWith(ffiMissing, 'a span goes into a TVM-FFI call', () => {
  const echo = testing('echo');
  const x = Tensor.from([1, 2, 3, 4], { dtype: 'float32' });
  const back = echo(hostMdspan(x, layoutLeft(extents(2, 2)))) as Tensor<'float32'>;
  ok(back instanceof Tensor);
  equal([back.strides, addressOf(back)], [[1, 2], addressOf(x)]);
  back.set(1, 0, 20);
  equal(x.get(1), 20);
});
