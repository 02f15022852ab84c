/** The same tensor in JavaScript, NumPy and PyTorch. */

import { type Call, parseCalls } from './calls.js';
import { build, hex } from './model.js';
import type { State } from './state.js';

const list = (value: unknown): string => (Array.isArray(value) ? `[${value.join(', ')}]` : String(value));
const tuple = (values: unknown): string =>
  Array.isArray(values) ? `(${values.join(', ')}${values.length === 1 ? ',' : ''})` : String(values);
const numbers = (text: string): number[] => (text.trim() === '' ? [] : text.split(',').map(Number));

/** The memory of the form: the state without its calls. */
function start(state: State) {
  const { dtype, bytes, room } = build({ ...state, calls: '' });
  return { dtype, bytes: [...bytes].map(hex).join(''), room };
}

export function asJavaScript(state: State): string {
  const { room, bytes } = start(state);
  const dtype = `'${state.dtype}'`;
  const memory =
    state.bytes === '' && !state.padded
      ? `Tensor.arange(${room}, 'int32').astype(${dtype}).data`
      : `Uint8Array.from([${(bytes.match(/../g) ?? []).map((pair) => `0x${pair}`).join(', ')}])`;
  const options = [
    `dtype: ${dtype}`,
    `shape: ${list(numbers(state.shape))}`,
    state.strides.trim() === '' ? '' : `strides: ${list(numbers(state.strides))}`,
    state.padded ? 'padded: true' : '',
    state.readonly ? 'readonly: true' : '',
  ].filter((option) => option !== '');
  const calls = parseCalls(state.calls).map(({ text }) => `\n  .${text}`);
  return `import { Tensor } from 'dlpack';

const memory = ${memory};
const x = Tensor.wrap(memory, { ${options.join(', ')} })${calls.join('')};
console.log(x.shape, x.strides, x.toArray());`;
}

/** `slice(null, [0, 2], 1)` is `[:, 0:2, 1]`. */
const sliceOf = (ranges: readonly unknown[]): string =>
  `[${ranges
    .map((range) => {
      if (range === null) return ':';
      if (!Array.isArray(range)) return String(range);
      const [from, to, by] = range.map((part) => (part === null ? '' : String(part)));
      return `${from ?? ''}:${to ?? ''}${by === undefined || by === '' ? '' : `:${by}`}`;
    })
    .join(', ')}]`;

const ofNumPy = /^(bool|u?int(8|16|32|64)|float(16|32|64)|complex(64|128))$/;
const ofMlDTypes = /^(u?int[24]|bfloat16|float[468]_\w+)$/;
const ofTorch =
  /^(bool|u?int(8|16|32|64)|b?float(16|32|64)|complex(32|64|128)|float8_(e4m3fn|e4m3fnuz|e5m2|e5m2fnuz|e8m0fnu))$/;

interface Dialect {
  readonly first: (state: State) => string[];
  readonly call: (call: Call) => string;
  readonly last: string;
}

const numpyType = (dtype: string): string => (ofNumPy.test(dtype) ? `np.${dtype}` : `ml_dtypes.${dtype}`);

const numpy: Dialect = {
  first(state) {
    const { dtype, bytes, room } = start(state);
    if (!ofNumPy.test(state.dtype) && !ofMlDTypes.test(state.dtype)) return [`# NumPy has no ${state.dtype}.`];
    const type = numpyType(state.dtype);
    const lines = ['import numpy as np'];
    if (type.startsWith('ml_')) lines.push('import ml_dtypes');
    if (dtype.isSubByte) lines.push('# NumPy gives each of these elements a byte of its own.');
    const isRaw = state.bytes !== '' && !dtype.isSubByte;
    lines.push(
      '',
      `memory = ${isRaw ? `np.frombuffer(bytearray.fromhex('${bytes}'), ${type})` : `np.arange(${room}).astype(${type})`}`,
    );
    const shape = tuple(numbers(state.shape));
    const size = dtype.isSubByte ? 1 : dtype.itemBits / 8;
    const strides = tuple(numbers(state.strides).map((stride) => stride * size));
    lines.push(
      state.strides.trim() === ''
        ? `x = memory.reshape(${shape})`
        : `x = np.lib.stride_tricks.as_strided(memory, ${shape}, ${strides})  # strides in bytes`,
    );
    if (state.readonly) lines.push('x.flags.writeable = False');
    return lines;
  },
  call({ method, args }) {
    const [first] = args;
    const axes = first === undefined ? '' : tuple(first);
    const calls: Record<Call['method'], string> = {
      transpose: `x.transpose(${axes})`,
      slice: `x${args.length === 0 ? '[...]' : sliceOf(args)}`,
      reshape: `x.reshape(${axes})`,
      broadcastTo: `np.broadcast_to(x, ${axes})`,
      squeeze: `x.squeeze(${axes})`,
      expandDims: `np.expand_dims(x, ${axes})`,
      flip: `np.flip(x${axes === '' ? '' : `, ${axes}`})`,
      contiguous: 'np.ascontiguousarray(x)',
      copy: 'x.copy()',
      astype: `x.astype(${numpyType(String(first))})`,
    };
    return calls[method];
  },
  last: 'print(x.shape, x.strides)',
};

const torch: Dialect = {
  first(state) {
    if (!ofTorch.test(state.dtype)) return [`# PyTorch cannot compute with ${state.dtype}.`];
    const { bytes, room } = start(state);
    const type = `torch.${state.dtype}`;
    const shape = tuple(numbers(state.shape));
    return [
      'import torch',
      '',
      `memory = ${state.bytes === '' ? `torch.arange(${room}).to(${type})` : `torch.frombuffer(bytearray.fromhex('${bytes}'), dtype=${type})`}`,
      state.strides.trim() === ''
        ? `x = memory.reshape(${shape})`
        : `x = memory.as_strided(${shape}, ${tuple(numbers(state.strides))})`,
    ];
  },
  call({ method, args }) {
    const [first] = args;
    const axes = first === undefined ? '' : tuple(first);
    const isReversed = args.some((range) => Array.isArray(range) && Number(range[2]) < 0);
    const calls: Record<Call['method'], string> = {
      transpose: `x.permute(${axes === '' ? 'tuple(reversed(range(x.ndim)))' : axes})`,
      slice: `x${args.length === 0 ? '[...]' : sliceOf(args)}${isReversed ? '  # PyTorch has no negative steps: use flip(), which copies' : ''}`,
      reshape: `x.reshape(${axes})`,
      broadcastTo: `x.broadcast_to(${axes})`,
      squeeze: `x.squeeze(${axes})`,
      expandDims: `x.unsqueeze(${axes})`,
      flip: `x.flip(${axes === '' ? 'tuple(range(x.ndim))' : axes})  # copies`,
      contiguous: 'x.contiguous()',
      copy: 'x.clone()',
      astype: `x.to(torch.${String(first)})`,
    };
    return calls[method];
  },
  last: 'print(x.shape, x.stride())',
};

/** One line for each step. A dialect without the dtype says so, in one line. */
function inPython({ first, call, last }: Dialect, state: State): string {
  const lines = first(state);
  if (lines.length === 1) return lines.join();
  return [...lines, ...parseCalls(state.calls).map((one) => `x = ${call(one)}`), last].join('\n');
}

export const asNumPy = (state: State): string => inPython(numpy, state);
export const asPyTorch = (state: State): string => inPython(torch, state);
