/** The parts of WebGPU that the cases use: buffers with bytes, and reading them back. */

import { skip } from './case.js';
import type { Environment } from './environment.js';

export const Usage = { mapRead: 1, copySource: 4, copyTarget: 8, storage: 0x80 } as const;

export interface Buffer {
  readonly size: number;
  readonly usage: number;
  readonly mapState: string;
  mapAsync(mode: number): Promise<void>;
  getMappedRange(): ArrayBuffer;
  unmap(): void;
  destroy(): void;
}

export interface Device {
  readonly queue: {
    writeBuffer(buffer: Buffer, offset: number, data: Uint8Array): void;
    submit(commands: readonly object[]): void;
  };
  createBuffer(descriptor: {
    readonly size: number;
    readonly usage: number;
    readonly mappedAtCreation?: boolean;
  }): Buffer;
  createCommandEncoder(): {
    copyBufferToBuffer(from: Buffer, fromOffset: number, to: Buffer, toOffset: number, size: number): void;
    finish(): object;
  };
  /** Resolves when the device was lost. */
  readonly lost: Promise<unknown>;
  destroy(): void;
  pushErrorScope(filter: string): void;
  popErrorScope(): Promise<{ readonly message: string } | null>;
}

/** The two GPUDevices of the environment. */
export function devicesOf({ gpuDevices }: Environment): readonly [Device, Device] {
  if (gpuDevices === undefined) skip('needs two GPUDevices');
  return gpuDevices as unknown as readonly [Device, Device];
}

const padded = (length: number): number => Math.max(4, Math.ceil(length / 4) * 4);

/** A buffer that follows 4.3.2, with these bytes. `usage` may leave out COPY_DST. */
export function bufferOf(
  device: Device,
  bytes: Uint8Array,
  usage: number = Usage.storage | Usage.copySource | Usage.copyTarget,
): Buffer {
  const buffer = device.createBuffer({ size: padded(bytes.length), usage, mappedAtCreation: true });
  new Uint8Array(buffer.getMappedRange()).set(bytes);
  buffer.unmap();
  return buffer;
}

/** All bytes of a buffer, after the work that was submitted before. */
export async function readBuffer(device: Device, buffer: Buffer): Promise<Uint8Array> {
  const target = device.createBuffer({ size: buffer.size, usage: Usage.mapRead | Usage.copyTarget });
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(buffer, 0, target, 0, buffer.size);
  device.queue.submit([encoder.finish()]);
  await target.mapAsync(1);
  const bytes = new Uint8Array(target.getMappedRange()).slice();
  target.destroy();
  return bytes;
}
