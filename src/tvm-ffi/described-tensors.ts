/**
 * Tensors without objects. Many tensors are made for one call, and an object costs as much as the rest of such a call. So
 * the first call that uses a tensor describes it on the wire. If the callee needs an object, native code makes one for the
 * length of the call.
 *
 * @module
 */

import { placeOf } from '../native/export.js';
import type { NativeStorage } from '../native/native-storage.js';
import { errorOfTensor } from '../native/status.js';
import { wire } from '../native/wire.js';
import { Status, WireHeader, WireTensor } from '../native/wire-layout.js';
import { writeTensor } from '../native/wire-tensor.js';
import { isDebug } from '../storage/debug.js';
import type { Descriptor } from '../storage/descriptor.js';
import { BufferStorage } from '../storage/storage.js';
import { descriptorOf, type TensorView } from '../view.js';
import { ANY_WORDS, DESCRIBED, payloadAt, typeAt } from './any.js';
import { takeRaised } from './errors.js';
import { ffi } from './library.js';
import { keepForCall, lend, TemporaryObject } from './objects.js';
import { enter } from './slot.js';
import { canMove, checkByte, lendUnmoved } from './tensor-object.js';
import { CallRequest, DescribedTensor } from './wire-layout.js';

const { f64, i32, u32 } = wire;
// A constant of this module, because an import from another chunk of dist costs a load and a check at each use.
const Buffers = BufferStorage;

/**
 * Describes a tensor as the value at a word of the call that is being prepared. Returns false if the tensor should get an
 * object, because another call has used it before. JavaScript memory that can move never gets one. The slot is freed when
 * the call ends.
 */
export function describeOnce(at: number, descriptor: Descriptor, isView: boolean): boolean {
  if (descriptor.wasViewed) return false;
  const { storage } = descriptor;
  const address = storage instanceof Buffers && !canMove(storage) ? addressOf(storage.unchecked) : 0; // checked before the call
  const place = address === 0 ? placeOf(descriptor) : 'copy';
  if (place === 'pin' || (place === 'native' && isDebug())) return false;
  if (place === 'copy') checkByte(descriptor);
  const slot = enter(DescribedTensor.WORDS + 2 * descriptor.shape.length);
  const handle = place === 'native' ? (storage as NativeStorage).handle : 0;
  writeTensor(slot + DescribedTensor.TENSOR, descriptor, handle, 0);
  u32[slot * 2 + DescribedTensor.IS_VIEW] = isView ? 1 : 0;
  if (place === 'native') {
    f64[slot + DescribedTensor.ADDRESS] = 0;
    descriptor.wasViewed = true;
  } else writeMemory(slot, descriptor, address);
  i32[typeAt(at)] = DESCRIBED;
  i32[typeAt(at) + 1] = 0;
  f64[payloadAt(at)] = slot;
  return true;
}

/** Marks the described tensor at a word as imported for the call, which keeps it alive. */
export function markImported(at: number): void {
  i32[typeAt(at) + 1] = 1;
}

/**
 * Writes the handles of described tensors once more, right before the call, because the code of a later argument or of a
 * stream provider may have disposed a tensor, and its handle may belong to another tensor now. This runs no user code:
 * even `instanceof` would, for a proxy. Tensors that were imported for the call stay alive.
 */
export function renewHandles(first: number, args: readonly unknown[]): void {
  for (let i = 0; i < args.length; i++) {
    const at = first + i * ANY_WORDS;
    if (i32[typeAt(at)] !== DESCRIBED || i32[typeAt(at) + 1] !== 0) continue;
    const half = ((f64[payloadAt(at)] as number) + DescribedTensor.TENSOR) * 2;
    const { storage } = descriptorOf(args[i] as TensorView);
    if (u32[half + WireTensor.HANDLE] !== 0) u32[half + WireTensor.HANDLE] = (storage as NativeStorage).handle;
  }
}

/** Keeps a result that is a described argument until the call ends. It has a reference, because its object was temporary. */
export function keepResult(slot: number): void {
  const reference = u32[slot * 2 + CallRequest.REFERENCE] as number;
  if (reference !== 0) keepForCall(new TemporaryObject(reference));
}

/** The error of a call with described tensors. */
export function errorOfCall(slot: number): unknown {
  const word = u32[slot * 2 + CallRequest.DESCRIBED] as number;
  if (word === 0) return takeRaised();
  return errorOfTensor(i32[word * 2 + DescribedTensor.STATUS] as number, word + DescribedTensor.TENSOR);
}

/** Writes where JavaScript memory is, and lends it to the call. `address` is that of its buffer, or 0. */
function writeMemory(slot: number, descriptor: Descriptor, address: number): void {
  const { storage } = descriptor;
  const half = (slot + DescribedTensor.ADDRESS) * 2;
  f64[slot + DescribedTensor.NBYTES] = storage.nbytes;
  if (address !== 0) {
    const start = address + storage.start;
    u32[half] = start;
    u32[half + 1] = start / 2 ** 32;
  } else {
    const buffer = storage.buffer();
    u32[WireHeader.SLOT] = slot;
    ffi.readAddress(new Uint8Array(buffer, storage.start, storage.nbytes));
    const status = i32[slot * 2 + DescribedTensor.STATUS] as number;
    if (status !== Status.ok) throw errorOfTensor(status, slot + DescribedTensor.TENSOR);
    if (canMove(storage)) {
      lendUnmoved(storage);
      return;
    }
    if (storage.nbytes > 0 && ++misses % SAMPLE === 0) rememberAddress(buffer, half, storage.start);
  }
  descriptor.wasViewed = true;
  lend(storage);
}

// Many tensors lie over a buffer that earlier calls have used. Engines never move a buffer, so its address stays valid
// until it is detached, which each call checks. An insertion takes longer than asking for the address, so only every 31st
// buffer is remembered: a buffer in frequent use soon is, and most other buffers never are. The methods are own properties,
// because a patched method could return any address.
const addresses: Pick<WeakMap<ArrayBufferLike, number>, 'get' | 'set'> = Object.assign(new WeakMap(), {
  get: WeakMap.prototype.get,
  set: WeakMap.prototype.set,
});
const SAMPLE = 31;
let misses = 0;

/** The address of a buffer, if it is remembered; otherwise 0. */
function addressOf(buffer: ArrayBufferLike): number {
  return addresses.get(buffer) ?? 0;
}

function rememberAddress(buffer: ArrayBufferLike, half: number, start: number): void {
  const address = (u32[half + 1] as number) * 2 ** 32 + (u32[half] as number) - start;
  if (Number.isSafeInteger(address)) addresses.set(buffer, address);
}
