/**
 * Copies and casts in native code.
 *
 * @module
 */

import { availableParallelism } from 'node:os';
import type { DTypeInfo } from '../dtype.js';
import { BufferError } from '../errors.js';
import type { Pass } from '../storage/backend.js';
import { BufferStorage, type Storage } from '../storage/storage.js';
import { storageAddress } from './export.js';
import { native } from './load.js';
import { NativeStorage } from './native-storage.js';
import { MappedStorage } from './shared-memory.js';
import { errorOf } from './status.js';
import { enter, leave, wire } from './wire.js';
import { ConvertRequest, CopyRequest, Status, WireHeader } from './wire-layout.js';

const { f64, i32, u32 } = wire;

const wanted = Number(process.env.DLPACK_NUM_THREADS);
const threads = Number.isInteger(wanted) && wanted > 0 ? wanted : availableParallelism();

function handleOf(storage: Storage): number {
  return storage instanceof NativeStorage ? storage.handle : 0;
}

/** Takes a slot and writes the request. */
function enterConvert(pass: Pass, source: Storage, target: Storage): number {
  const { shape, fromSteps, toSteps } = pass;
  const ndim = shape.length;
  const slot = enter(ConvertRequest.WORDS);
  const half = slot * 2;
  u32[half + ConvertRequest.FROM_HANDLE] = handleOf(source);
  u32[half + ConvertRequest.TO_HANDLE] = handleOf(target);
  u32[half + ConvertRequest.FROM_TYPE] = pass.from.packed;
  u32[half + ConvertRequest.TO_TYPE] = pass.to.packed;
  i32[half + ConvertRequest.NDIM] = ndim;
  i32[half + ConvertRequest.THREADS] = threads;
  f64[slot + ConvertRequest.FROM_BIT] = pass.fromBit;
  f64[slot + ConvertRequest.TO_BIT] = pass.toBit;
  for (let axis = 0; axis < ndim; axis++) {
    f64[slot + ConvertRequest.SHAPE + axis] = shape[axis] as number;
    f64[slot + ConvertRequest.FROM_STEPS + axis] = fromSteps[axis] as number;
    f64[slot + ConvertRequest.TO_STEPS + axis] = toSteps[axis] as number;
  }
  u32[WireHeader.SLOT] = slot;
  return slot;
}

/** New memory with converted elements; null for types that need another way. */
export function copy(source: Storage, fromByte: number, from: DTypeInfo, to: DTypeInfo, count: number): Storage | null {
  const array = bytesOf(source);
  const binding = native();
  const slot = enter(CopyRequest.WORDS);
  const half = slot * 2;
  u32[half + CopyRequest.FROM_HANDLE] = handleOf(source);
  u32[half + CopyRequest.FROM_TYPE] = from.packed;
  u32[half + CopyRequest.TO_TYPE] = to.packed;
  i32[half + CopyRequest.THREADS] = threads;
  f64[slot + CopyRequest.FROM_BYTE] = fromByte;
  f64[slot + CopyRequest.COUNT] = count;
  u32[WireHeader.SLOT] = slot;
  binding.copy(array);
  leave(slot);
  const status = i32[half + CopyRequest.STATUS] as number;
  const nbytes = (count * to.bits) / 8;
  if (status === Status.ok) return new NativeStorage(u32[half + CopyRequest.HANDLE] as number, nbytes, false);
  if (status === Status.outOfMemory) throw errorOf(status, nbytes);
  return null;
}

function bytesOf(storage: Storage): Uint8Array | undefined {
  return storage instanceof BufferStorage ? new Uint8Array(storage.buffer(), storage.start, storage.nbytes) : undefined;
}

export function convert(pass: Pass, source: Storage, target: Storage): boolean {
  const from = bytesOf(source);
  const to = bytesOf(target);
  const binding = native();
  const slot = enterConvert(pass, source, target);
  binding.convert(from, to);
  leave(slot);
  return u32[slot * 2 + ConvertRequest.IS_DONE] === 1;
}

/** Only for native memory, because JavaScript may detach its own memory while another thread reads it. */
export function convertAsync(pass: Pass, source: Storage, target: Storage): Promise<void> | null {
  if (handleOf(source) === 0 || handleOf(target) === 0) return null;
  const binding = native();
  const slot = enterConvert(pass, source, target);
  const promise = binding.convertAsync();
  leave(slot);
  return (
    promise?.then((done) => {
      if (!done) throw new BufferError('Expected a conversion to run to its end but its environment is closing');
    }) ?? null
  );
}

/** True for native or JavaScript host memory with at least one byte. */
function hasAddress(storage: Storage): boolean {
  return storage.nbytes > 0 && (storage instanceof NativeStorage || storage instanceof BufferStorage);
}

export function overlaps(a: Storage, b: Storage): boolean {
  if (!hasAddress(a) || !hasAddress(b)) return false;
  if (a instanceof MappedStorage && b instanceof MappedStorage) return true; // addresses do not tell
  const first = storageAddress(a);
  const second = storageAddress(b);
  return first < second + BigInt(b.nbytes) && second < first + BigInt(a.nbytes);
}
