/** A GPUDevice for tests: a page has `navigator.gpu`, and on Node `dawn.ts` sets it. */

import type { GPUBufferLike, GPUDeviceLike } from 'dlpack';

export interface TestBuffer extends GPUBufferLike {
  mapAsync(mode: number): Promise<void>;
  getMappedRange(): ArrayBuffer;
  unmap(): void;
  destroy(): void;
}

export interface TestTexture {
  readonly width: number;
  readonly height: number;
  readonly format: string;
  readonly usage: number;
  createView(): object;
  destroy(): void;
}

/** The part of a GPUDevice that the tests use. */
export interface TestDevice extends GPUDeviceLike {
  label: string;
  readonly queue: {
    writeBuffer(buffer: object, offset: number, data: ArrayBufferView): void;
    submit(commands: readonly object[]): void;
    onSubmittedWorkDone(): Promise<void>;
  };
  readonly limits: Record<string, number>;
  createBuffer(descriptor: { size: number; usage: number }): TestBuffer;
  createTexture(descriptor: {
    size: readonly number[];
    format: string;
    usage: number;
    sampleCount?: number;
  }): TestTexture;
  createCommandEncoder(): {
    copyBufferToBuffer(from: object, at: number, to: object, into: number, size: number): void;
    finish(): object;
  };
  addEventListener(name: 'uncapturederror', listener: (event: { error: { message: string } }) => void): void;
  destroy(): void;
}

interface Adapter {
  requestDevice(options?: object): Promise<TestDevice>;
}
interface Gpu {
  requestAdapter(): Promise<Adapter | null>;
}

const gpu = (globalThis.navigator as { gpu?: Gpu } | undefined)?.gpu;

/** Errors that no test expected. The last test of a file checks that there are none. */
export const uncaptured: string[] = [];

/** A new GPUDevice, or null where there is no adapter. */
export async function newDevice(label = 'test', options: object = {}): Promise<TestDevice | null> {
  const adapter = await gpu?.requestAdapter();
  const device = (await adapter?.requestDevice({ label, ...options })) ?? null;
  device?.addEventListener('uncapturederror', (event) => uncaptured.push(event.error.message));
  return device;
}

export const noAdapter = 'a WebGPU adapter';

/** `GPUBufferUsage`, which is not a global on Node. */
export const Usage = { mapRead: 1, copySource: 4, copyTarget: 8, storage: 128 } as const;

/** `GPUTextureUsage`. */
export const TextureUsage = { copySource: 1, copyTarget: 2, textureBinding: 4, renderAttachment: 16 } as const;
