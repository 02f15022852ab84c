/**
 * Uploads files to a device through two blocks of pinned memory: one is filled while the other is copied.
 *
 * @module
 */

import { type DeviceInfo, parseDevice } from '../device.js';
import { dtypeFromName } from '../dtype.js';
import { UnsupportedDeviceError } from '../errors.js';
import { allocateLike } from '../storage/allocate.js';
import { Descriptor, Flag } from '../storage/descriptor.js';
import { type DeviceBackend, getDeviceBackend } from '../storage/device-backend.js';
import { convertElementsAsync } from '../values/convert.js';
import type { LoadOptions } from './opened.js';

const uint8 = dtypeFromName('uint8');
/** Bytes of each block: large enough to make the start of a copy negligible, and small enough to pin quickly. */
const BLOCK = 16 << 20;

/** Bytes `start` to `start + length` of a storage, as a tensor. */
function bytesOf({ storage, device }: Descriptor, start: number, length: number): Descriptor {
  return new Descriptor(storage, uint8, device, [length], [1], start * 8, 0);
}

/** A tensor that is being uploaded. Its memory exists, and its elements are complete when the promise resolves. */
export interface Arriving {
  readonly target: Descriptor;
  readonly arrived: Promise<void>;
}

/** Two pinned blocks for a sequence of tensors. */
export class Uploader {
  private readonly device: DeviceInfo;
  private readonly backend: DeviceBackend;
  private readonly blocks: Descriptor[];
  /** The last copy out of each block. */
  private readonly copies: Promise<void>[];
  private turn: number;

  constructor(device: DeviceInfo) {
    const backend = getDeviceBackend(device);
    if (backend === null) {
      const hint = device.kind.startsWith('cuda') ? '; import "dlpack/cuda" first' : '';
      throw new UnsupportedDeviceError(
        device.name,
        `Expected a device this process can allocate on but received '${device.name}'${hint}`,
      );
    }
    this.device = device;
    this.backend = backend;
    this.blocks = [];
    this.copies = [];
    this.turn = 0;
  }

  /** Sends a host tensor and releases it. The elements keep their order in memory. */
  async send(name: string, source: Descriptor, { signal, onProgress }: LoadOptions): Promise<Arriving> {
    const { dtype, shape, strides, nbytes } = source;
    const flags = source.flags & Flag.subBytePadded;
    const first = source.bitOffset / 8;
    const sent: Promise<void>[] = [];
    let target: Descriptor | null = null;
    try {
      const { storage } = allocateLike(shape, dtype, flags, this.device);
      target = new Descriptor(storage, dtype, this.device, shape, strides, 0, flags);
      for (let at = 0; at < nbytes; at += BLOCK) {
        const length = Math.min(BLOCK, nbytes - at);
        const block = bytesOf(await this.freeBlock(), 0, length);
        signal?.throwIfAborted();
        await convertElementsAsync(bytesOf(source, first + at, length), block);
        sent.push(this.copy(block, bytesOf(target, at, length)));
        onProgress?.({ name, loaded: at + length, total: nbytes });
      }
      return { target, arrived: Promise.all(sent).then(() => undefined) };
    } catch (error) {
      await Promise.allSettled(sent);
      target?.storage.release();
      throw error;
    } finally {
      source.storage.release();
    }
  }

  /** Waits for the last copy out of the next block and returns the block. */
  private async freeBlock(): Promise<Descriptor> {
    const { turn } = this;
    await this.copies[turn];
    this.blocks[turn] ??= allocateLike([BLOCK], uint8, 0, parseDevice('cuda_host'));
    return this.blocks[turn];
  }

  private copy(block: Descriptor, part: Descriptor): Promise<void> {
    const copied = this.backend.copyAsync(block, part);
    copied.catch(() => undefined); // the consumer of the tensor gets the error
    this.copies[this.turn] = copied;
    this.turn ^= 1;
    return copied;
  }

  /** Releases the blocks, after the last copies out of them. */
  async release(): Promise<void> {
    await Promise.allSettled(this.copies);
    for (const block of this.blocks) block?.storage.release();
  }
}
