/**
 * Storage: a block of memory with a count of the Tensors in this environment that own it.
 *
 * Users never see it: a Tensor keeps its storage in a private field, so no program can change what the native core
 * relies on.
 */

import {
  arrayBufferImmutable,
  arrayBufferLength,
  arrayBufferResizable,
  Bytes,
  bufferOf,
  byteLengthOf,
  byteOffsetOf,
  forEachOf,
  privateWeakMap,
  sharedBufferLength,
} from '../base/primordials.js';
import type { DeviceInfo } from '../device.js';
import type { DTypeInfo } from '../dtype.js';
import { BufferError, DisposedError, UnsupportedDeviceError } from '../errors.js';
import { type Collectable, collectLater, type Owner } from './collect.js';
import { detach } from './detach.js';

export type { Owner } from './collect.js';

/** Runtimes without explicit resource management lack this symbol; `dispose()` works everywhere. */
export const disposeSymbol: typeof Symbol.dispose = Symbol.dispose ?? (Symbol.for('Symbol.dispose') as never);
export const asyncDisposeSymbol: typeof Symbol.asyncDispose =
  Symbol.asyncDispose ?? (Symbol.for('Symbol.asyncDispose') as never);

/**
 * The part of WebGPU's `GPUBuffer` that this package uses. Its `GPUDevice` travels with it, because two devices cannot
 * share a buffer.
 */
export interface GPUBufferLike {
  /** Its bytes. */
  readonly size: number;
  /** What it may be used for: flags of `GPUBufferUsage`. */
  readonly usage: number;
}

/** The dtype of an element, and the device of its memory. */
export interface ElementKind {
  readonly dtype: DTypeInfo;
  readonly device: DeviceInfo;
}

export abstract class Storage {
  /** The number of owners. Zero means released. */
  refs = 1;
  /** Native objects that JavaScript holds for descriptors of this memory. They are freed with it. */
  attached: Set<Owner> | null = null;
  /** For collect.ts. */
  nextPending: Collectable | null = null;

  constructor(readonly nbytes: number) {}

  /** Frees the memory. Called once, by the last release. */
  protected abstract free(): void;

  /** The release that runs when the garbage collector finds the storage unreachable. Must not refer to the storage. */
  abstract makeOwner(): Owner;

  /** The offset of byte 0 in {@link buffer}, once that has been called. */
  abstract readonly start: number;

  /** The host memory. Throws when there is none, or when its owner detached or shrank it. */
  abstract buffer(): ArrayBufferLike;

  /**
   * A view that starts at the byte of one element, if that costs less than {@link buffer}; null otherwise. Valid until
   * the next call. Memory of JavaScript has no such function.
   */
  peek?(tensor: ElementKind, bit: number): DataView | null;

  /** Writes {@link buffer} back to the memory where it is a copy (runtimes that forbid external buffers). */
  commit(): void {}

  /** True when {@link buffer} is a copy of the memory. */
  get isBufferCopied(): boolean {
    return false;
  }

  /** Called with each typed array that is handed out, because its memory must live as long as the array. */
  shownBy(_array: object): void {}

  release(): void {
    if (--this.refs !== 0) return;
    if (this.attached !== null) forEachOf(this.attached, freeOne);
    this.free();
  }
}

/** Runs `use`, and drops the reference that it needed. */
export function releaseAfter<T>(held: { release(): void }, use: () => T): T {
  try {
    return use();
  } finally {
    held.release();
  }
}

/** Runs `use`, which takes over a reference. Drops the reference if `use` throws. */
export function releaseOnError<T>(held: { release(): void }, use: () => T): T {
  try {
    return use();
  } catch (error) {
    throw afterError(error, () => held.release());
  }
}

/**
 * Runs `release` after an error, and returns that error. A deleter that throws must not hide why it was called, so its
 * error becomes the cause of the first.
 */
export function afterError<E>(error: E, release: () => void): E {
  try {
    release();
  } catch (cause) {
    if (error instanceof Error && error.cause === undefined) error.cause = cause;
  }
  return error;
}

/** The storages that typed arrays keep alive. */
const keptBy = privateWeakMap<object, Storage>();

function freeOne(owner: Owner): void {
  owner.free();
}

/** Runs a deleter once. */
class DeleterOwner implements Owner {
  constructor(private deleter: (() => void) | undefined) {}

  free(): void {
    const { deleter } = this;
    this.deleter = undefined;
    deleter?.();
  }
}

/** Memory of another owner, which a deleter releases, if it has one. */
abstract class LentStorage extends Storage {
  private readonly owner: DeleterOwner | null;

  constructor(nbytes: number, deleter: (() => void) | undefined) {
    super(nbytes);
    this.owner = deleter === undefined ? null : new DeleterOwner(deleter);
    if (deleter !== undefined) collectLater(this);
  }

