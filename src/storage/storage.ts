/**
 * Storage: a block of memory with a count of the Tensors in this environment that own it.
 *
 * Never shown to users: a Tensor keeps its storage in a private field, so nothing a program does can change what the
 * native core relies on.
 *
 * @module
 */

import { DisposedError, UnsupportedDeviceError } from '../errors.js';
import { type Collectable, collectLater, type Owner } from './collect.js';

export type { Owner } from './collect.js';

/** The part of WebGPU's `GPUBuffer` that matters here. Its `GPUDevice` travels beside it: two devices cannot share. */
export interface GPUBufferLike {
  readonly size: number;
  readonly usage: number;
}

export abstract class Storage {
  /** Owning Tensors. Zero: released. */
  refs: number;
  readonly nbytes: number;
  /** Native objects over this memory that JavaScript holds for its descriptors; freed with it. */
  attached: Set<Owner> | null;
  /** For the collector. */
  nextPending: Collectable | null;

  constructor(nbytes: number) {
    this.refs = 1;
    this.nbytes = nbytes;
    this.attached = null;
    this.nextPending = null;
  }

  /** Gives the memory back. Called once, by the last release. */
  protected abstract free(): void;

  /** What gives the memory back when the collector finds the storage unreachable; must not refer to the storage. */
  abstract makeOwner(): Owner;

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
    if (--this.refs !== 0) return;
    if (this.attached !== null) freeAll(this.attached);
    this.free();
  }
}

// As they were when this module was loaded: a replacement would be handed what the program must not reach.
const { apply } = Reflect;
const { forEach } = Set.prototype;
const Bytes = globalThis.Uint8Array;

function freeAll(owners: ReadonlySet<Owner>): void {
  apply(forEach, owners, [freeOne]);
}

function freeOne(owner: Owner): void {
  owner.free();
}

const keptBy = new WeakMap<object, Storage>();
const keepBy = WeakMap.prototype.set.bind(keptBy) as (array: object, storage: Storage) => void;

/** Runs a deleter once. */
class DeleterOwner implements Owner {
  private deleter: (() => void) | undefined;

  constructor(deleter: (() => void) | undefined) {
    this.deleter = deleter;
  }

  free(): void {
    const { deleter } = this;
    this.deleter = undefined;
    deleter?.();
  }
}

/** Memory that somebody else releases: a deleter, or nobody. */
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
    // The producer's deleter must wait for a typed array that outlives its tensor.
    if (this.owner !== null) keepBy(array, this);
  }
}

/** Memory of a JavaScript buffer, which its owner may still detach, transfer or shrink: checked at each use. */
export class BufferStorage extends LentStorage {
  readonly start: number;
  protected readonly source: ArrayBufferLike;

  constructor(buffer: ArrayBufferLike, start: number, nbytes: number, deleter?: () => void) {
    super(nbytes, deleter);
    this.source = buffer;
    this.start = start;
  }

  buffer(): ArrayBufferLike {
    const length = bufferLength(this.source) as number;
    if (length < this.start + this.nbytes || (length === 0 && isDetached(this.source))) {
      throw new DisposedError(
        `Expected ${this.start + this.nbytes} bytes under this tensor but its buffer has ${length}: ` +
          'it was detached, transferred or resized by its owner. Use Tensor.from (copies) or Tensor.adopt (takes it over)',
      );
    }
    return this.source;
  }
}

/** As it was when this module was loaded: a replacement would be handed buffers that nobody may see. */
export const clone: <T>(value: T, options?: { transfer?: ArrayBufferLike[] }) => T = globalThis.structuredClone;

/** A JavaScript buffer that this package made or took over: where there is no native memory. */
export class HeapStorage extends BufferStorage {
  private isShown: boolean;

  constructor(buffer: ArrayBuffer) {
    super(buffer, 0, bufferLength(buffer) as number);
    this.isShown = false;
  }

  override shownBy(array: object): void {
    super.shownBy(array);
    this.isShown = true;
  }

  /** Stale typed arrays become empty, as those over native memory do. */
  protected override free(): void {
    if (!this.isShown || bufferLength(this.source) === 0) return;
    try {
      clone(this.source, { transfer: [this.source as ArrayBuffer] });
    } catch {
      // Somebody marked it as untransferable: the memory stays with the arrays.
    }
  }
}

/** A GPUBuffer and the GPUDevice it belongs to. */
export class GpuStorage extends LentStorage {
  readonly gpuBuffer: GPUBufferLike;
  readonly gpuDevice: object;

  constructor(gpuBuffer: GPUBufferLike, gpuDevice: object, nbytes: number, deleter?: () => void) {
    super(nbytes, deleter);
    this.gpuBuffer = gpuBuffer;
    this.gpuDevice = gpuDevice;
  }

  get start(): number {
    return 0;
  }

  buffer(): never {
    throw new UnsupportedDeviceError(
      'webgpu',
      'Expected host memory but this tensor lives in a GPUBuffer; read it back with mapAsync or copyBufferToBuffer first',
    );
  }
}

type Getter<T> = (this: unknown) => T;

/** A getter as it was when this module was loaded: own properties and later patches of user code do not reach it. */
function getterOf<T>(prototype: object, name: string): Getter<T> | null {
  return (Object.getOwnPropertyDescriptor(prototype, name)?.get as Getter<T> | undefined) ?? null;
}

const typedArray = Object.getPrototypeOf(Uint8Array.prototype) as object;
const bufferOf = getterOf<ArrayBufferLike>(typedArray, 'buffer') as Getter<ArrayBufferLike>;
const byteOffsetOf = getterOf<number>(typedArray, 'byteOffset') as Getter<number>;
const byteLengthOf = getterOf<number>(typedArray, 'byteLength') as Getter<number>;
const arrayBufferLength = getterOf<number>(ArrayBuffer.prototype, 'byteLength');
const arrayBufferResizable = getterOf<boolean>(ArrayBuffer.prototype, 'resizable');
const sharedBufferLength =
  typeof SharedArrayBuffer === 'undefined' ? null : getterOf<number>(SharedArrayBuffer.prototype, 'byteLength');

const none: readonly [] = [];

function call<T>(getter: Getter<T> | null, value: unknown): T | null {
  try {
    return getter === null ? null : (apply(getter, value, none) as T);
  } catch {
    return null; // not an object of that kind
  }
}

/** The length of a real (Shared)ArrayBuffer of any realm; null for anything that only looks like one. */
export function bufferLength(value: unknown): number | null {
  return call(arrayBufferLength, value) ?? call(sharedBufferLength, value);
}

/** A real SharedArrayBuffer, which nobody can detach. Most are none, and a getter that throws costs 10 µs. */
export function isShared(value: unknown): boolean {
  return call(arrayBufferLength, value) === null && call(sharedBufferLength, value) !== null;
}

/** A real ArrayBuffer whose length can change. */
export function isResizable(value: unknown): boolean {
  return call(arrayBufferResizable, value) === true;
}

/** A buffer whose memory went elsewhere. Asked by making an array, which a detached buffer refuses: Node 20 has no `detached`. */
export function isDetached(buffer: ArrayBufferLike): boolean {
  try {
    return new Bytes(buffer) === undefined;
  } catch {
    return true;
  }
}

/** Where the memory of a typed array really is. */
export function regionOf(array: ArrayBufferView): { buffer: ArrayBufferLike; start: number; byteLength: number } {
  return { buffer: bufferOf.call(array), start: byteOffsetOf.call(array), byteLength: byteLengthOf.call(array) };
}
