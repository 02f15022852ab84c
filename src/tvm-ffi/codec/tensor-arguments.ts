/**
 * Tensors among the values of a request. Many tensors are made for one call, so the first request that uses a tensor
 * describes it on the wire, and native code makes an object for the length of the request. The second one makes an object
 * that stays, and then a tensor is one address.
 */

import { Bytes } from '../../base/primordials.js';
import { cpu } from '../../device.js';
import { BufferError, DisposedError } from '../../errors.js';
import { placeOf, withMemory } from '../../native/exchange/export.js';
import { NativeStorage } from '../../native/memory/storage.js';
import { writeTensor } from '../../native/wire/tensor.js';
import { enter, leave } from '../../native/wire/wire.js';
import { WireHeader } from '../../native/wire/wire-layout.js';
import { isDebug, recordExport } from '../../storage/debug.js';
import type { Descriptor } from '../../storage/descriptor.js';
import { BufferStorage, type Storage } from '../../storage/storage.js';
import { useOnStream } from '../calls/call-stream.js';
import { HeldReference, hold, holdTensor, lend, running } from '../calls/held.js';
import { ffi } from '../library.js';
import { takeRaised } from '../objects/errors.js';
import { ObjectHandle } from '../objects/objects.js';
import { Any, TensorArgument, WireType } from '../wire-layout.js';
import { Type, writeAny } from './any.js';
import { addressOfBuffer, rememberAddress } from './buffer-addresses.js';

/** The method of memory that never moves. */
const readFixed = BufferStorage.prototype.buffer;

/** A native object for the elements of a descriptor. It is released with the storage, or with the descriptor. */
class TensorObject extends ObjectHandle {
  /** The `DLTensor` inside it. */
  readonly view: number;
  /** True when it is owning and on the host, so that a call needs nothing but its address. */
  readonly isPlain: boolean;

  /** Takes the object from the message in a slot. */
  constructor(
    { storage, device }: Descriptor,
    slot: number,
    /** False for memory that native code may use only during a call. */
    readonly isOwning: boolean,
  ) {
    storage.attached ??= new Set();
    super(TensorArgument.object(slot), Type.tensor, TensorArgument.reference(slot), storage.attached);
    this.view = TensorArgument.view(slot);
    this.isPlain = isOwning && device === cpu;
  }
}

/** What `attached` of a descriptor is between the first request that uses it and the second. */
const USED: object = {};

/** Writes a tensor as the value at a word. `isView`: the callee may not keep it. */
export function writeTensorArgument(at: number, descriptor: Descriptor, isView: boolean): void {
  const { attached } = descriptor;
  if (!(attached instanceof TensorObject)) writeWithoutObject(at, descriptor, isView);
  else if (attached.isPlain && !isView) writeAny(at, Type.tensor, attached.pointer);
  else writeAgain(at, descriptor, attached, isView);
}

function writeAgain(at: number, descriptor: Descriptor, object: TensorObject, isView: boolean): void {
  const { storage } = descriptor;
  if (descriptor.device !== cpu) useOnDevice(descriptor);
  // Engines never move a buffer, so the memory is where it was, unless it was detached, which the call checks.
  if (!object.isOwning && storage instanceof BufferStorage) lend(storage);
  writeTensorObject(at, object, isView);
}

/** An owning object is also accepted by callees that take a view. */
function writeTensorObject(at: number, object: TensorObject, isView: boolean): void {
  if (object.isOwning && !isView) writeAny(at, Type.tensor, object.pointer);
  else writeAny(at, Type.tensorView, object.view);
}

/** The first device other than the host determines the stream of the call. */
function useOnDevice(descriptor: Descriptor): void {
  useOnStream(descriptor);
  running.device ??= descriptor.device;
}

