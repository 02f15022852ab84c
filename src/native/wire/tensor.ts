/** Tensors on the wire: the only description of tensors to and from native code. */

import { deviceFromType } from '../../device.js';
import { dtypeFromCode } from '../../dtype.js';
import { Descriptor } from '../../storage/descriptor.js';
import { findLayout, KNOWN_FLAGS, type Layout } from '../../storage/layouts.js';
import { NativeStorage, releaseHandle } from '../memory/storage.js';
import { keptLayout, numberOf, writeLayout } from './layouts.js';
import { WireTensor } from './wire-layout.js';

/**
 * Describes a tensor whose storage has the handle `handle`, at the word `at`. The layout follows, two words for each axis,
 * if it has no number.
 */
export function writeTensor(at: number, descriptor: Descriptor, handle: number, trace: number): void {
  const { layout } = descriptor;
  const number = numberOf(layout);
  WireTensor.setHandle(at, handle);
  WireTensor.setLayout(at, number);
  WireTensor.setByteOffset(at, descriptor.bitOffset / 8);
  WireTensor.setTrace(at, trace);
  if (number === 0) writeLayout(at, layout);
}

/** Makes the storage of a tensor that native code described, from the handle and the size. */
type MakeStorage = (handle: number, nbytes: number) => NativeStorage;

const makeStorage: MakeStorage = (handle, nbytes) => new NativeStorage(handle, nbytes, false);

/**
 * The tensor that native code described at the word `at`, as a descriptor that owns the reference. Everything is read before
 * the storage is made, because debug mode may run a program's code then. Drops the tensor's reference and throws if its
 * dtype or device is unknown.
 */
export function takeTensor(at: number, make: MakeStorage = makeStorage): Descriptor {
  const layout = layoutAt(at);
  const bitOffset = toInteger(WireTensor.byteOffset(at) * 8);
  const nbytes = toInteger(WireTensor.nbytes(at));
  return new Descriptor(make(WireTensor.handle(at), nbytes), layout, bitOffset);
}

/** The layout of the tensor at the word `at`. Drops the tensor's reference and throws if its dtype or device is unknown. */
export function layoutAt(at: number): Layout {
  return keptLayout(WireTensor.layout(at)) ?? readLayout(at);
}

function readLayout(at: number): Layout {
  try {
    const ndim = WireTensor.ndim(at);
    const packed = WireTensor.dtype(at);
    const layout = findLayout(
      dtypeFromCode(packed & 0xff, (packed >> 8) & 0xff, packed >>> 16),
      deviceFromType(WireTensor.deviceType(at), WireTensor.deviceId(at)),
      readNumbers(at, 0, ndim),
      readNumbers(at, ndim, ndim),
      WireTensor.flags(at) & KNOWN_FLAGS,
    );
    numberOf(layout); // the next import finds it by its number
    return layout;
  } catch (error) {
    releaseHandle(WireTensor.handle(at));
    throw error;
  }
}

/** Lengths, or after them strides. */
function readNumbers(at: number, first: number, count: number): readonly number[] {
  const numbers = new Array<number>(count);
  for (let i = 0; i < count; i++) numbers[i] = toInteger(WireTensor.shape(at, first + i));
  return numbers;
}

/** The same number, as a small integer if possible, because engines store those without a box. */
function toInteger(value: number): number {
  const small = value | 0;
  return small === value ? small : value;
}
