/**
 * Writes nested arrays into new memory. Native memory has no JavaScript buffer at first, and making one costs more than
 * a small tensor, so the values go through the backend's stage, piece by piece.
 *
 * @module
 */

import { cpu } from '../device.js';
import { type DTypeInfo, sizeBytes, type TypedArray } from '../dtype.js';
import { checkShape, sizeOf } from '../layout.js';
import { allocateLike, rowMajor } from '../storage/allocate.js';
import { getBackend, type Stage } from '../storage/backend.js';
import type { Descriptor } from '../storage/descriptor.js';
import type { Storage } from '../storage/storage.js';
import { type ElementCodec, elementCodec } from './element.js';
import { checkRow, type NestedSource } from './nested.js';

/** The most bytes of a piece, which has room for eight elements of each dtype that goes through the stage. */
const PIECE = 16 * 1024;

/** The values of nested arrays of this shape, in new row-major memory. */
export function writeNested(source: NestedSource, shape: readonly number[], dtype: DTypeInfo): Descriptor {
  const size = sizeOf(shape);
  const stage = size === 0 || dtype.itemBits > PIECE ? null : (getBackend()?.stage ?? null);
  if (stage !== null) return rowMajor(new Writer(shape, dtype, size, stage, null).run(source), dtype, cpu, shape, 0);
  const target = allocateLike(shape, dtype, 0);
  try {
    if (size > 0) new Writer(shape, dtype, size, null, target.view()).walk(source, 0);
    target.storage.commit();
    return target;
  } catch (error) {
    target.storage.release();
    throw error;
  }
}

/** The most elements of a typed array that are written one by one. */
const FEW = 32;

/**
 * The elements of a short typed array in new memory; null for others. Native code would need a view of the array, which
 * costs more than the elements. Writing a number loses the payload of a NaN, so an array with NaN needs another way.
 */
export function writeFew(array: TypedArray, dtype: DTypeInfo): Descriptor | null {
  const { length } = array;
  const stage = getBackend()?.stage;
  if (!(length > 0 && length <= FEW) || stage === undefined) return null;
  const nbytes = sizeBytes(dtype, length);
  const start = stage.open(nbytes);
  const values = stage.arrayOf(dtype);
  const first = (start * 8) / dtype.bits;
  try {
    for (let i = 0; i < length; i++) {
      const value = array[i];
      // Undefined, if the array has a `length` of its own.
      if (value === undefined || Number.isNaN(value)) return null;
      values[first + i] = value;
    }
    return rowMajor(stage.flush(start, nbytes, null, 0, nbytes), dtype, cpu, checkShape([length]), 0);
  } finally {
    stage.close(start);
  }
}

/** Writes values at increasing places of a view, or of the stage, from which each full piece moves into the memory. */
class Writer {
  private readonly shape: readonly number[];
  private readonly dtype: DTypeInfo;
  private readonly stage: Stage | null;
  private readonly view: DataView;
  /** The memory of the stage as an array, for dtypes whose numbers an array stores as they are, apart from NaN. */
  private readonly floats: TypedArray | null;
  private readonly codec: ElementCodec;
  private readonly nbytes: number;
  /** Where a piece begins, in bytes, and its elements. */
  private readonly start: number;
  private readonly piece: number;
  /** The next place in the view. */
  private bit: number;
  /** Elements that still fit into the view. */
  private room: number;
  private storage: Storage | null;
  private offset: number;

  /** With a stage, or with a view of all the memory. */
  constructor(shape: readonly number[], dtype: DTypeInfo, size: number, stage: Stage | null, view: DataView | null) {
    const nbytes = sizeBytes(dtype, size);
    const start = stage === null ? 0 : stage.open(Math.min(nbytes, PIECE));
    this.shape = shape;
    this.dtype = dtype;
    this.stage = stage;
    this.view = view ?? (stage as Stage).view;
    this.floats =
      stage !== null && (dtype.name === 'float32' || dtype.name === 'float64') ? stage.arrayOf(dtype) : null;
    this.codec = elementCodec(dtype);
    this.nbytes = nbytes;
    this.start = start;
    // A multiple of eight elements ends on a byte, whatever the dtype.
    this.piece = stage === null || nbytes <= PIECE ? size : Math.floor(PIECE / dtype.itemBits) * 8;
    this.bit = start * 8;
    this.room = this.piece;
    this.storage = null;
    this.offset = 0;
  }

  walk(level: unknown, axis: number): void {
    const { shape } = this;
    if (axis === shape.length) {
      this.write([level], 0, 1);
      return;
    }
    const row = checkRow(level, shape, axis);
    const length = shape[axis] as number;
    if (axis < shape.length - 1) {
      for (let i = 0; i < length; i++) this.walk(row[i], axis + 1);
      return;
    }
    for (let from = 0; from < length; ) {
      if (this.room === 0) this.next();
      const to = Math.min(length, from + this.room);
      this.write(row, from, to);
      from = to;
    }
  }

  private write(row: ArrayLike<unknown>, from: number, to: number): void {
    const { view, floats, codec, bit, dtype } = this;
    const step = dtype.itemBits;
    const first = bit / step - from;
    for (let i = from; i < to; i++) {
      const value = row[i];
      // The codec writes everything but plain numbers: NaN has one pattern, and other values are checked.
      if (floats !== null && typeof value === 'number' && !Number.isNaN(value)) floats[first + i] = value;
      else codec.write(view, bit + (i - from) * step, value);
    }
    this.bit = bit + (to - from) * step;
    this.room -= to - from;
  }

  /** Writes all values through the stage. */
  run(source: NestedSource): Storage {
    try {
      this.clear();
      this.walk(source, 0);
      return this.flush();
    } catch (error) {
      this.storage?.release();
      throw error;
    } finally {
      this.stage?.close(this.start);
    }
  }

  /** Makes room, because the stage is full. */
  private next(): void {
    this.storage = this.flush();
    this.bit = this.start * 8;
    this.room = this.piece;
    this.clear();
  }

  /** Writing an element below a byte keeps the bits around it. */
  private clear(): void {
    if (this.dtype.isSubByte) this.stage?.clear(this.start, Math.min(this.nbytes, PIECE));
  }

  private flush(): Storage {
    const count = Math.ceil(this.bit / 8) - this.start;
    const storage = (this.stage as Stage).flush(this.start, count, this.storage, this.offset, this.nbytes);
    this.offset += count;
    return storage;
  }
}