  protected free(): void {
    this.owner?.free();
  }

  makeOwner(): Owner {
    return this.owner as Owner;
  }

  override shownBy(array: object): void {
    // The typed array may outlive its tensor, and the producer's deleter must wait for the array.
    if (this.owner !== null) keptBy.set(array, this);
  }
}

/** Memory of a JavaScript buffer. Its owner may still detach, transfer or shrink it, so each use checks the buffer. */
export class BufferStorage extends LentStorage {
  readonly start: number;
  /** The buffer as it is. Its memory may be used only after {@link buffer} has checked it. */
  readonly unchecked: ArrayBufferLike;

  constructor(buffer: ArrayBufferLike, start: number, nbytes: number, deleter?: () => void) {
    super(nbytes, deleter);
    this.unchecked = buffer;
    this.start = start;
  }

  buffer(): ArrayBufferLike {
    const length = bufferLength(this.unchecked) as number;
    if (length < this.start + this.nbytes || (length === 0 && isDetached(this.unchecked))) {
      throw new DisposedError(
        `Expected ${this.start + this.nbytes} bytes under this tensor but its buffer has ${length}: ` +
          'it was detached, transferred or resized by its owner. Use Tensor.from (copies) or Tensor.adopt (takes it over)',
      );
    }
    return this.unchecked;
  }
}

/** A JavaScript buffer that this package made or took over, for runtimes without native memory. */
export class HeapStorage extends BufferStorage {
  private isShown = false;

  constructor(buffer: ArrayBuffer) {
    super(buffer, 0, bufferLength(buffer) as number);
  }

  override shownBy(array: object): void {
    super.shownBy(array);
    this.isShown = true;
  }

  /** Detaches typed arrays over the memory, as happens for native memory. */
  protected override free(): void {
    if (!this.isShown || bufferLength(this.unchecked) === 0) return;
    detach(this.unchecked as ArrayBuffer);
  }
}

/** A GPUBuffer and the GPUDevice it belongs to. */
export class GpuStorage extends LentStorage {
  constructor(
    readonly gpuBuffer: GPUBufferLike,
    readonly gpuDevice: object,
    nbytes: number,
    deleter?: () => void,
  ) {
    super(nbytes, deleter);
  }

  get start(): number {
    return 0;
  }

  buffer(): never {
    throw new UnsupportedDeviceError(
      'webgpu',
      "Expected host memory but this tensor lives in a GPUBuffer; copy it first with await x.toAsync('cpu') of dlpack/webgpu",
    );
  }
}

/** What a getter returns; null for a value that is not of the getter's class. */
function call<T>(getter: ((value: unknown) => T) | undefined, value: unknown): T | null {
  try {
    return getter === undefined ? null : getter(value);
  } catch {
    return null;
  }
}

/** The length of a real (Shared)ArrayBuffer of any realm; null for any other object. */
export function bufferLength(value: unknown): number | null {
  return call(arrayBufferLength, value) ?? call(sharedBufferLength, value);
}

/**
 * True for a real SharedArrayBuffer, which cannot be detached. Tests for an ArrayBuffer first, because most buffers are
 * ArrayBuffers and a getter that throws costs 10 µs.
 */
export function isShared(value: unknown): boolean {
  return call(arrayBufferLength, value) === null && call(sharedBufferLength, value) !== null;
}

/** True for a real ArrayBuffer whose length can change. */
export function isResizable(value: unknown): boolean {
  return call(arrayBufferResizable, value) === true;
}

/** True for an ArrayBuffer that nobody can write, such as one that `sliceToImmutable` made. */
export function isImmutable(value: unknown): boolean {
  return call(arrayBufferImmutable, value) === true;
}

/** True for a detached buffer, over which making an array fails. Node 20 has no `detached` property. */
export function isDetached(buffer: ArrayBufferLike): boolean {
  try {
    return new Bytes(buffer) === undefined;
  } catch {
    return true;
  }
}

/** The buffer, start and length of a typed array, even if its own properties lie. */
export function regionOf(array: ArrayBufferView): { buffer: ArrayBufferLike; start: number; byteLength: number } {
  return { buffer: bufferOf(array), start: byteOffsetOf(array), byteLength: byteLengthOf(array) };
}

/** The error for memory that native code cannot keep. `use` says for what, `found` and `advice` complete the sentence. */
export const cannotKeep = (use: string, found = 'lies', advice = ', or allow a copy'): BufferError =>
  new BufferError(
    `Expected memory that native code may keep ${use} but this tensor ${found} in a JavaScript buffer that its owner can move ` +
      `or that ends with its worker; use Tensor.adopt or Tensor.from${advice}`,
  );
