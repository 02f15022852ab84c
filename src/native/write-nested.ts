/**
 * Writes nested arrays and short typed arrays into new native memory. That memory has no JavaScript buffer at first, and
 * making one costs more than a small tensor, so the values go through the stage, a slot of the wire, piece by piece.
 */

import { type DTypeInfo, sizeBytes, type TypedArray } from '../dtype.js';
import { sizeOf } from '../layout.js';
import type { Storage } from '../storage/storage.js';
import { checkRow } from '../values/nested.js';
import { native } from './load/load.js';
import { NativeStorage } from './memory/storage.js';
import { wordsFor } from './wire/bytes.js';
import { Status } from './wire/constants.js';
import { ElementWriter, storeNumbers } from './wire/elements.js';
import { errorOf } from './wire/status.js';
import { enter, leave } from './wire/wire.js';
import { StageRequest, WireHeader } from './wire/wire-layout.js';

/** Takes a slot for bytes after the request. Slots are left in the reverse order. */
function openStage(nbytes: number): number {
  return enter(StageRequest.WORDS + wordsFor(nbytes));
}

/** Copies the first `count` bytes of a stage to an offset of a storage, or of a new storage of `nbytes` bytes. */
function flushStage(slot: number, count: number, target: Storage | null, offset: number, nbytes: number): Storage {
  const binding = native();
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

/**
 * The elements of a typed array. Native code would need a view of the array, which costs more than the elements. Storing
 * a number loses the payload of a NaN, so an array with NaN needs another way.
 */
export function writeFew(array: TypedArray, length: number, dtype: DTypeInfo): Storage | null {
  if (!(length > 0 && length <= FEW)) return null;
  const nbytes = sizeBytes(dtype, length);
  const slot = openStage(nbytes);
  try {
    return storeNumbers(StageRequest.end(slot), array, length, dtype)
      ? flushStage(slot, nbytes, null, 0, nbytes)
      : null;
  } finally {
    leave(slot);
  }
}

/** Writes values at increasing places of the stage. Each full piece moves into the memory. */
class Writer {
  private readonly slot: number;
  private readonly elements: ElementWriter;
  private readonly nbytes: number;
  /** The elements of a piece. */
  private readonly piece: number;
  /** Elements of this piece that are written. */
  private written = 0;
  private storage: Storage | null = null;
  private offset = 0;

  constructor(
    private readonly shape: readonly number[],
    private readonly dtype: DTypeInfo,
    size: number,
  ) {
    const nbytes = sizeBytes(dtype, size);
    const slot = openStage(Math.min(nbytes, PIECE));
    this.slot = slot;
    this.elements = new ElementWriter(StageRequest.end(slot), dtype);
    this.nbytes = nbytes;
    // A multiple of eight elements ends on a byte, whatever the dtype.
    this.piece = nbytes <= PIECE ? size : Math.floor(PIECE / dtype.itemBits) * 8;
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
      leave(this.slot);
    }
  }

  private walk(level: unknown, axis: number): void {
    const { shape } = this;
    if (axis === shape.length) {
      this.elements.write(0, [level], 0, 1);
      this.written = 1;
      return;
    }
    const row = checkRow(level, shape, axis);
    const length = shape[axis] as number;
    if (axis < shape.length - 1) {
      for (let i = 0; i < length; i++) this.walk(row[i], axis + 1);
      return;
    }
    for (let from = 0; from < length; ) {
      if (this.written === this.piece) this.next();
      const to = Math.min(length, from + this.piece - this.written);
      this.elements.write(this.written, row, from, to);
      this.written += to - from;
      from = to;
    }
  }

  /** Makes room, because the stage is full. */
  private next(): void {
    this.storage = this.flush();
    this.written = 0;
    this.clear();
  }

  /** Writing an element below a byte keeps the bits around it. */
  private clear(): void {
    if (this.dtype.isSubByte) this.elements.clear(Math.min(this.nbytes, PIECE));
  }

  private flush(): Storage {
    const count = Math.ceil((this.written * this.dtype.itemBits) / 8);
    const storage = flushStage(this.slot, count, this.storage, this.offset, this.nbytes);
    this.offset += count;
    return storage;
  }
}
