/**
 * Buffers that tensors have released, kept for the next tensor of the same size. On a software adapter, making a buffer
 * of 16 MiB takes ten times as long as a copy into it.
 */

import type { GpuBuffer } from './api.js';

/** Smaller buffers are cheap to make. */
const SMALLEST = 2 ** 16;
/** Bytes that are kept for a device. */
const MOST = 2 ** 26;

export class Spares {
  private readonly buffers = new Map<number, GpuBuffer[]>();
  private nbytes = 0;
  private isClosed = false;

  /** A spare buffer of exactly this size, with arbitrary contents, or null. */
  take(size: number): GpuBuffer | null {
    const buffer = this.buffers.get(size)?.pop() ?? null;
    if (buffer !== null) this.nbytes -= size;
    return buffer;
  }

  /** Keeps a buffer, or destroys it. */
  add(buffer: GpuBuffer): void {
    const { size } = buffer;
    if (this.isClosed || size < SMALLEST || this.nbytes + size > MOST) {
      buffer.destroy();
      return;
    }
    this.nbytes += size;
    const same = this.buffers.get(size);
    if (same === undefined) this.buffers.set(size, [buffer]);
    else same.push(buffer);
  }

  /** Keeps no more buffers, because the device was lost. */
  close(): void {
    this.isClosed = true;
    this.clear();
  }

  clear(): void {
    for (const same of this.buffers.values()) for (const buffer of same) buffer.destroy();
    this.buffers.clear();
    this.nbytes = 0;
  }
}
