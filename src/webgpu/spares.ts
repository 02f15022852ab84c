/**
 * Buffers that tensors have released, kept for the next tensor of the same size. WebGPU fills a new buffer with zeros, and
 * a buffer of many mebibytes takes longer to make than to copy.
 */

import type { GpuBuffer } from './api.js';

/** Smaller buffers are cheap to make. */
const SMALLEST = 2 ** 16;
/** Bytes that are kept for a device. */
const MOST = 2 ** 26;

export class Spares {
  /** The oldest first. */
  private buffers: GpuBuffer[] = [];
  /** Of all of them. */
  nbytes = 0;
  private isClosed = false;

  /** A spare buffer of exactly this size, with arbitrary contents, or null. */
  take(nbytes: number): GpuBuffer | null {
    const index = this.buffers.findIndex(({ size }) => size === nbytes);
    if (index < 0) return null;
    this.nbytes -= nbytes;
    return this.buffers.splice(index, 1)[0] as GpuBuffer;
  }

  /** Keeps a buffer, or destroys it. The oldest ones make room for it. */
  add(buffer: GpuBuffer): void {
    const { size } = buffer;
    if (this.isClosed || size < SMALLEST || size > MOST) {
      buffer.destroy();
      return;
    }
    this.buffers.push(buffer);
    this.nbytes += size;
    while (this.nbytes > MOST) {
      const oldest = this.buffers.shift() as GpuBuffer;
      this.nbytes -= oldest.size;
      oldest.destroy();
    }
  }

  /** Keeps no more buffers, because the device was lost. */
  close(): void {
    this.isClosed = true;
    this.clear();
  }

  clear(): void {
    for (const buffer of this.buffers) buffer.destroy();
    this.buffers = [];
    this.nbytes = 0;
  }
}
