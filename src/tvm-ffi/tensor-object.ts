/**
 * Tensors as objects of TVM-FFI: made once for each descriptor, so that passing a tensor is two stores.
 *
 * @module
 */

import { BufferError } from '../errors.js';
import { enterExport, leaveExport, placeOf, withMemory } from '../native/export.js';
import { enter, wire } from '../native/wire.js';
import { ExportRequest, WireHeader } from '../native/wire-layout.js';
import { writeTensor } from '../native/wire-tensor.js';
import type { Descriptor } from '../storage/descriptor.js';
import { f64, OBJECT, SLOT, Type, u32, VIEW } from './call-frame.js';
import { ffi } from './library.js';
import { lend, ObjectHandle } from './objects.js';

/**
 * A native object for the elements of a descriptor, and the `DLTensor` inside it. It goes with the storage, and with the
 * descriptor when the collector finds that first.
 */
export class TensorObject extends ObjectHandle {
  readonly view: number;
  /** False: the memory belongs to JavaScript, and native code may use it during a call only. */
  readonly isOwning: boolean;

  constructor(descriptor: Descriptor, isOwning: boolean) {
    const { storage } = descriptor;
    storage.attached ??= new Set();
    super(f64[OBJECT] as number, Type.tensor, u32[SLOT] as number, storage.attached);
    this.view = f64[VIEW] as number;
    this.isOwning = isOwning;
  }
}

/** The object of a tensor. Memory that belongs to JavaScript is noted, and checked right before native code runs. */
export function tensorObject(descriptor: Descriptor): TensorObject {
  let object = descriptor.tvmObject as TensorObject | null;
  if (object === null) {
    object = placeOf(descriptor) === 'copy' ? borrow(descriptor) : own(descriptor);
    descriptor.tvmObject = object;
  }
  // Engines never move a buffer, so one that is not detached is still at the address in the object.
  if (!object.isOwning) lend(descriptor.storage);
  return object;
}

function own(descriptor: Descriptor): TensorObject {
  return withMemory(descriptor, false, (ready) => {
    const slot = enterExport(ready);
    wire.u32[WireHeader.SLOT] = slot;
    ffi.makeTensor();
    leaveExport(slot);
    return new TensorObject(descriptor, true);
  });
}

function borrow(descriptor: Descriptor): TensorObject {
  if ((descriptor.bitOffset & 7) !== 0) {
    throw new BufferError(
      `Expected ${descriptor.dtype.name} elements that start on a byte but this view starts inside one; pass a copy() instead`,
    );
  }
  const { storage } = descriptor;
  const bytes = new Uint8Array(storage.buffer(), storage.start, storage.nbytes);
  const slot = enter(ExportRequest.WORDS + 2 * descriptor.shape.length);
  writeTensor(slot + ExportRequest.TENSOR, descriptor, 0, 0);
  wire.u32[WireHeader.SLOT] = slot;
  ffi.borrowTensor(bytes);
  leaveExport(slot);
  return new TensorObject(descriptor, false);
}
