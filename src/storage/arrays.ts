/** Descriptors over typed arrays, whose memory is shared with or taken from JavaScript. */

import { cpu } from '../device.js';
import { type DType, type DTypeInfo, strideBits, type TypedArray } from '../dtype.js';
import { ArgumentTypeError, BufferError, checkCount, isUsable } from '../errors.js';
import { checkShape, checkStrides, inferShape, rowMajorStrides } from '../layout.js';
import { Descriptor, Flag, type SentLayout, UNSENT } from './descriptor.js';
import { BufferStorage, bufferLength, clone, isDetached, isShared, regionOf } from './storage.js';

export interface FromOptions<D extends DType> {
  /** The lengths of the axes. One of them may be -1. The default is the shape of the values, or one axis for an array. */
  shape?: readonly number[];
  /** The default is the dtype of the values or of the array. */
  dtype?: D;
}

export interface WrapOptions<D extends DType> extends FromOptions<D> {
  /** In elements; row-major when absent. */
  strides?: readonly number[];
  /** Bytes from the start of the array to the first element. */
  byteOffset?: number;
  /** true: the tensor cannot be written, but the array still can. */
  readonly?: boolean;
  /** Each element narrower than a byte has its own byte, as in NumPy, instead of being packed. */
  padded?: boolean;
}

/** A descriptor over the memory of a typed array, with everything checked. */
export function describeArray(array: TypedArray, dtype: DTypeInfo, options: WrapOptions<DType>): Descriptor {
  const { buffer, start, byteLength } = regionOf(array);
  if (byteLength === 0) checkAttached(buffer);
  const byteOffset = options.byteOffset ?? 0;
  checkCount(byteOffset, 'byteOffset');
  // Alignment counts from the start of the buffer, as for typed arrays.
  if ((start + byteOffset) % dtype.alignment !== 0) {
    throw new BufferError(
      `Expected memory aligned to ${dtype.alignment} bytes for ${dtype.name} but the array starts at byte ${start + byteOffset} of its buffer; use Tensor.from to copy it`,
    );
  }
  const padded = options.padded === true;
  const room = Math.floor(((byteLength - byteOffset) * 8) / strideBits(dtype, padded));
  const { shape: wanted, strides: steps } = options; // read once, because getters may return different values
  const flags = (options.readonly === true ? Flag.readonly : 0) | (padded && dtype.isSubByte ? Flag.subBytePadded : 0);
  const storage = new BufferStorage(buffer, start, byteLength);
  if (wanted === undefined && steps === undefined && byteOffset === 0) return describeLine(storage, room, dtype, flags);
  const shape =
    wanted === undefined ? checkShape([room]) : steps === undefined ? inferRoom(wanted, room) : checkShape(wanted);
  const strides = steps === undefined ? rowMajorStrides(shape) : checkStrides(steps, shape);
  return new Descriptor(storage, dtype, cpu, shape, strides, byteOffset * 8, flags).checkBounds();
}

/** The layout of a whole array. */
interface Line extends SentLayout {
  readonly dtype: DTypeInfo;
  readonly flags: number;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
}

let lastLine: Line | null = null;

/** All elements of an array, which lie inside it. Most arrays have the layout of the array before. */
function describeLine(storage: BufferStorage, length: number, dtype: DTypeInfo, flags: number): Descriptor {
  let line = lastLine;
  if (line === null || line.shape[0] !== length || line.dtype !== dtype || line.flags !== flags) {
    line = lastLine = { dtype, flags, shape: checkShape([length]), strides: [1], number: UNSENT };
  }
  const descriptor = new Descriptor(storage, dtype, cpu, line.shape, line.strides, 0, flags);
  descriptor.sentLayout = line;
  return descriptor;
}

/** A checked shape. One length of -1 becomes the largest that fits. */
function inferRoom(wanted: readonly number[], room: number): readonly number[] {
  return isUsable(wanted) && Array.isArray(wanted) && wanted.includes(-1)
    ? inferShape(wanted, room)
    : checkShape(wanted);
}

/** Throws for a detached buffer. Its length is 0, so the length cannot distinguish it from an empty buffer. */
export function checkAttached(buffer: ArrayBufferLike): void {
  if (!isDetached(buffer)) return;
  throw new BufferError(
    'Expected an array with memory but its buffer is detached: transferred, adopted or disposed before',
  );
}

/** All bytes of an ArrayBuffer. */
export function bytesOf(buffer: ArrayBufferLike): TypedArray {
  if (bufferLength(buffer) === null) throw new ArgumentTypeError('array', 'a typed array or an ArrayBuffer', buffer);
  checkAttached(buffer);
  return new Uint8Array(buffer);
}

/** Moves the memory to a new buffer object that user code never sees, at the same address. */
export function moveBuffer(array: TypedArray): ArrayBuffer {
  const { buffer, byteLength } = regionOf(array);
  if (isShared(buffer)) {
    throw new BufferError(
      'Expected a movable ArrayBuffer but this array lies over a SharedArrayBuffer, which cannot be moved; Tensor.wrap shares it without a copy',
    );
  }
  const whole = bufferLength(buffer) as number;
  if (whole !== byteLength) {
    throw new BufferError(
      `Expected an array over its whole buffer but it covers ${byteLength} of ${whole} bytes, and moving would detach the rest; use Tensor.from or Tensor.wrap`,
    );
  }
  // structuredClone, not buffer.transfer(), because only structuredClone respects buffers marked as untransferable.
  let options: ErrorOptions | undefined;
  try {
    const moved = clone(buffer, { transfer: [buffer] });
    if (byteLength === 0 || bufferLength(buffer) === 0) return moved as ArrayBuffer;
  } catch (cause) {
    options = { cause };
  }
  throw new BufferError('Expected a movable ArrayBuffer but its owner forbids that; use Tensor.from', options);
}
