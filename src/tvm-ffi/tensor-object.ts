/** Tensors as TVM-FFI objects, made once for each descriptor, so that passing a tensor takes two stores. */

import { cpu } from '../device.js';
import { BufferError, DisposedError } from '../errors.js';
import { placeOf, withMemory } from '../native/export.js';
import type { NativeStorage } from '../native/native-storage.js';
import { errorOfTensor } from '../native/status.js';
import { wire } from '../native/wire.js';
import { Status, WireHeader } from '../native/wire-layout.js';
import { writeTensor } from '../native/wire-tensor.js';
import { isDebug, recordExport } from '../storage/debug.js';
import type { Descriptor } from '../storage/descriptor.js';
import { BufferStorage, type Storage } from '../storage/storage.js';
import { Type } from './any.js';
import { ffi } from './library.js';
import { lend, ObjectHandle } from './objects.js';
import { enter, leave } from './slot.js';
import { TensorObjectRequest } from './wire-layout.js';

const { f64, i32, u32 } = wire;
// Constants of this module, because an import from another chunk of dist costs a load and a check at each use.
const Buffers = BufferStorage;
/** The method of memory that never moves. */
export const readFixed = BufferStorage.prototype.buffer;

/**
 * A native object for the elements of a descriptor, and the `DLTensor` inside it. It is released with the storage, or
 * with the descriptor if the garbage collector finds the descriptor unreachable first.
 */
export class TensorObject extends ObjectHandle {
  readonly view: number;
  /** False for JavaScript memory, which native code may use only during a call. */
  readonly isOwning: boolean;
  /** True when it is owning and on the host, so that a call needs nothing but its address. */
  readonly isPlain: boolean;

  /** Takes the object from the request in a slot. */
  constructor(descriptor: Descriptor, isOwning: boolean, slot: number) {
    const { storage } = descriptor;
    storage.attached ??= new Set();
    super(
      f64[slot + TensorObjectRequest.OBJECT] as number,
      Type.tensor,
      u32[slot * 2 + TensorObjectRequest.REFERENCE] as number,
      storage.attached,
    );
    this.view = f64[slot + TensorObjectRequest.VIEW] as number;
    this.isOwning = isOwning;
    this.isPlain = isOwning && descriptor.device === cpu;
  }
}

/** The object of a tensor. JavaScript memory is recorded, and checked right before native code runs. */
export function tensorObject(descriptor: Descriptor): TensorObject {
  let object = descriptor.tvmObject as TensorObject | null;
  if (object === null) {
    object = placeOf(descriptor) === 'copy' ? borrow(descriptor) : own(descriptor);
    if (!object.isOwning && canMove(descriptor.storage)) {
      lendUnmoved(descriptor.storage);
      return object; // not kept, because the next call may find the memory elsewhere
    }
    descriptor.tvmObject = object;
  }
  // Engines never move a buffer, so a buffer that is not detached is still at the object's address.
  if (!object.isOwning) lend(descriptor.storage);
  return object;
}

/** True for JavaScript memory that continues in another buffer when it grows, which is WebAssembly memory. */
export function canMove(storage: Storage): boolean {
  return storage instanceof Buffers && storage.buffer !== readFixed;
}

/** Lends memory that can move. Native code has its address, so the call ends when the memory has grown. */
export function lendUnmoved(storage: Storage): void {
  const before = storage.buffer();
  lend({
    buffer: () => {
      if (storage.buffer() === before) return;
      throw new DisposedError(
        'The WebAssembly memory of a tensor grew during a call that uses the tensor; grow the memory before the call',
      );
    },
  });
}

function own(descriptor: Descriptor): TensorObject {
  return withMemory(descriptor, false, (ready) => {
    const trace = isDebug() ? recordExport() : 0; // first, because user code may hook stack traces
    const slot = begin(ready, (ready.storage as NativeStorage).handle, trace);
    ffi.makeTensor();
    return finish(slot, descriptor, true);
  });
}

function borrow(descriptor: Descriptor): TensorObject {
  checkByte(descriptor);
  const { storage } = descriptor;
  const bytes = new Uint8Array(storage.buffer(), storage.start, storage.nbytes);
  const slot = begin(descriptor, 0, 0);
  ffi.borrowTensor(bytes);
  return finish(slot, descriptor, false);
}

/** Throws for a tensor that starts inside a byte. */
export function checkByte({ bitOffset, dtype }: Descriptor): void {
  if ((bitOffset & 7) === 0) return;
  throw new BufferError(
    `Expected ${dtype.name} elements that start on a byte but this view starts inside one; pass a copy() instead`,
  );
}

function begin(descriptor: Descriptor, handle: number, trace: number): number {
  const slot = enter(TensorObjectRequest.WORDS + 2 * descriptor.shape.length);
  writeTensor(slot + TensorObjectRequest.TENSOR, descriptor, handle, trace);
  u32[WireHeader.SLOT] = slot;
  return slot;
}

function finish(slot: number, descriptor: Descriptor, isOwning: boolean): TensorObject {
  leave(slot);
  const status = i32[slot * 2 + TensorObjectRequest.STATUS] as number;
  if (status !== Status.ok) throw errorOfTensor(status, slot + TensorObjectRequest.TENSOR);
  return new TensorObject(descriptor, isOwning, slot);
}
