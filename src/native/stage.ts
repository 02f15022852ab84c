/**
 * The stage: a slot of the wire through which values go into native memory that has no JavaScript buffer.
 *
 * @module
 */

import type { DTypeInfo, TypedArray } from '../dtype.js';
import type { Storage } from '../storage/storage.js';
import { native } from './load.js';
import { NativeStorage } from './native-storage.js';
import { errorOf } from './status.js';
import { enter, leave, wire } from './wire.js';
import { clearAt } from './wire-bytes.js';
import { StageRequest, Status, Wire, WireHeader } from './wire-layout.js';

const { buffer, f64, i32, u32 } = wire;

/** Where the values begin in the slot, in bytes. */
const VALUES = StageRequest.WORDS * 8;

/** A view of the wire with methods of its own, because a patched method of the prototype would receive the wire. */
export const stageView: DataView = Object.defineProperties(
  new DataView(buffer),
  Object.getOwnPropertyDescriptors(DataView.prototype),
);

/** By the name of their dtype. Not a Map, because a patched method would receive the wire. */
const arrays: Record<string, TypedArray> = Object.create(null);

/** The wire as an array of a dtype. */
export function stageArray({ name, array }: DTypeInfo): TypedArray {
  // Not the length of the buffer, because a patched getter would receive it.
  arrays[name] ??= new array(buffer, 0, (Wire.WORDS * 8) / array.BYTES_PER_ELEMENT);
  return arrays[name] as TypedArray;
}

/** Opens a stage and returns its first byte, a multiple of 16. The last opened stage is closed first. */
export function openStage(nbytes: number): number {
  return enter(StageRequest.WORDS + Math.ceil(nbytes / 16) * 2) * 8 + VALUES;
}

export function clearStage(start: number, nbytes: number): void {
  clearAt(start, nbytes);
}

/** Copies the first `count` bytes of a stage to an offset of a storage, or of a new storage of `nbytes` bytes. */
export function flushStage(
  start: number,
  count: number,
  target: Storage | null,
  offset: number,
  nbytes: number,
): Storage {
  const binding = native();
  const slot = (start - VALUES) / 8;
  u32[slot * 2 + StageRequest.HANDLE] = target === null ? 0 : (target as NativeStorage).handle;
  f64[slot + StageRequest.COUNT] = count;
  f64[slot + StageRequest.OFFSET] = offset;
  f64[slot + StageRequest.NBYTES] = nbytes;
  u32[WireHeader.SLOT] = slot;
  binding.takeStaged();
  const status = i32[slot * 2 + StageRequest.STATUS] as number;
  if (status !== Status.ok) throw errorOf(status, nbytes);
  return target ?? new NativeStorage(u32[slot * 2 + StageRequest.HANDLE] as number, nbytes, false);
}

export function closeStage(start: number): void {
  leave((start - VALUES) / 8);
}
