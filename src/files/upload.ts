/** Uploads tensors of files to a device, in steps. Memory for the next tensors is allocated while a step runs. */

import type { DeviceInfo } from '../device.js';
import type { DTypeInfo } from '../dtype.js';
import { UnsupportedDeviceError } from '../errors.js';
import { allocateLike } from '../storage/allocate.js';
import { Descriptor, Flag } from '../storage/descriptor.js';
import {
  type DeviceBackend,
  loadAdvice,
  loadDeviceBackend,
  type Upload,
  type UploadPart,
} from '../storage/device-backend.js';
import { findLayout } from '../storage/layouts.js';
import type { Storage } from '../storage/storage.js';
import { byteRange } from './entry.js';
import type { LoadOptions, Progress } from './opened.js';

/**
 * Bytes of the first step, which is at most a quarter of the upload, and of the largest step. A signal can stop an
 * upload only between steps. Each step is larger than the last one, because memory for its tensors is allocated while
 * the last one runs.
 */
const FIRST_STEP = 256 << 20;
const LARGEST_STEP = 2 ** 30;
const SMALLEST_STEP = 8 << 20;
const GROWTH = 4;

/** The tensor of `length` bytes of another tensor's storage, from the byte `start` on. */
function bytesInside({ storage, device }: Descriptor, start: number, length: number): Descriptor {
  return byteRange(storage, start, length, device);
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

/** True for a tensor that ends at or before a byte of its run. */
function isBefore({ offset, nbytes }: Sent, end: number): boolean {
  return offset + nbytes <= end;
}

/** What one step moves, and what to report when it has arrived. */
interface Step {
  readonly parts: readonly UploadPart[];
  readonly progress: readonly Progress[];
}

/** The parts of tensors, from number `first` on, between two bytes of a run. */
function stepOf(
  tensors: readonly Sent[],
  targets: readonly Descriptor[],
  first: number,
  at: number,
  end: number,
): Step {
  const parts: UploadPart[] = [];
  const progress: Progress[] = [];
  for (let i = first; i < tensors.length && (tensors[i] as Sent).offset < end; i++) {
    const { name, offset, nbytes } = tensors[i] as Sent;
    const [low, high] = [Math.max(offset, at), Math.min(offset + nbytes, end)];
    if (high <= low) continue;
    const target = targets[i] as Descriptor;
    parts.push({ offset: low - at, nbytes: high - low, target, targetOffset: low - offset });
    progress.push({ name, loaded: high - offset, total: nbytes });
  }
  return { parts, progress };
}

export class Uploader {
  private readonly backend: DeviceBackend;
  /** Bytes of the next step. */
  stepBytes: number;
  /** The stream that was current when the upload was requested, and memory without bytes that keeps it alive. */
  private readonly stream: bigint | null;
  private readonly anchor: Storage | null;
  /** The last two steps. One waits while the other runs, so that the bus is never idle. */
  private steps: readonly [Upload, Upload];

  /** `total`: bytes that are sent in all, or more. */
  constructor(
    private readonly device: DeviceInfo,
    total: number,
  ) {
    const backend = loadDeviceBackend(device);
    if (backend === null) {
      throw new UnsupportedDeviceError(
        device.name,
        `Expected a device this process can allocate on but received '${device.name}'${loadAdvice(device)}`,
      );
    }
    this.backend = backend;
    this.stream = backend.streams?.current(device) ?? null;
    this.anchor = this.stream === null ? null : backend.allocate(0, device);
    const done: Upload = { read: Promise.resolve(), arrived: Promise.resolve() };
    this.steps = [done, done];
    this.stepBytes = Math.min(FIRST_STEP, Math.max(SMALLEST_STEP, Math.ceil(total / GROWTH)));
  }

  /** Sends a host tensor and releases it. The elements keep their order in memory. */
  async send(name: string, source: Descriptor, loading: LoadOptions): Promise<Arriving> {
    const { dtype, shape, strides, nbytes, flags } = source;
    const bytes = bytesInside(source, source.bitOffset / 8, nbytes);
    return this.sendRun(bytes, [{ name, offset: 0, nbytes, dtype, shape, strides, flags }], loading);
  }

  /** Sends tensors that follow each other in host memory, in order of their offsets, and releases that memory. */
  async sendRun(source: Descriptor, tensors: readonly Sent[], loading: LoadOptions): Promise<Arriving> {
    const targets: Descriptor[] = [];
    let arrived: Promise<void> = Promise.resolve();
    try {
      this.onStream(() => {
        for (const tensor of tensors) targets.push(this.allocate(tensor));
      });
      const start = source.bitOffset / 8;
      for (let at = 0, end = 0, first = 0; at < source.nbytes; at = end) {
        await this.steps[0].read;
        loading.signal?.throwIfAborted();
        end = Math.min(at + this.stepBytes, source.nbytes);
        this.stepBytes = Math.min(LARGEST_STEP, this.stepBytes * GROWTH);
        const { parts, progress } = stepOf(tensors, targets, first, at, end);
        while (first < tensors.length && isBefore(tensors[first] as Sent, end)) first++;
        if (parts.length === 0) continue;
        const step = this.onStream(() => this.move(bytesInside(source, start + at, end - at), parts));
        this.steps = [this.steps[1], step];
        arrived = reportAfter(arrived, step.arrived, progress, loading);
        arrived.catch(() => undefined); // awaited by the caller, or below
      }
      return { targets, arrived };
    } catch (error) {
      await this.settle();
      for (const { storage } of targets) storage.release();
      throw error;
    } finally {
      source.storage.release();
    }
  }

  /** Waits for the steps that still run, also after an error. */
  async settle(): Promise<void> {
    await Promise.allSettled(this.steps.flatMap(({ read, arrived }) => [read, arrived]));
  }

  /** Ends the use of the stream. */
  close(): void {
    this.anchor?.release();
  }

  private onStream<T>(action: () => T): T {
    const { streams } = this.backend;
    return streams === null || this.stream === null ? action() : streams.use(this.device, this.stream, action);
  }

  /** Copies parts of host memory, without blocking, and keeps that memory until it has been read. */
  private move(source: Descriptor, parts: readonly UploadPart[]): Upload {
    const { storage } = source;
    const moved = this.backend.upload?.(source, parts) ?? this.copy(source, parts);
    storage.refs++;
    const release = () => storage.release();
    moved.read.then(release, release);
    moved.arrived.catch(() => undefined); // awaited with the steps after it
    return moved;
  }

  /** For a backend without uploads, and memory that it cannot upload. */
  private copy(source: Descriptor, parts: readonly UploadPart[]): Upload {
    const start = source.bitOffset / 8;
    const copyAll = async () => {
      for (const { offset, nbytes, target, targetOffset } of parts) {
        const from = bytesInside(source, start + offset, nbytes);
        await this.backend.copyAsync(from, bytesInside(target, targetOffset, nbytes), true, null);
      }
    };
    const arrived = copyAll();
    return { read: arrived, arrived };
  }

  private allocate({ dtype, shape, strides, flags }: Sent): Descriptor {
    const kept = flags & Flag.subBytePadded;
    const { storage } = allocateLike(shape, dtype, kept, this.device);
    return new Descriptor(storage, findLayout(dtype, this.device, shape, strides, kept), 0);
  }
}

/** Reports progress once a step and all steps before it have arrived. */
async function reportAfter(
  before: Promise<void>,
  sent: Promise<void>,
  progress: readonly Progress[],
  { onProgress }: LoadOptions,
): Promise<void> {
  await Promise.all([before, sent]);
  for (const step of progress) onProgress?.(step);
}