function writeWithoutObject(at: number, descriptor: Descriptor, isView: boolean): void {
  const { storage } = descriptor;
  if (descriptor.device !== cpu) useOnDevice(descriptor);
  if ((descriptor.bitOffset & 7) !== 0) throw insideByte(descriptor);
  const place = placeOf(descriptor);
  // An object for memory that moves would be wrong in the next call. Debug mode records objects, not descriptions.
  if (canMove(storage) || (descriptor.attached === null && place !== 'pin' && !isDebug())) {
    if (!canMove(storage)) descriptor.attached = USED;
    const slot = describe(descriptor, storage, holdTensor(descriptor), 0);
    writeAny(at, isView || place === 'copy' ? WireType.lentTensor : WireType.tensor, slot);
    return;
  }
  const object =
    place === 'copy'
      ? keepObject(descriptor, descriptor)
      : withMemory(descriptor, false, (ready) => keepObject(descriptor, ready));
  descriptor.attached = object;
  writeTensorObject(at, object, isView);
}

/** Gives a lent tensor at a word an object until the call ends, for values that leave the wire before the call. */
export function keepLent(at: number): void {
  if (Any.type(at) !== WireType.lentTensor) return;
  const slot = Any.payload(at);
  WireHeader.setSlot(slot);
  ffi.keepTensor();
  if (TensorArgument.status(slot) !== 0) throw takeRaised();
  hold(new HeldReference(TensorArgument.reference(slot)));
  writeAny(at, Type.tensorView, TensorArgument.view(slot));
}

/** Makes an object that stays. `ready` is the tensor in memory that native code may keep, or lent memory. */
function keepObject(descriptor: Descriptor, ready: Descriptor): TensorObject {
  const isOwning = placeOf(ready) === 'native';
  const trace = isOwning && isDebug() ? recordExport(ready) : 0;
  const slot = describe(ready, ready.storage, 0, trace);
  WireHeader.setSlot(slot);
  ffi.keepTensor();
  leave(slot);
  if (TensorArgument.status(slot) !== 0) throw takeRaised();
  return new TensorObject(descriptor, slot, isOwning);
}

/** Describes a tensor in a slot. `held`: the number under which the call holds it. */
function describe(descriptor: Descriptor, storage: Storage, held: number, trace: number): number {
  const slot = enter(TensorArgument.WORDS + 2 * descriptor.shape.length);
  const handle = storage instanceof NativeStorage ? storage.handle : 0;
  TensorArgument.setAddressLow(slot, 0);
  TensorArgument.setAddressHigh(slot, 0);
  TensorArgument.setHeld(slot, held);
  writeTensor(TensorArgument.tensorAt(slot), descriptor, handle, trace);
  if (handle === 0) lendMemory(slot, storage);
  return slot;
}

function insideByte({ dtype }: Descriptor): BufferError {
  return new BufferError(
    `Expected ${dtype.name} elements that start on a byte but this view starts inside one; pass a copy() instead`,
  );
}

/** True for JavaScript memory that continues in another buffer when it grows, which is WebAssembly memory. */
function canMove(storage: Storage): boolean {
  return storage instanceof BufferStorage && storage.buffer !== readFixed;
}

/** Writes where JavaScript memory is, and lends it to the call. */
function lendMemory(slot: number, storage: Storage): void {
  const buffer = storage.buffer();
  const isFixed = !canMove(storage);
  const address = isFixed ? addressOfBuffer(buffer) : 0;
  TensorArgument.setNbytes(slot, storage.nbytes);
  if (address !== 0) {
    const start = address + storage.start;
    TensorArgument.setAddressLow(slot, start);
    TensorArgument.setAddressHigh(slot, start / 2 ** 32);
  } else {
    WireHeader.setSlot(slot);
    ffi.readAddress(new Bytes(buffer, storage.start, storage.nbytes));
    if (TensorArgument.status(slot) !== 0) throw takeRaised();
    if (isFixed && storage.nbytes > 0) {
      const start = TensorArgument.addressHigh(slot) * 2 ** 32 + TensorArgument.addressLow(slot);
      rememberAddress(buffer, start - storage.start);
    }
  }
  lend(isFixed ? storage : unmoved(storage, buffer));
}

/** WebAssembly memory moves when it grows. Native code has its address, so the call ends then. */
function unmoved(storage: Storage, before: ArrayBufferLike): { buffer(): void } {
  return {
    buffer: () => {
      if (storage.buffer() === before) return;
      throw new DisposedError(
        'The WebAssembly memory of a tensor grew during a call that uses the tensor; grow the memory before the call',
      );
    },
  };
}
