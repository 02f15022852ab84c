/**
 * Tensors that cannot be exchanged, and why: the peers' limits as data. The suite fails when a cell differs from its row, also
 * when it differs because the peer improved, and when a row applies to no cell.
 */

import type { Cell } from '../../../../src/cli/python-matrix/cells.js';

export interface Known {
  readonly peers: readonly string[];
  readonly direction?: Cell['direction'];
  readonly when: (cell: Cell) => boolean;
  /** The situation in words, for the document. */
  readonly what: string;
  readonly outcome: string;
  /** Part of the error's message. */
  readonly message?: string;
  readonly why: string;
  readonly link: string;
}

const fromDlpackText = 'https://data-apis.org/array-api/latest/API_specification/generated/array_api.from_dlpack.html';
const python = 'https://dmlc.github.io/dlpack/latest/python_spec.html';

const isLegacy = ({ route }: Cell) => route === '__dlpack__()' || route === 'from_dlpack, legacy';
const isIn =
  (...names: string[]) =>
  ({ dtype }: Cell) =>
    names.includes(dtype.name);
const hasLayout =
  (...names: string[]) =>
  ({ layout }: Cell) =>
    names.includes(layout.name);

const wide = isIn('int64', 'uint64', 'float64', 'complex128');
const float8OfJax = isIn('float8_e3m4', 'float8_e4m3', 'float8_e4m3b11fnuz');
const isFlipped = hasLayout('negative stride');
const unknownToTorch = (cell: Cell) =>
  float8OfJax(cell) || isIn('float6_e2m3fn', 'float6_e3m2fn', 'float4_e2m1fn', 'int4', 'uint4')(cell);
const isBcomplex = isIn('bcomplex32');
/** PyTorch would refuse, up to 2.13 end the process, or write to read-only memory. */
const unfitForTorch = (cell: Cell) => isFlipped(cell) || cell.readonly;
const unknownToJax = isIn(
  'complex32',
  'bcomplex32',
  'float6_e2m3fn',
  'float6_e3m2fn',
  'float4_e2m1fn',
  'float4_e2m1fnx2',
  'int4',
  'uint4',
);
const isComplex = ({ dtype }: Cell) => /^b?complex/.test(dtype.name);
const isNarrow = ({ dtype }: Cell) => dtype.bits < 8;
const ofArrow = ({ dtype }: Cell) => /^(u?int(8|16|32|64)|float(16|32|64))$/.test(dtype.name);
const scattered = hasLayout('gaps', 'negative stride', 'stride of zero', 'overlapping');

