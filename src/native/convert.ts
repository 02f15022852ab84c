/** Copies and casts in native code. */

import type { DTypeInfo } from '../dtype.js';
import { BufferError } from '../errors.js';
import type { Pass, PassAxis } from '../storage/backend.js';
import type { Descriptor } from '../storage/descriptor.js';
import type { Scaling } from '../storage/scaling.js';
import { BufferStorage, type Storage } from '../storage/storage.js';
import { storageAddress } from './exchange/export.js';
import { native } from './load/load.js';
import { MappedStorage } from './memory/shared-memory.js';
import { NativeStorage } from './memory/storage.js';
import { runtimeRules } from './memory/threads.js';
import { Status } from './wire/constants.js';
import { errorOf } from './wire/status.js';
import { writeTensor } from './wire/tensor.js';
import { enter, leave } from './wire/wire.js';
import { ConvertRequest, CopyRequest, WireHeader } from './wire/wire-layout.js';

/** The handle of native memory; 0 for JavaScript memory. */
export function handleOf(storage: Storage): number {
  return storage instanceof NativeStorage ? storage.handle : 0;
}

/** The scales, then the offsets. */
function factorsOf({ scale, offset }: Scaling): Float64Array {
  const factors = new Float64Array(scale.length + offset.length);
  factors.set(scale);
  factors.set(offset, scale.length);
  return factors;
}

/** Takes a slot and writes the request. */
function enterConvert(pass: Pass, source: Storage, target: Storage, most: number): number {
  const { axes } = pass;
  const slot = enter(ConvertRequest.WORDS);
  ConvertRequest.setFromHandle(slot, handleOf(source));
  ConvertRequest.setToHandle(slot, handleOf(target));
  ConvertRequest.setFromType(slot, pass.from.packed);
  ConvertRequest.setToType(slot, pass.to.packed);
  ConvertRequest.setNdim(slot, axes.length);
  ConvertRequest.setThreads(slot, most);
  ConvertRequest.setIsScaled(slot, pass.scaling === undefined ? 0 : 1);
  if (pass.scaling !== undefined) ConvertRequest.setScaledAxis(slot, pass.scaling.axis);
  ConvertRequest.setFromBit(slot, pass.fromBit);
  ConvertRequest.setToBit(slot, pass.toBit);
  for (let i = 0; i < axes.length; i++) {
    const { length, from, to } = axes[i] as PassAxis;
    ConvertRequest.setShape(slot, i, length);
    ConvertRequest.setFromSteps(slot, i, from);
    ConvertRequest.setToSteps(slot, i, to);
  }
  WireHeader.setSlot(slot);
  return slot;
}

/** New memory with converted elements; null for types that need another way. */
export function copy(source: Descriptor, to: DTypeInfo): Storage | null {
  const { storage, shape, size } = source;
  const array = javascriptBytes(storage);
  const binding = native();
  const slot = enter(CopyRequest.WORDS + 2 * shape.length);
  writeTensor(CopyRequest.tensorAt(slot), source, handleOf(storage), 0);
  CopyRequest.setToType(slot, to.packed);
  CopyRequest.setThreads(slot, runtimeRules().threads);
  WireHeader.setSlot(slot);
  binding.copy(array);
  leave(slot);
  const status = CopyRequest.status(slot);
  const nbytes = (size * to.bits) / 8;
  if (status === Status.ok) return new NativeStorage(CopyRequest.handle(slot), nbytes, false);
  if (status === Status.outOfMemory) throw errorOf(status, nbytes);
  return null;
}

/** The bytes of JavaScript memory; undefined for native memory. */
export function javascriptBytes(storage: Storage): Uint8Array | undefined {
  return storage instanceof BufferStorage ? new Uint8Array(storage.buffer(), storage.start, storage.nbytes) : undefined;
}

export function convert(pass: Pass, source: Storage, target: Storage): boolean {
  const from = javascriptBytes(source);
  const to = javascriptBytes(target);
  const binding = native();
  const factors = pass.scaling && factorsOf(pass.scaling);
  const slot = enterConvert(pass, source, target, runtimeRules().threads);
  binding.convert(from, to, factors);
  leave(slot);
  return ConvertRequest.isDone(slot) === 1;
}

// Asynchronous passes run one after another, on all processors but one. Several at a time would not be faster, because
// memory is the limit, but the event loop would have no processor to itself and run milliseconds late.
let last: Promise<unknown> = Promise.resolve();

/** Only for native memory, because JavaScript may detach its own memory while another thread reads it. */
export async function convertAsync(pass: Pass, source: Storage, target: Storage): Promise<boolean> {
  if (handleOf(source) === 0 || handleOf(target) === 0) return false;
  const converted = last.then(() => startConvert(pass, source, target));
  last = converted.catch(() => {});
  return converted;
}

async function startConvert(pass: Pass, source: Storage, target: Storage): Promise<boolean> {
  const binding = native();
  const factors = pass.scaling && factorsOf(pass.scaling);
  const slot = enterConvert(pass, source, target, Math.max(1, runtimeRules().threads - 1));
  const promise = binding.convertAsync(factors);
  leave(slot);
  if (promise === undefined) return false;
  if (await promise) return true;
  throw new BufferError('Expected a conversion to run to its end but its environment is closing');
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
