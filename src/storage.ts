/**
 * Storage: a block of memory with a count of the Tensors in this environment that own it.
 *
 * Never shown to users: a Tensor keeps its storage in a private field, so nothing a program does can change what the
 * native core relies on.
 *
 * @module
 */

import { collectLater, type Owner } from './collect.js';
import { DisposedError, UnsupportedDeviceError } from './errors.js';

export type { Owner } from './collect.js';

/** The part of WebGPU's `GPUBuffer` that matters here. Its `GPUDevice` travels beside it: two devices cannot share. */
export interface GPUBufferLike {
  readonly size: number;
  readonly usage: number;
}

export abstract class Storage {
  /** Owning Tensors. Zero: released. */
  refs = 1;
  readonly owner: Owner;
  readonly nbytes: number;

  constructor(nbytes: number, owner: Owner) {
    this.nbytes = nbytes;
    this.owner = owner;
  }

  /** Where byte 0 lies in {@link buffer}. */
  abstract readonly start: number;

  /** The host memory. Throws when there is none, or when its owner took it away. */
  abstract buffer(): ArrayBufferLike;

  /** Makes writes through {@link buffer} visible where it is a copy (runtimes that forbid external buffers). */
  commit(): void {}

  /** True when {@link buffer} is a copy of the memory. */
  get isBufferCopied(): boolean {
    return false;
  }

  /** Called with each typed array that is handed out: what it shows must live as long as it does. */
  shownBy(_array: object): void {}

  release(): void {
    if (--this.refs === 0) this.owner.free();
  }
}

const nothing: Owner = { free() {} };
const keptBy = new WeakMap<object, Storage>();

/** Runs a deleter once. */
class DeleterOwner implements Owner {
  #deleter: (() => void) | null;

  constructor(deleter: () => void) {
    this.#deleter = deleter;
  }

  free(): void {
    const deleter = this.#deleter;
    this.#deleter = null;
    deleter?.();
  }
}

/** Memory of a JavaScript buffer, which its owner may still detach, transfer or shrink: checked at each use. */
export class BufferStorage extends Storage {
  readonly start: number;
  readonly #buffer: ArrayBufferLike;

  constructor(buffer: ArrayBufferLike, start: number, nbytes: number, deleter?: () => void) {
    super(nbytes, deleter === undefined ? nothing : new DeleterOwner(deleter));
    this.#buffer = buffer;
    this.start = start;
    if (deleter !== undefined) collectLater(this);
  }

  override shownBy(array: object): void {
    // The producer's deleter must wait for a typed array that outlives its tensor.
    if (this.owner !== nothing) keptBy.set(array, this);
  }

  buffer(): ArrayBufferLike {
    if (this.#buffer.byteLength < this.start + this.nbytes) {
      throw new DisposedError(
        `Expected ${this.start + this.nbytes} bytes under this tensor but its buffer has ${this.#buffer.byteLength}: ` +
          'it was detached, transferred or resized by its owner. Use Tensor.from (copies) or Tensor.adopt (takes it over)',
      );
    }
    return this.#buffer;
  }
}

/** A GPUBuffer and the GPUDevice it belongs to. */
export class GpuStorage extends Storage {
  readonly start = 0;
  readonly gpuBuffer: GPUBufferLike;
  readonly gpuDevice: object;

  constructor(gpuBuffer: GPUBufferLike, gpuDevice: object, nbytes: number, deleter?: () => void) {
    super(nbytes, deleter === undefined ? nothing : new DeleterOwner(deleter));
    this.gpuBuffer = gpuBuffer;
    this.gpuDevice = gpuDevice;
    if (deleter !== undefined) collectLater(this);
  }

  buffer(): never {
    throw new UnsupportedDeviceError(
      'webgpu',
      'Expected host memory but this tensor lives in a GPUBuffer; read it back with mapAsync or copyBufferToBuffer first',
    );
  }
}

const arrayBufferLength = Object.getOwnPropertyDescriptor(ArrayBuffer.prototype, 'byteLength')?.get as () => number;
const sharedBufferLength =
  typeof SharedArrayBuffer === 'undefined'
    ? null
    : (Object.getOwnPropertyDescriptor(SharedArrayBuffer.prototype, 'byteLength')?.get as () => number);

/** The length of a real (Shared)ArrayBuffer of any realm; null for anything that only looks like one. */
export function bufferLength(value: unknown): number | null {
  for (const length of [arrayBufferLength, sharedBufferLength]) {
    try {
      if (length !== null) return length.call(value);
    } catch {
      // Not of this kind.
    }
  }
  return null;
}
