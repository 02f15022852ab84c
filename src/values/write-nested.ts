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
  if (stage !== null) {
    return rowMajor(new StagedWriter(shape, dtype, stage, size).run(source), dtype, cpu, shape, 0);
  }
  const target = allocateLike(shape, dtype, 0);
  try {
    if (size > 0) {
      new Writer(shape, dtype, target.view(), 0, size).walk(source, 0);
      target.storage.commit();
    }
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
  const codec = elementCodec(dtype);
  const nbytes = sizeBytes(dtype, length);
  const start = stage.open(nbytes);
  try {
    for (let i = 0; i < length; i++) {
      const value = array[i];
      if (Number.isNaN(value)) return null;
      codec.write(stage.view, start * 8 + i * dtype.bits, value);
    }
    return rowMajor(stage.flush(start, nbytes, null, 0, nbytes), dtype, cpu, checkShape([length]), 0);
  } finally {
    stage.close(start);
  }
}

/** Writes values at increasing places of a view. */
class Writer {
  protected readonly shape: readonly number[];
  protected readonly dtype: DTypeInfo;
  protected readonly view: DataView;
  private readonly codec: ElementCodec;
  /** The next place in the view. */
  protected bit: number;
  /** Elements that still fit into the view. */
  protected room: number;

  constructor(shape: readonly number[], dtype: DTypeInfo, view: DataView, bit: number, room: number) {
    this.shape = shape;
    this.dtype = dtype;
    this.view = view;
    this.codec = elementCodec(dtype);
    this.bit = bit;
    this.room = room;
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

  /** Makes room, because the view is full. */
  protected next(): void {}

  private write(row: ArrayLike<unknown>, from: number, to: number): void {
    const { view, codec, bit, dtype } = this;
    const step = dtype.itemBits;
    if (dtype.lanes === 1 && (dtype.base === 'float32' || dtype.base === 'float64')) {
      writeFloats(view, bit / 8, step / 8, row, from, to, codec);
    } else for (let i = from; i < to; i++) codec.write(view, bit + (i - from) * step, row[i]);
    this.bit = bit + (to - from) * step;
    this.room -= to - from;
  }
}

/** The codec writes everything but plain numbers: NaN has one pattern, and other values are checked. */
function writeFloats(
  view: DataView,
  start: number,
  size: number,
  row: ArrayLike<unknown>,
  from: number,
  to: number,
  codec: ElementCodec,
): void {
  for (let i = from, byte = start; i < to; i++, byte += size) {
    const value = row[i];
    if (typeof value !== 'number' || Number.isNaN(value)) codec.write(view, byte * 8, value);
    else if (size === 4) view.setFloat32(byte, value, true);
    else view.setFloat64(byte, value, true);
  }
}

/** Moves each full piece from the stage into the memory. */
class StagedWriter extends Writer {
  private readonly stage: Stage;
  private readonly nbytes: number;
  private readonly start: number;
  /** Elements of a piece. */
  private readonly piece: number;
  private storage: Storage | null;
  private offset: number;

  constructor(shape: readonly number[], dtype: DTypeInfo, stage: Stage, size: number) {
    const nbytes = sizeBytes(dtype, size);
    const start = stage.open(Math.min(nbytes, PIECE));
    // A multiple of eight elements ends on a byte, whatever the dtype.
    const piece = nbytes <= PIECE ? size : Math.floor(PIECE / dtype.itemBits) * 8;
    super(shape, dtype, stage.view, start * 8, piece);
    this.stage = stage;
    this.nbytes = nbytes;
    this.start = start;
    this.piece = piece;
    this.storage = null;
    this.offset = 0;
  }

  run(source: NestedSource): Storage {
    const { stage, start } = this;
    try {
      this.clear();
      this.walk(source, 0);
      return this.flush();
    } catch (error) {
      this.storage?.release();
      throw error;
    } finally {
      stage.close(start);
    }
  }

  protected override next(): void {
    this.storage = this.flush();
    this.bit = this.start * 8;
    this.room = this.piece;
    this.clear();
  }

  /** Writing an element below a byte keeps the bits around it. */
  private clear(): void {
    if (this.dtype.isSubByte) this.stage.clear(this.start, Math.min(this.nbytes, PIECE));
  }

  private flush(): Storage {
    const count = Math.ceil(this.bit / 8) - this.start;
    const storage = this.stage.flush(this.start, count, this.storage, this.offset, this.nbytes);
    this.offset += count;
    return storage;
  }
}
