/**
 * JavaScript memory as a descriptor: over the array as it is, or moved out of the caller's reach.
 *
 * @module
 */

import { Descriptor, Flag } from './descriptor.js';
import { cpu } from './device.js';
import { type DType, type DTypeInfo, strideBits, type TypedArray } from './dtype.js';
import { ArgumentTypeError, BufferError } from './errors.js';
import { checkShape, checkStrides, inferShape, rowMajorStrides } from './layout.js';
import { BufferStorage } from './storage.js';

/** Typed arrays that can be wrapped. */
export type WrappableArray = TypedArray | Uint8ClampedArray;

export interface FromOptions<D extends DType> {
  shape?: readonly number[];
  dtype?: D;
}

export interface WrapOptions<D extends DType> extends FromOptions<D> {
  /** In elements; row-major when absent. */
  strides?: readonly number[];
  /** Bytes from the start of the array to the first element. */
  byteOffset?: number;
  readonly?: boolean;
  /** Elements narrower than a byte lie in a byte each, as in NumPy, instead of packed. */
  padded?: boolean;
}

/** The bytes of a buffer. */
export function bytesOf(buffer: ArrayBufferLike): TypedArray {
  try {
    return new Uint8Array(buffer);
  } catch (cause) {
    throw Object.assign(new ArgumentTypeError('array', 'a typed array or an ArrayBuffer', buffer), { cause });
  }
}

/** What a typed array holds, as a tensor over its memory. */
export function describeArray(array: TypedArray, dtype: DTypeInfo, options: WrapOptions<DType>): Descriptor {
  const { buffer, byteOffset: start, byteLength } = array;
  const byteOffset = options.byteOffset ?? 0;
  if (!Number.isSafeInteger(byteOffset) || byteOffset < 0) {
    throw new ArgumentTypeError('byteOffset', 'an integer of zero or more', byteOffset);
  }
  // Alignment counts from the start of the buffer, where typed arrays count from.
  if ((start + byteOffset) % dtype.alignment !== 0) {
    throw new BufferError(
      `Expected memory aligned to ${dtype.alignment} bytes for ${dtype.name} but the array starts at byte ${start + byteOffset} of its buffer; use Tensor.from to copy it`,
    );
  }
  const padded = options.padded === true;
  const room = Math.floor(((byteLength - byteOffset) * 8) / strideBits(dtype, padded));
  const shape =
    options.shape === undefined
      ? checkShape([room])
      : options.strides === undefined && options.shape.includes(-1)
        ? inferShape(options.shape, room)
        : checkShape(options.shape);
  const strides = options.strides === undefined ? rowMajorStrides(shape) : checkStrides(options.strides, shape);
  const flags = (options.readonly === true ? Flag.readOnly : 0) | (padded && dtype.isSubByte ? Flag.subBytePadded : 0);
  const storage = new BufferStorage(buffer, start, byteLength);
  return new Descriptor(storage, dtype, cpu, shape, strides, byteOffset * 8, flags).checkBounds();
}

/** The buffer under another object that user code never sees; same address. */
export function moveBuffer(array: TypedArray): ArrayBuffer {
  const { buffer, byteLength } = array;
  if (!(buffer instanceof ArrayBuffer)) {
    throw new BufferError(
      'Expected a movable ArrayBuffer but this array lies over a SharedArrayBuffer, which cannot be moved; Tensor.wrap shares it without a copy',
    );
  }
  if (buffer.byteLength !== byteLength) {
    throw new BufferError(
      `Expected an array over its whole buffer but it covers ${byteLength} of ${buffer.byteLength} bytes, and moving would detach the rest; use Tensor.from or Tensor.wrap`,
    );
  }
  // structuredClone, not buffer.transfer(): it is the one that respects buffers marked as untransferable.
  let moved: ArrayBuffer;
  try {
    moved = structuredClone(buffer, { transfer: [buffer] });
  } catch (cause) {
    throw Object.assign(new BufferError('Expected a movable ArrayBuffer but its owner forbids that; use Tensor.from'), {
      cause,
    });
  }
  if (byteLength > 0 && buffer.byteLength !== 0) {
    throw new BufferError('Expected a movable ArrayBuffer but its owner forbids that; use Tensor.from');
  }
  return moved;
}
