/**
 * From a file to a device: through two blocks of pinned memory, one being filled while the other is on its way.
 *
 * @module
 */

import { type DeviceInfo, parseDevice } from '../device.js';
import { dtypeFromName } from '../dtype.js';
import { UnsupportedDeviceError } from '../errors.js';
import { allocateLike } from '../storage/allocate.js';
import { Descriptor, Flag } from '../storage/descriptor.js';
import { getDeviceBackend } from '../storage/device-backend.js';
import { convertElementsAsync } from '../values/convert.js';
import type { LoadOptions } from './opened.js';

const uint8 = dtypeFromName('uint8');
/** Bytes of each block: large enough that the start of a copy does not count, small enough to pin without a thought. */
const BLOCK = 16 << 20;

/** Bytes `start` to `start + length` of a tensor's storage, as bytes. */
function bytesOf({ storage, device }: Descriptor, start: number, length: number): Descriptor {
  return new Descriptor(storage, uint8, device, [length], [1], start * 8, 0);
}

/** Moves a host tensor to a device and releases it. The elements keep their order in memory. */
export async function loadOnto(
  device: DeviceInfo,
  name: string,
  source: Descriptor,
  { signal, onProgress }: LoadOptions,
): Promise<Descriptor> {
  try {
    const backend = getDeviceBackend(device);
    if (backend === null) {
      const hint = device.kind.startsWith('cuda') ? '; import "dlpack/cuda" first' : '';
      throw new UnsupportedDeviceError(
        device.name,
        `Expected a device this process can allocate on but received '${device.name}'${hint}`,
      );
    }
    const { dtype, shape, strides, flags, nbytes } = source;
    const { storage } = allocateLike(shape, dtype, flags & Flag.subBytePadded, device);
    const target = new Descriptor(storage, dtype, device, shape, strides, 0, flags & Flag.subBytePadded);
    const first = source.bitOffset / 8;
    const pinned: Descriptor[] = [];
    const inFlight: Promise<void>[] = [];
    try {
      for (let i = 0; i < 2 && nbytes > 0; i++) pinned.push(allocatePinned(nbytes));
      for (let at = 0, turn = 0; at < nbytes; at += BLOCK, turn ^= 1) {
        const length = Math.min(BLOCK, nbytes - at);
        const block = bytesOf(pinned[turn] as Descriptor, 0, length);
        await inFlight[turn]; // the block's last copy
        signal?.throwIfAborted();
        await convertElementsAsync(bytesOf(source, first + at, length), block);
        inFlight[turn] = backend.copyAsync(block, bytesOf(target, at, length));
        onProgress?.({ name, loaded: at + length, total: nbytes });
      }
      await Promise.all(inFlight);
      return target;
    } catch (error) {
      await Promise.allSettled(inFlight);
      target.storage.release();
      throw error;
    } finally {
      for (const block of pinned) block.storage.release();
    }
  } finally {
    source.storage.release();
  }
}

function allocatePinned(nbytes: number): Descriptor {
  return allocateLike([Math.min(BLOCK, nbytes)], uint8, 0, parseDevice('cuda_host'));
}
