/**
 * Tensors as objects of TVM-FFI: made once for each descriptor, so that passing a tensor is two stores.
 *
 * @module
 */

import type { Descriptor } from '../descriptor.js';
import { BufferError } from '../errors.js';
import { placeOf, withNative } from '../native/export.js';
import { writeDescriptor } from '../native/frame.js';
import { pinBuffer } from '../native/pin-buffer.js';
import { checkStatus } from '../native/status.js';
import { f64, OBJECT, SLOT, Type, u32, VIEW } from './call-frame.js';
import { ffi } from './library.js';
import { keepForCall, ObjectHandle, ObjectOwner } from './objects.js';

/** A native object for the elements of a descriptor, and the `DLTensor` inside it. */
export class TensorObject extends ObjectHandle {
  readonly view: number;

  constructor(pointer: number, view: number, number: number, descriptor: Descriptor) {
    const { storage } = descriptor;
    storage.attached ??= new Set();
    super(pointer, Type.tensor, number, storage.attached);
    this.view = view;
  }
}

/**
 * The object of a tensor, or null for memory that native code must not keep. It goes with the storage, and with the
 * descriptor when the collector finds that first.
 */
export function tensorObject(descriptor: Descriptor): TensorObject | null {
  if (descriptor.native !== null) return descriptor.native as TensorObject;
  if (placeOf(descriptor) === 'copy') return null;
  const object = withNative(descriptor, false, () => {
    ffi.makeTensor();
    checkStatus();
    return new TensorObject(f64[OBJECT] as number, f64[VIEW] as number, u32[SLOT] as number, descriptor);
  });
  descriptor.native = object;
  return object;
}

/** The `DLTensor` of memory that JavaScript owns, good until the call is over. */
export function borrowTensor(descriptor: Descriptor): number {
  if ((descriptor.bitOffset & 7) !== 0) {
    throw new BufferError(
      `Expected ${descriptor.dtype.name} elements that start on a byte but this view starts inside one; pass a copy() instead`,
    );
  }
  const { storage } = descriptor;
  const pinned = pinBuffer(storage.buffer(), storage.start, storage.nbytes);
  keepForCall(pinned);
  writeDescriptor(descriptor, pinned.handle);
  ffi.makeTensor();
  checkStatus();
  const view = f64[VIEW] as number;
  const owner = new ObjectOwner(u32[SLOT] as number, null);
  keepForCall({ release: () => owner.free() });
  return view;
}
