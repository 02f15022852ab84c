/**
 * Writes nested arrays and short typed arrays into new native memory. That memory has no JavaScript buffer at first, and
 * making one costs more than a small tensor, so the values go through the stage, a slot of the wire, piece by piece.
 */

import { privateDataView } from '../base/primordials.js';
import { type DTypeInfo, sizeBytes, type TypedArray } from '../dtype.js';
import { sizeOf } from '../layout.js';
import type { Storage } from '../storage/storage.js';
import { type ElementCodec, elementCodec } from '../values/element.js';
import { checkRow } from '../values/nested.js';
import { native } from './load/load.js';
import { NativeStorage } from './memory/storage.js';
import { clearAt } from './wire/bytes.js';
import { Status, Wire } from './wire/constants.js';
import { wire } from './wire/memory.js';
import { errorOf } from './wire/status.js';
import { enter, leave } from './wire/wire.js';
import { StageRequest, WireHeader } from './wire/wire-layout.js';

const { buffer } = wire;

/** Where the values begin in the slot, in bytes. */
const VALUES = StageRequest.WORDS * 8;

const stageView = privateDataView(buffer);

/** The wire as an array of each dtype, by name. Not a Map, because a patched method would receive the wire. */
const arrays: Record<string, TypedArray> = Object.create(null);

/** The wire as an array of a dtype. */
function stageArray({ name, array }: DTypeInfo): TypedArray {
  // Not the length of the buffer, because a patched getter would receive it.
  arrays[name] ??= new array(buffer, 0, (Wire.WORDS * 8) / array.BYTES_PER_ELEMENT);
  return arrays[name] as TypedArray;
}

/** Opens a stage and returns its first byte, a multiple of 16. Stages are closed in the reverse order. */
function openStage(nbytes: number): number {
  return enter(StageRequest.WORDS + Math.ceil(nbytes / 16) * 2) * 8 + VALUES;
}

/** Copies the first `count` bytes of a stage to an offset of a storage, or of a new storage of `nbytes` bytes. */
function flushStage(start: number, count: number, target: Storage | null, offset: number, nbytes: number): Storage {
  const binding = native();
  const slot = (start - VALUES) / 8;
  StageRequest.setHandle(slot, target === null ? 0 : (target as NativeStorage).handle);
  StageRequest.setCount(slot, count);
  StageRequest.setOffset(slot, offset);
  StageRequest.setNbytes(slot, nbytes);
  WireHeader.setSlot(slot);
  binding.takeStaged();
  const status = StageRequest.status(slot);
  if (status !== Status.ok) throw errorOf(status, nbytes);
  return target ?? new NativeStorage(StageRequest.handle(slot), nbytes, false);
}

function closeStage(start: number): void {
  leave((start - VALUES) / 8);
}

/** The most bytes of a piece, which has room for eight elements of each dtype that goes through the stage. */
const PIECE = 16 * 1024;

/** The most elements of a typed array that are written one by one. */
const FEW = 32;

/** The values of nested arrays; null for empty arrays and for elements that are wider than a piece. */
export function writeNested(source: unknown, shape: readonly number[], dtype: DTypeInfo): Storage | null {
  const size = sizeOf(shape);
  if (size === 0 || dtype.itemBits > PIECE) return null;
  return new Writer(shape, dtype, size).run(source);
}

/** True for dtypes whose numbers an array stores as they are, apart from NaN. */
function isFloat({ name }: DTypeInfo): boolean {
  return name === 'float32' || name === 'float64';
}

/**
 * The elements of a typed array. Native code would need a view of the array, which costs more than the elements. Storing
 * a number loses the payload of a NaN, so an array with NaN needs another way.
 */
export function writeFew(array: TypedArray, length: number, dtype: DTypeInfo): Storage | null {
  if (!(length > 0 && length <= FEW)) return null;
  const nbytes = sizeBytes(dtype, length);
  const start = openStage(nbytes);
  const values = stageArray(dtype);
  const first = (start * 8) / dtype.bits;
  try {
    for (let i = 0; i < length; i++) {
      const value = array[i];
      // Undefined, if the array has a `length` of its own.
      if (value === undefined || Number.isNaN(value)) return null;
      values[first + i] = value;
    }
    return flushStage(start, nbytes, null, 0, nbytes);
  } finally {
    closeStage(start);
  }
}

/** Writes values at increasing places of the stage. Each full piece moves into the memory. */
class Writer {
  /** The stage as an array, if {@link isFloat}. */
  private readonly floats: TypedArray | null;
  private readonly codec: ElementCodec;
  private readonly nbytes: number;
  /** Where a piece begins, in bytes, and its elements. */
  private readonly start: number;
  private readonly piece: number;
  /** The next place in the stage. */
  private bit: number;
  /** Elements that still fit into the stage. */
  private room: number;
  private storage: Storage | null = null;
  private offset = 0;

  constructor(
    private readonly shape: readonly number[],
    private readonly dtype: DTypeInfo,
    size: number,
  ) {
    const nbytes = sizeBytes(dtype, size);
    const start = openStage(Math.min(nbytes, PIECE));
    this.floats = isFloat(dtype) ? stageArray(dtype) : null;
    this.codec = elementCodec(dtype);
    this.nbytes = nbytes;
    this.start = start;
    // A multiple of eight elements ends on a byte, whatever the dtype.
    this.piece = nbytes <= PIECE ? size : Math.floor(PIECE / dtype.itemBits) * 8;
    this.bit = start * 8;
    this.room = this.piece;
  }

  run(source: unknown): Storage {
    try {
      this.clear();
      this.walk(source, 0);
      return this.flush();
    } catch (error) {
      this.storage?.release();
      throw error;
    } finally {
      closeStage(this.start);
    }
  }

  private walk(level: unknown, axis: number): void {
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
    const { floats, codec, bit, dtype } = this;
    const step = dtype.itemBits;
    const first = bit / step - from;
    for (let i = from; i < to; i++) {
      const value = row[i];
      // The codec writes everything but plain numbers: NaN has one pattern, and other values are checked.
      if (floats !== null && typeof value === 'number' && !Number.isNaN(value)) floats[first + i] = value;
      else codec.write(stageView, bit + (i - from) * step, value);
    }
    this.bit = bit + (to - from) * step;
    this.room -= to - from;
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
    if (this.dtype.isSubByte) clearAt(this.start, Math.min(this.nbytes, PIECE));
  }

  private flush(): Storage {
    const count = Math.ceil(this.bit / 8) - this.start;
    const storage = flushStage(this.start, count, this.storage, this.offset, this.nbytes);
    this.offset += count;
    return storage;
  }
}
