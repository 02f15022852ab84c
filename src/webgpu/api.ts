/**
 * The part of WebGPU that this module calls. These types are our own, because `lib.dom.d.ts` of older compilers has
 * none, and because Node has WebGPU only from a package.
 */

import type { GPUBufferLike } from '../storage/storage.js';

/** Bits of `GPUBufferUsage` and `GPUTextureUsage`, which Node does not define as globals. */
export const Usage = {
  mapRead: 1,
  copySource: 4,
  copyTarget: 8,
  storage: 128,
  textureCopySource: 1,
  textureCopyTarget: 2,
} as const;

export interface GpuBuffer extends GPUBufferLike {
  readonly mapState?: string;
  mapAsync(mode: number): Promise<unknown>;
  getMappedRange(): ArrayBuffer;
  unmap(): void;
  destroy(): void;
}

export interface GpuTexture {
  destroy(): void;
}

export interface TexturePart {
  readonly texture: GpuTexture;
  readonly origin: readonly [x: number, y: number];
}

/** Rows of a buffer, as a copy from or to a texture takes them. */
export interface BufferRows {
  readonly buffer: object;
  readonly offset: number;
  readonly bytesPerRow: number;
}

export interface GpuPass {
  setPipeline(pipeline: GpuPipeline): void;
  setBindGroup(index: number, group: object): void;
  dispatchWorkgroups(x: number, y: number): void;
  end(): void;
}

export interface GpuEncoder {
  copyBufferToBuffer(source: object, sourceOffset: number, target: object, targetOffset: number, size: number): void;
  copyBufferToTexture(source: BufferRows, target: TexturePart, size: readonly [number, number]): void;
  copyTextureToBuffer(source: TexturePart, target: BufferRows, size: readonly [number, number]): void;
  clearBuffer(buffer: object, offset: number): void;
  beginComputePass(): GpuPass;
  finish(): object;
}

export interface GpuPipeline {
  getBindGroupLayout(index: number): object;
}

export interface GpuError {
  readonly message: string;
}

export interface GpuDevice {
  readonly label?: string;
  readonly adapterInfo?: { readonly isFallbackAdapter?: boolean; readonly architecture?: string };
  readonly queue: {
    submit(commands: readonly object[]): void;
    writeBuffer(target: object, offset: number, data: ArrayBufferLike, dataOffset: number, size: number): void;
    onSubmittedWorkDone(): Promise<unknown>;
  };
  readonly lost: Promise<{ readonly reason?: string; readonly message?: string }>;
  readonly limits: {
    readonly maxBufferSize: number;
    readonly maxStorageBufferBindingSize: number;
    readonly maxComputeWorkgroupsPerDimension: number;
    readonly maxComputeInvocationsPerWorkgroup: number;
    readonly maxTextureDimension2D: number;
  };
  createBuffer(descriptor: { size: number; usage: number; label?: string }): GpuBuffer;
  createTexture(descriptor: { size: readonly [number, number]; format: string; usage: number }): GpuTexture;
  createCommandEncoder(): GpuEncoder;
  createShaderModule(descriptor: { code: string }): object;
  createComputePipeline(descriptor: object): GpuPipeline;
  createBindGroup(descriptor: object): object;
  pushErrorScope(filter: 'validation' | 'out-of-memory'): void;
  popErrorScope(): Promise<GpuError | null>;
}
