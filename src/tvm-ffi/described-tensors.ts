/**
 * Tensors without objects. Many tensors are made for one call, and an object costs as much as the rest of such a call. So
 * the first call that uses a tensor describes it on the wire. If the callee needs an object, native code makes one for the
 * length of the call.
 */

import { placeOf } from '../native/export.js';
import { NativeStorage } from '../native/native-storage.js';
import { errorOfTensor } from '../native/status.js';
import { wire } from '../native/wire.js';
import { Status, WireHeader } from '../native/wire-layout.js';
import { sendTensor } from '../native/wire-tensor.js';
import { isDebug } from '../storage/debug.js';
import type { Descriptor } from '../storage/descriptor.js';
import { BufferStorage, type Storage } from '../storage/storage.js';
import { descriptorOf, type TensorView } from '../view.js';
import { ANY_WORDS, DESCRIBED, payloadAt, typeAt } from './any.js';
import { takeRaised } from './errors.js';
import { ffi } from './library.js';
import { callState, keepForCall, lend, TemporaryObject } from './objects.js';
import { enter } from './slot.js';
import { canMove, checkByte, lendUnmoved, readFixed } from './tensor-object.js';
import { CallRequest, DescribedTensor } from './wire-layout.js';

const { f64, i32, u32 } = wire;
// Constants of this module, because an import from another chunk of dist costs a load and a check at each use.
const Buffers = BufferStorage;
const OwnStorage = NativeStorage;
/** The class as it was when this module was loaded. A patched class would run user code right before a call. */
const Bytes = globalThis.Uint8Array;

// What follows the type of a described value until the call is made: whether it is a view, or the index of its descriptor
// among the temporaries of the call.
const OWNER = -1;
const VIEW = -2;
/** The payload of such a value in native memory. JavaScript memory has the address of its buffer, or 0. */
const NATIVE = -1;

/**
 * Marks the value at a word of the call that is being prepared as a tensor that {@link describeAll} describes. Returns
 * false if the tensor should get an object, because another call has used it before. JavaScript memory that can move never
 * gets one.
 */
export function describeLater(at: number, descriptor: Descriptor, isView: boolean): boolean {
  if (descriptor.wasViewed) return false;
  const { storage } = descriptor;
  if (storage instanceof OwnStorage && !storage.endsWithWorker) {
    if (isDebug()) return false;
    descriptor.wasViewed = true;
    f64[payloadAt(at)] = NATIVE;
  } else if (!markMemory(at, descriptor)) return false;
  if ((descriptor.bitOffset & 7) !== 0) checkByte(descriptor);
  i32[typeAt(at)] = DESCRIBED;
  i32[typeAt(at) + 1] = isView ? VIEW : OWNER;
  return true;
}

/** Marks JavaScript memory, or native memory that ends with this worker. False for memory that an object can keep. */
function markMemory(at: number, descriptor: Descriptor): boolean {
  const { storage } = descriptor;
  const isFixed = !(storage instanceof Buffers) || storage.buffer === readFixed;
  const address = isFixed && storage instanceof Buffers ? addressOf(storage.unchecked) : 0; // checked before the call
  if (address === 0 && placeOf(descriptor) === 'pin') return false;
  descriptor.wasViewed = isFixed;
  f64[payloadAt(at)] = address;
  return true;
}

/** Marks the described tensor at a word as imported for the call. `index` is its descriptor among the temporaries. */
export function markImported(at: number, index: number): void {
  i32[typeAt(at) + 1] = index;
}

/**
 * Describes the marked tensors of a call, each in a slot that is freed when the call ends. This happens right before the
 * call, because the code of a later argument or of a stream provider may have disposed a tensor, and its handle may belong
 * to another tensor now. It runs no user code: even `instanceof` would, for a proxy.
 */
export function describeAll(first: number, args: readonly unknown[]): void {
  for (let i = 0; i < args.length; i++) {
    const at = first + i * ANY_WORDS;
    if (i32[typeAt(at)] !== DESCRIBED) continue;
    const mark = i32[typeAt(at) + 1] as number;
    const address = f64[payloadAt(at)] as number;
    const descriptor =
      mark < 0 ? descriptorOf(args[i] as TensorView) : (callState.temporaries[mark] as unknown as Descriptor);
    const { storage } = descriptor;
    const slot = enter(DescribedTensor.WORDS + 2 * descriptor.shape.length);
    if (address === NATIVE) f64[slot + DescribedTensor.ADDRESS] = 0;
    else writeMemory(slot, storage, address);
    u32[slot * 2 + DescribedTensor.IS_VIEW] = mark === VIEW ? 1 : 0;
    const handle = address === NATIVE ? (storage as NativeStorage).handle : 0;
    sendTensor(slot + DescribedTensor.TENSOR, descriptor, handle, 0);
    f64[payloadAt(at)] = slot;
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
function writeMemory(slot: number, storage: Storage, address: number): void {
  const half = (slot + DescribedTensor.ADDRESS) * 2;
  f64[slot + DescribedTensor.NBYTES] = storage.nbytes;
  if (address !== 0) {
    const start = address + storage.start;
    u32[half] = start;
    u32[half + 1] = start / 2 ** 32;
  } else {
    const buffer = storage.buffer();
    u32[WireHeader.SLOT] = slot;
    ffi.readAddress(new Bytes(buffer, storage.start, storage.nbytes));
    const status = i32[slot * 2 + DescribedTensor.STATUS] as number;
    if (status !== Status.ok) throw errorOfTensor(status, slot + DescribedTensor.TENSOR);
    if (canMove(storage)) {
      lendUnmoved(storage);
      return;
    }
    if (storage.nbytes > 0 && ++misses % SAMPLE === 0) rememberAddress(buffer, half, storage.start);
  }
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
