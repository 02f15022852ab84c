/**
 * Uploads files to a device through blocks of pinned memory: one is filled while others are copied.
 *
 * @module
 */

import { type DeviceInfo, parseDevice } from '../device.js';
import { type DTypeInfo, dtypeFromName } from '../dtype.js';
import { UnsupportedDeviceError } from '../errors.js';
import { allocateLike } from '../storage/allocate.js';
import { Descriptor, Flag } from '../storage/descriptor.js';
import { type DeviceBackend, getDeviceBackend } from '../storage/device-backend.js';
import { convertElementsAsync } from '../values/convert.js';
import type { LoadOptions, Progress } from './opened.js';

const uint8 = dtypeFromName('uint8');
/**
 * Bytes of a block: large enough that many threads fill it at once. Measured on an H200 with 16 cores: blocks of 8 MiB
 * are filled at 26 GB/s, which is half of what the bus takes.
 */
const BLOCK = 32 << 20;
/** Small tensors need smaller blocks: pinning a MiB takes half a millisecond. */
const SMALLEST = 256 << 10;
/** One block is filled while others are copied. */
const BLOCKS = 3;
/** How long blocks are kept for the next upload, such as that of the next shard, in milliseconds. */
const PATIENCE = 1000;

/** Unused pinned blocks of the full size. */
const idle: Descriptor[] = [];
let isTimed = false;

function keep(block: Descriptor): void {
  idle.push(block);
  if (isTimed) return;
  isTimed = true;
  const timer = setTimeout(() => {
    isTimed = false;
    for (const { storage } of idle.splice(0)) storage.release();
  }, PATIENCE) as unknown as { unref?: () => void };
  timer.unref?.();
}

/** Bytes `start` to `start + length` of a storage, as a tensor. */
function bytesOf({ storage, device }: Descriptor, start: number, length: number): Descriptor {
  return new Descriptor(storage, uint8, device, [length], [1], start * 8, 0);
}

/** A tensor in host memory: where its bytes begin in a run, and its layout, which it keeps on the device. */
export interface Sent {
  readonly name: string;
  readonly offset: number;
  readonly nbytes: number;
  readonly dtype: DTypeInfo;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly flags: number;
}

/** Tensors that are being uploaded. Their memory exists, and their elements are complete when the promise resolves. */
export interface Arriving {
  readonly targets: readonly Descriptor[];
  readonly arrived: Promise<void>;
}

/** A block that holds the bytes up to `end`, and its number. */
interface Filled {
  readonly block: Descriptor;
  readonly turn: number;
  readonly end: number;
}

/** Waits for all copies, and rejects with the first error only then, because the others still use the block. */
async function allDone(copies: readonly Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(copies)).find(({ status }) => status === 'rejected');
  if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
}

/** Pinned blocks for a sequence of tensors. */
export class Uploader {
  private readonly device: DeviceInfo;
  private readonly backend: DeviceBackend;
  private readonly blocks: Descriptor[];
  /** The last copy out of each block. */
  private readonly copies: Promise<void>[];
  private turn: number;
  private readonly blockBytes: number;

  /** `total`: bytes that are sent in all, or more. */
  constructor(device: DeviceInfo, total: number) {
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
    const share = Math.ceil(total / BLOCKS / SMALLEST) * SMALLEST;
    this.blockBytes = Math.min(BLOCK, Math.max(SMALLEST, share));
  }

  /** Sends a host tensor and releases it. The elements keep their order in memory. */
  async send(name: string, source: Descriptor, loading: LoadOptions): Promise<Arriving> {
    const { dtype, shape, strides, nbytes, flags } = source;
    const first = source.bitOffset / 8;
    return this.sendRun(
      bytesOf(source, first, nbytes),
      [{ name, offset: 0, nbytes, dtype, shape, strides, flags }],
      loading,
    );
  }

  /**
   * Sends tensors that follow each other in host memory, in order of their offsets, and releases that memory. A block
   * holds many small tensors, so that several threads fill it at once.
   */
  async sendRun(source: Descriptor, tensors: readonly Sent[], loading: LoadOptions): Promise<Arriving> {
    const sent: Promise<void>[] = [];
    const targets: Descriptor[] = [];
    let filling: Promise<Filled> | null = null;
    try {
      for (const tensor of tensors) targets.push(this.allocate(tensor));
      for (let at = 0, next = 0; at < source.nbytes; at += this.blockBytes) {
        const filled: Filled = await (filling ?? this.fill(source, at, loading));
        const { block, turn, end } = filled;
        // Started before the copies are queued, so that the threads which fill blocks never wait for this thread.
        filling = end < source.nbytes ? this.fill(source, end, loading) : null;
        filling?.catch(() => undefined); // awaited in the next round, or below
        const copies: Promise<void>[] = [];
        const progress: Progress[] = [];
        for (let i = next; i < tensors.length && (tensors[i] as Sent).offset < end; i++) {
          const { name, offset, nbytes } = tensors[i] as Sent;
          const [low, high] = [Math.max(offset, at), Math.min(offset + nbytes, end)];
          if (high > low) {
            const part = bytesOf(targets[i] as Descriptor, low - offset, high - low);
            copies.push(this.backend.copyAsync(bytesOf(block, low - at, high - low), part));
            progress.push({ name, loaded: high - offset, total: nbytes });
          }
          if (offset + nbytes <= end) next = i + 1;
        }
        sent.push(this.take(turn, copies));
        // After the copies are noted, because the program's function may throw.
        for (const step of progress) loading.onProgress?.(step);
      }
      return { targets, arrived: Promise.all(sent).then(() => undefined) };
    } catch (error) {
      await Promise.allSettled([...sent, filling]);
      for (const { storage } of targets) storage.release();
      throw error;
    } finally {
      source.storage.release();
    }
  }

  /** Fills the next block with the bytes from `at` on, after the last copy out of it. */
  private async fill(source: Descriptor, at: number, { signal }: LoadOptions): Promise<Filled> {
    const { turn, blockBytes } = this;
    this.turn = (turn + 1) % BLOCKS;
    await this.copies[turn];
    this.blocks[turn] ??=
      (blockBytes === BLOCK ? idle.pop() : undefined) ?? allocateLike([blockBytes], uint8, 0, parseDevice('cuda_host'));
    const block = this.blocks[turn];
    signal?.throwIfAborted();
    const end = Math.min(at + blockBytes, source.nbytes);
    await convertElementsAsync(bytesOf(source, source.bitOffset / 8 + at, end - at), bytesOf(block, 0, end - at));
    return { block, turn, end };
  }

  private allocate({ dtype, shape, strides, flags }: Sent): Descriptor {
    const kept = flags & Flag.subBytePadded;
    const { storage } = allocateLike(shape, dtype, kept, this.device);
    return new Descriptor(storage, dtype, this.device, shape, strides, 0, kept);
  }

  /** Notes the copies out of a block. */
  private take(turn: number, copies: readonly Promise<void>[]): Promise<void> {
    const copied = allDone(copies);
    copied.catch(() => undefined); // the consumer of the tensors gets the error
    this.copies[turn] = copied;
    return copied;
  }

  /** Releases the blocks, after the last copies out of them, or keeps them for a while. */
  async release(): Promise<void> {
    await Promise.allSettled(this.copies);
    for (const block of this.blocks.splice(0)) {
      if (this.blockBytes === BLOCK && idle.length < BLOCKS) keep(block);
      else block.storage.release();
    }
  }
}