/** In order: the first row that applies to a cell decides. */
export const known: readonly Known[] = [
  // Tensors that a peer cannot hold.
  {
    peers: ['PyTorch', 'JAX', 'TVM-FFI', 'Arrow Array'],
    direction: 'to JavaScript',
    when: ({ readonly }) => readonly,
    what: 'a tensor marked as read-only',
    outcome: 'absent',
    why: 'these libraries have no such mark: PyTorch and TVM-FFI tensors are all writable, JAX and Arrow arrays all immutable',
    link: 'https://github.com/data-apis/array-api/issues/191',
  },
  {
    peers: ['PyTorch', 'Arrow Tensor'],
    direction: 'to JavaScript',
    when: isFlipped,
    what: 'a negative stride',
    outcome: 'absent',
    why: 'their tensors cannot have one',
    link: 'https://github.com/pytorch/pytorch/issues/188023',
  },
  {
    peers: ['PyTorch'],
    direction: 'to JavaScript',
    when: unknownToTorch,
    what: 'float8_e3m4, float8_e4m3, float8_e4m3b11fnuz, float6, one float4, int4',
    outcome: 'absent',
    why: 'PyTorch has no such dtype; its float4 is a pair, its int4 a placeholder of eight bits',
    link: 'https://github.com/dmlc/dlpack/issues/158',
  },
  {
    peers: ['PyTorch'],
    direction: 'to JavaScript',
    when: isBcomplex,
    what: 'bcomplex32',
    outcome: 'refused: BufferError',
    message: 'BComplex32 type is not supported',
    why: 'PyTorch 2.15 has the dtype, and its DLPack does not; `t.to(torch.complex64)` is a copy',
    link: 'https://github.com/dmlc/dlpack/issues/184',
  },
  {
    peers: ['JAX'],
    direction: 'to JavaScript',
    when: wide,
    what: '64-bit dtypes',
    outcome: 'absent',
    why: 'JAX has them with jax_enable_x64 only',
    link: 'https://docs.jax.dev/en/latest/default_dtypes.html',
  },
  {
    peers: ['JAX'],
    direction: 'to JavaScript',
    when: unknownToJax,
    what: 'complex32, bcomplex32, float6, float4, int4',
    outcome: 'absent',
    why: 'JAX does not take them by DLPack, or does not have them',
    link: 'https://github.com/dmlc/dlpack/issues/158',
  },
  {
    peers: ['JAX'],
    direction: 'to JavaScript',
    when: (cell) => scattered(cell) || hasLayout('offset')(cell),
    what: 'gaps, overlap, an offset',
    outcome: 'absent',
    why: 'JAX arrays are compact and begin at 64 bytes',
    link: 'https://github.com/jax-ml/jax/issues/29810',
  },
  {
    peers: ['Arrow Tensor', 'Arrow Array'],
    direction: 'to JavaScript',
    when: (cell) => !ofArrow(cell),
    what: 'bool, complex, bfloat16 and everything narrower than eight bits',
    outcome: 'absent',
    why: 'Arrow tensors hold integers and floats of 8 to 64 bits; its bool is one bit',
    link: 'https://arrow.apache.org/docs/python/dlpack.html',
  },
  {
    peers: ['Arrow Array'],
    direction: 'to JavaScript',
    when: ({ layout }) => layout.name !== 'vector',
    what: 'anything but one compact axis',
    outcome: 'absent',
    why: 'an Arrow array is a column',
    link: 'https://arrow.apache.org/docs/python/dlpack.html',
  },
  {
    peers: ['NumPy 1'],
    direction: 'to JavaScript',
    when: hasLayout('40 axes'),
    what: 'more than 32 axes',
    outcome: 'absent',
    why: 'NumPy 2 raised the limit to 64',
    link: 'https://numpy.org/doc/stable/release/2.0.0-notes.html',
  },
  // Requests that a peer does not support.
  {
    peers: ['NumPy 1', 'TVM-FFI', 'PyTorch'],
    direction: 'from JavaScript',
    when: ({ peer, route, copy }) =>
      copy !== null && (peer === 'TVM-FFI' || route === 'as_tensor' || (peer === 'NumPy 1' && route === 'from_dlpack')),
    what: '`copy=` as an argument of its function',
    outcome: 'absent',
    why: 'the function has no such argument; pass `tensor.copy()`',
    link: fromDlpackText,
  },
  {
    peers: ['NumPy'],
    direction: 'from JavaScript',
    when: (cell) => isLegacy(cell) && cell.copy !== null,
    what: '`copy=` of a producer without keywords',
    outcome: 'refused: TypeError',
    message: 'unexpected keyword',
    why: 'NumPy asks again without keywords only when none was wanted; this package knows the keywords',
    link: fromDlpackText,
  },
  // Read-only.
  {
    peers: ['NumPy', 'NumPy 1', 'ml_dtypes'],
    direction: 'to JavaScript',
    when: (cell) => cell.readonly && (isLegacy(cell) || cell.peer === 'NumPy 1'),
    what: 'a read-only array in a legacy capsule',
    outcome: 'refused: BufferError',
    message: 'readonly',
    why: 'a legacy capsule cannot say read-only, so NumPy refuses; NumPy 2 has the new one',
    link: 'https://github.com/numpy/numpy/issues/20742',
  },
  {
    peers: ['Arrow Tensor'],
    direction: 'to JavaScript',
    when: (cell) => cell.readonly && isLegacy(cell),
    what: 'an immutable tensor in a legacy capsule',
    outcome: 'refused: ArrowNotImplementedError',
    message: 'immutable',
    why: 'a legacy capsule cannot say read-only',
    link: python,
  },
  {
    peers: ['JAX', 'Arrow Array'],
    direction: 'to JavaScript',
    when: (cell) => isLegacy(cell) && cell.copy !== true,
    what: 'an immutable array in a legacy capsule of an object that hides its type',
    outcome: 'shared; read-only lost',
    why: 'a legacy capsule cannot say read-only; JAX and Arrow say it in the new one',
    link: 'https://github.com/jax-ml/jax/issues/40789',
  },
  {
    peers: ['PyTorch'],
    direction: 'from JavaScript',
    when: (cell) => isLegacy(cell) && unfitForTorch(cell) && !unknownToTorch(cell) && !isBcomplex(cell),
    what: 'a negative stride, or read-only, through an object without keywords',
    outcome: 'copied',
    why: 'PyTorch has no such tensors: it would refuse (up to 2.13 end the process), or write. It gets a copy, also with `copy=False`, which never reached this package',
    link: 'https://github.com/pytorch/pytorch/issues/188023',
  },
  {
    peers: ['NumPy', 'NumPy 1', 'TVM-FFI'],
    direction: 'from JavaScript',
    when: (cell) => cell.readonly && (isLegacy(cell) || (cell.peer === 'NumPy 1' && cell.route === 'from_dlpack')),
    what: 'a read-only tensor in a legacy capsule',
    outcome: 'refused: BufferError',
    message: 'read-only tensor',
    why: 'a legacy capsule cannot say read-only; pass `tensor.copy()`',
    link: python,
  },
  // Layouts and dtypes.
  {
    peers: ['PyTorch'],
    direction: 'from JavaScript',
    when: (cell) => unfitForTorch(cell) && cell.copy === false && !isLegacy(cell),
    what: 'a negative stride, or read-only, with `copy=False`',
    outcome: 'refused: BufferError',
    message: 'negative strides',
    why: 'PyTorch has no such tensors: it would refuse (up to 2.13 end the process), or write; this package refuses first',
    link: 'https://github.com/pytorch/pytorch/issues/188023',
  },
  {
    peers: ['PyTorch'],
    direction: 'from JavaScript',
    when: unknownToTorch,
    what: 'float8_e3m4, float8_e4m3, float8_e4m3b11fnuz, float6, one float4, int4',
    outcome: 'refused: BufferError',
    message: 'Unsupported',
    why: 'PyTorch has no such dtype; its float4 is a pair: `float4_e2m1fnx2`',
    link: 'https://github.com/dmlc/dlpack/issues/158',
  },
  {
    peers: ['PyTorch'],
    direction: 'from JavaScript',
    when: isBcomplex,
    what: 'bcomplex32',
    outcome: 'refused: BufferError',
    message: 'Unsupported code 18',
    why: "PyTorch 2.15 has the dtype, and its DLPack does not; `x.astype('complex64')` is a copy",
    link: 'https://github.com/dmlc/dlpack/issues/184',
  },
  {
    peers: ['PyTorch'],
    direction: 'from JavaScript',
    when: (cell) => unfitForTorch(cell) && cell.copy === null,
    what: 'a negative stride, or read-only',
    outcome: 'copied',
    why: 'PyTorch tensors cannot have one and cannot be read-only',
    link: 'https://github.com/pytorch/pytorch/issues/188023',
  },
  {
    peers: ['TVM-FFI'],
    direction: 'from JavaScript',
    when: (cell) => cell.readonly && cell.copy !== true && !isComplex(cell),
    what: 'a read-only tensor',
    outcome: 'shared; read-only lost',
    why: 'it has no read-only tensors and ignores the mark, as the standard allows: do not write there',
    link: 'https://github.com/data-apis/array-api/pull/749',
  },
  {
    peers: ['NumPy'],
    direction: 'from JavaScript',
    when: isLegacy,
    what: 'a writable tensor in a legacy capsule',
    outcome: 'shared; read-only imposed',
    why: 'NumPy takes every legacy capsule as read-only',
    link: 'https://github.com/numpy/numpy/pull/28600',
  },
  {
    peers: ['NumPy 1'],
    direction: 'from JavaScript',
    when: ({ layout, route }) => layout.name === '40 axes' && route !== 'asarray, array interface',
    what: 'more than 32 axes',
    outcome: 'refused: RuntimeError',
    message: 'dim',
    why: 'NumPy 2 raised the limit to 64',
    link: 'https://numpy.org/doc/stable/release/2.0.0-notes.html',
  },
  {
    peers: ['NumPy 1'],
    direction: 'from JavaScript',
    when: hasLayout('40 axes'),
    what: 'more than 32 axes, by the array interface',
    outcome: 'refused: ValueError',
    message: 'number of dimensions',
    why: 'NumPy 2 raised the limit to 64',
    link: 'https://numpy.org/doc/stable/release/2.0.0-notes.html',
  },
  {
    peers: ['NumPy 1'],
    direction: 'from JavaScript',
    when: ({ route }) => route === 'from_dlpack',
    what: 'a writable tensor by `from_dlpack`',
    outcome: 'shared; read-only imposed',
    why: 'NumPy takes every legacy capsule as read-only, and NumPy 1 knows no other; `np.asarray(tensor)` is writable',
    link: 'https://github.com/numpy/numpy/pull/28600',
  },
  {
    peers: ['ml_dtypes'],
    direction: 'to JavaScript',
    when: (cell) => isLegacy(cell) && isNarrow(cell),
    what: 'float6, float4, int4 through an object that hides the array',
    outcome: 'refused: BufferError',
    message: 'DLPack only supports',
    why: 'NumPy exports registered dtypes of whole bytes only; of arrays themselves this package takes the memory another way',
    link: 'https://github.com/numpy/numpy/pull/31256',
  },
  {
    peers: ['ml_dtypes'],
    direction: 'from JavaScript',
    when: (cell) => cell.route === 'from_dlpack' && isNarrow(cell),
    what: 'float6, float4, int4 by `np.from_dlpack`',
    outcome: 'refused: BufferError',
    message: 'Unsupported dtype',
    why: 'NumPy takes registered dtypes of whole bytes only, which this package registers: `np.asarray(tensor).view(ml_dtypes.int4)`',
    link: 'https://github.com/jax-ml/ml_dtypes/issues/376',
  },
  {
    peers: ['JAX'],
    direction: 'from JavaScript',
    when: unknownToJax,
    what: 'complex32, bcomplex32, float6, float4, int4',
    outcome: 'refused: JaxRuntimeError',
    why: 'JAX does not take them by DLPack, or does not have them; its own float4 is one element, PyTorch’s a pair',
    link: 'https://github.com/dmlc/dlpack/issues/158',
  },
  {
    peers: ['JAX'],
    direction: 'from JavaScript',
    when: scattered,
    what: 'gaps, overlap, negative strides, strides of zero',
    outcome: 'refused: JaxRuntimeError',
    message: 'compact',
    why: 'JAX takes compact tensors only: `tensor.contiguous()`',
    link: 'https://github.com/jax-ml/jax/issues/4196',
  },
  {
    peers: ['JAX'],
    direction: 'from JavaScript',
    when: (cell) => hasLayout('offset')(cell) && cell.copy === false,
    what: 'data that does not begin at 64 bytes, with `copy=False`',
    outcome: 'refused: ValueError',
    message: 'not aligned',
    why: 'XLA needs aligned data; new tensors of this package are aligned to 256, slices of them may not be',
    link: 'https://github.com/jax-ml/jax/issues/29810',
  },
  ...(['int64', 'uint64', 'float64', 'complex128'] as const).map(
    (name, i): Known => ({
      peers: ['JAX'],
      direction: 'from JavaScript',
      when: isIn(name),
      what: `${name}, with any \`copy=\``,
      outcome: `copied; as ${['int32', 'uint32', 'float32', 'complex64'][i]}`,
      why: 'without jax_enable_x64 JAX converts to 32 bits without a word',
      link: 'https://docs.jax.dev/en/latest/default_dtypes.html',
    }),
  ),
  {
    peers: ['JAX'],
    direction: 'from JavaScript',
    when: (cell) => hasLayout('offset')(cell) && cell.copy === null,
    what: 'data that does not begin at 64 bytes',
    outcome: 'copied',
    why: 'XLA needs aligned data; new tensors of this package are aligned to 256, slices of them may not be',
    link: 'https://github.com/jax-ml/jax/issues/29810',
  },
  {
    peers: ['JAX'],
    direction: 'from JavaScript',
    when: (cell) => cell.copy === true && !hasLayout('offset', 'transposed')(cell),
    what: '`copy=True` of aligned data in row-major order',
    outcome: 'shared',
    why: 'JAX does not copy although it was asked to; pass `tensor.copy()`',
    link: 'https://github.com/jax-ml/jax/pull/29963',
  },
  {
    peers: ['TVM-FFI'],
    direction: 'from JavaScript',
    when: isComplex,
    what: 'complex dtypes',
    outcome: 'refused: ValueError',
    message: 'unknown type_code=',
    why: 'its dtypes have no complex numbers; it gives them on when it got them from others',
    link: 'https://github.com/apache/tvm-ffi/blob/main/include/tvm/ffi/dtype.h',
  },
  {
    peers: ['Arrow Array'],
    direction: 'from JavaScript',
    when: ({ layout, copy }) => layout.name !== 'vector' && !(layout.name === 'negative stride' && copy === true),
    what: 'anything but one compact axis',
    outcome: 'refused: ArrowInvalid',
    message: 'one dimensional',
    why: 'an Arrow array is a column: use `pyarrow.Tensor`',
    link: 'https://github.com/apache/arrow/pull/51122',
  },
  {
    peers: ['Arrow Tensor', 'Arrow Array'],
    direction: 'from JavaScript',
    when: ({ dtype }) => dtype.lanes > 1,
    what: 'dtypes with lanes',
    outcome: 'refused: ArrowTypeError',
    message: 'one lane',
    why: 'Arrow has no vectors of elements',
    link: 'https://github.com/apache/arrow/pull/51122',
  },
  {
    peers: ['Arrow Tensor', 'Arrow Array'],
    direction: 'from JavaScript',
    when: (cell) => !ofArrow(cell),
    what: 'bool, complex, bfloat16 and everything narrower than eight bits',
    outcome: 'refused: ArrowInvalid',
    message: 'unsupported',
    why: 'Arrow tensors hold integers and floats of 8 to 64 bits; its bool is one bit',
    link: 'https://arrow.apache.org/docs/python/dlpack.html',
  },
  {
    peers: ['Arrow Tensor'],
    direction: 'from JavaScript',
    when: (cell) => isFlipped(cell) && cell.copy !== true,
    what: 'a negative stride',
    outcome: 'refused: ArrowInvalid',
    message: 'negative strides',
    why: 'Arrow tensors cannot have one: `tensor.contiguous()`, or `copy=True`',
    link: 'https://github.com/apache/arrow/pull/51122',
  },
];
