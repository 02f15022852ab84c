/**
 * One value, repeated without memory for the repetitions.
 *
 * @module
 */

import { cpu } from '../device.js';
import { sizeBytes } from '../dtype.js';
import { Descriptor, Flag } from '../storage/descriptor.js';
import { BufferStorage } from '../storage/storage.js';
import { elementCodec } from './element.js';

/** A descriptor with the shape and dtype of `target` in which every element is `value`, with the checks of `set`. */
export function scalarSource(target: Descriptor, value: unknown): Descriptor {
  const { dtype, shape } = target;
  const nbytes = sizeBytes(dtype, 1);
  const storage = new BufferStorage(new ArrayBuffer(nbytes), 0, nbytes);
  elementCodec(dtype).write(new DataView(storage.buffer()), 0, value);
  return new Descriptor(
    storage,
    dtype,
    cpu,
    shape,
    new Array(shape.length).fill(0),
    0,
    target.flags & Flag.subBytePadded,
  );
}
