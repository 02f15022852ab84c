/** Descriptors over typed arrays, whose memory is shared with or taken from JavaScript. */

import { cpu } from '../device.js';
import { type DType, type DTypeInfo, dtypeFromName, dtypeOfArray, strideBits, type TypedArray } from '../dtype.js';
import { ArgumentTypeError, BufferError, checkCount, isUsable } from '../errors.js';
import { checkShape, checkStrides, inferShape } from '../layout.js';
import { Descriptor, Flag } from './descriptor.js';
import { moveAway } from './detach.js';
import { findLayout } from './layouts.js';
import { BufferStorage, bufferLength, isDetached, isImmutable, isShared, regionOf } from './storage.js';

/** The shape and the dtype of a new tensor. */
export interface FromOptions<D extends DType> {
  /** The lengths of the axes. One of them may be -1. The default is the shape of the values, or one axis for an array. */
  shape?: readonly number[];
  /** The default is the dtype of the values or of the array. */
  dtype?: D;
}

/** How a tensor lies over an array. */
export interface WrapOptions<D extends DType> extends FromOptions<D> {
  /** In elements; row-major when absent. */
  strides?: readonly number[];
  /** Bytes from the start of the array to the first element; 0 when absent. */
  byteOffset?: number;
  /** true: the tensor cannot be written, but the array still can. The default is false. */
  readonly?: boolean;
  /** Each element narrower than a byte has its own byte, as in NumPy, instead of being packed. The default is false. */
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
  const isReadOnly = options.readonly === true || isImmutable(buffer);
  const flags = (isReadOnly ? Flag.readonly : 0) | (padded && dtype.isSubByte ? Flag.subBytePadded : 0);
  const shape = shapeFor(wanted, room, steps !== undefined);
  const strides = steps === undefined ? null : checkStrides(steps, shape);
  const layout = findLayout(dtype, cpu, shape, strides, flags);
  return new Descriptor(new BufferStorage(buffer, start, byteLength), layout, byteOffset * 8).checkBounds();
}

/** The shape of an array with room for so many elements: all of them, or a wanted shape. */
function shapeFor(wanted: readonly number[] | undefined, room: number, hasStrides: boolean): readonly number[] {
  if (wanted === undefined) return room >= 0 ? [room] : checkShape([room]);
  return hasStrides ? checkShape(wanted) : inferRoom(wanted, room);
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

/** The bytes of a typed array or a buffer, for a question about its memory; null for any other value. */
export function describeBytes(value: unknown): Descriptor | null {
  const isArray = dtypeOfArray(value) !== undefined;
  const whole = isArray ? null : bufferLength(value);
  if (!isArray && whole === null) return null;
  const { buffer, start, byteLength } = isArray
    ? regionOf(value as TypedArray)
    : { buffer: value as ArrayBufferLike, start: 0, byteLength: whole as number };
  const layout = findLayout(dtypeFromName('uint8'), cpu, [byteLength], null, 0);
  return new Descriptor(new BufferStorage(buffer, start, byteLength), layout, 0);
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
    const moved = moveAway(buffer);
    if (byteLength === 0 || bufferLength(buffer) === 0) return moved as ArrayBuffer;
  } catch (cause) {
    options = { cause };
  }
  throw new BufferError('Expected a movable ArrayBuffer but its owner forbids that; use Tensor.from', options);
}
