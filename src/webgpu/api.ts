/**
 * The part of WebGPU that this module calls. These types are our own, because `lib.dom.d.ts` of older compilers has
 * none, and because Node has WebGPU only from a package.
 */

import type { GPUBufferLike } from '../storage/storage.js';

/** Bits of `GPUBufferUsage`, which Node does not define as a global. */
export const Usage = {
  mapRead: 1,
  copySource: 4,
  copyTarget: 8,
  storage: 128,
} as const;

/** Bits of `GPUTextureUsage`. */
export const TextureUsage = {
  copyTarget: 2,
  textureBinding: 4,
  renderAttachment: 16,
} as const;

/** The part of `GPUTexture` that identifies one. A real `GPUTexture` fits. */
export interface GPUTextureLike {
  /** The width in pixels. */
  readonly width: number;
  /** The height in pixels. */
  readonly height: number;
  /** The format of a pixel, such as `'rgba8unorm'`. */
  readonly format: string;
  /** What the texture may be used for: bits of `GPUTextureUsage`. */
  readonly usage: number;
  /** The samples of a pixel: 1 where it is missing. */
  readonly sampleCount?: number;
  /** The number of dimensions: `'2d'` where it is missing. */
  readonly dimension?: string;
  /** The number of layers: 1 where it is missing. */
  readonly depthOrArrayLayers?: number;
  /** Makes a view, which a shader reads or writes. */
  createView(): object;
}

export interface GpuTexture extends GPUTextureLike {
  destroy(): void;
}

export interface GpuBuffer extends GPUBufferLike {
  readonly mapState?: string;
  mapAsync(mode: number): Promise<unknown>;
  getMappedRange(): ArrayBuffer;
  unmap(): void;
  destroy(): void;
}

export interface GpuPass {
  setPipeline(pipeline: GpuPipeline): void;
  setBindGroup(index: number, group: object): void;
  dispatchWorkgroups(x: number, y: number): void;
  end(): void;
}

export interface GpuRenderPass {
  setPipeline(pipeline: GpuPipeline): void;
  setBindGroup(index: number, group: object): void;
  draw(vertices: number): void;
  end(): void;
}

export interface GpuEncoder {
  copyBufferToBuffer(source: object, sourceOffset: number, target: object, targetOffset: number, size: number): void;
  clearBuffer(buffer: object, offset: number): void;
  beginComputePass(): GpuPass;
  beginRenderPass(descriptor: object): GpuRenderPass;
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
  readonly queue: {
    submit(commands: readonly object[]): void;
    writeBuffer(target: object, offset: number, data: ArrayBufferLike, dataOffset: number, size: number): void;
    writeTexture(target: object, data: object, layout: object, size: readonly number[]): void;
    /** Absent on Node. */
    copyExternalImageToTexture?(source: object, target: object, size: readonly number[]): void;
    onSubmittedWorkDone(): Promise<unknown>;
  };
  readonly lost: Promise<{ readonly reason?: string; readonly message?: string }>;
  readonly limits: {
    readonly maxBufferSize: number;
    readonly maxStorageBufferBindingSize: number;
    readonly maxComputeWorkgroupsPerDimension: number;
    readonly maxComputeInvocationsPerWorkgroup: number;
  };
  createBuffer(descriptor: { size: number; usage: number; label?: string }): GpuBuffer;
  createTexture(descriptor: object): GpuTexture;
  /** Absent on Node, and in browsers whose videos reach a shader by a copy alone. */
  importExternalTexture?(descriptor: { source: object }): object;
  createCommandEncoder(): GpuEncoder;
  createShaderModule(descriptor: { code: string }): object;
  createComputePipeline(descriptor: object): GpuPipeline;
  createRenderPipeline(descriptor: object): GpuPipeline;
  createBindGroup(descriptor: object): object;
  pushErrorScope(filter: 'validation' | 'out-of-memory'): void;
  popErrorScope(): Promise<GpuError | null>;
}
