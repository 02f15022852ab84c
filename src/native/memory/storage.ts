/** NativeStorage: native memory to which this environment holds one reference. */

import { bufferOf } from '../../base/primordials.js';
import { BufferError } from '../../errors.js';
import { collectLater, collectNever, type Owner } from '../../storage/collect.js';
import { forget, isDebug, record } from '../../storage/debug.js';
import { detach } from '../../storage/detach.js';
import { type ElementKind, isDetached, isShared, regionOf, Storage } from '../../storage/storage.js';
import { native } from '../load/load.js';
import { Status, Wire } from '../wire/constants.js';
import { errorOf } from '../wire/status.js';
import { WireHeader } from '../wire/wire-layout.js';
import { pinnedMemory } from './pins.js';
import { runtimeRules } from './threads.js';

/** A buffer over as many bytes causes a garbage collection, because the engine counts the bytes of buffers. */
const LARGE = 1 << 25;
/** The bytes of an element that is read without a buffer. */
const element = new Uint8Array(256);
const elementView = new DataView(element.buffer);

/** Holds the reference for the garbage collector, for storages that outlive the tick in which they were made. */
class Handle implements Owner {
  constructor(public number: number) {}

  free(): void {
    const { number } = this;
    if (number === 0) return;
    this.number = 0;
    forget('storage', number); // first, because a deleter may make a storage that gets the number
    WireHeader.setReleased(number);
    native().collect();
  }
}

export class NativeStorage extends Storage {
  start = 0;
  private cached: ArrayBufferLike | null = null;
  /** What `cached` is: an external buffer, a copy, or the SharedArrayBuffer in which the memory is. */
  private kind: 'external' | 'copy' | 'shared' = 'external';
  private owner: Handle | null = null;

  /** Takes over the reference that native code added to the table of this environment. */
  constructor(
    /** The number in the native table; 0 once released. */
    public handle: number,
    nbytes: number,
    /** True when the memory ends with this worker, so native code may not keep it. */
    readonly endsWithWorker: boolean,
  ) {
    super(nbytes);
    collectLater(this);
    if (isDebug()) record('storage', handle, this);
  }

  makeOwner(): Owner {
    this.owner = new Handle(this.handle);
    WireHeader.setLasting(this.handle);
    native().outlive();
    return this.owner;
  }

  protected free(): void {
    const { handle } = this;
    this.handle = 0;
    if (this.owner !== null) this.owner.number = 0;
    else collectNever(this);
    if (isDebug()) forget('storage', handle);
    // Last, because it may run a producer's deleter, which may throw.
    this.giveBack(handle, this.cached !== null && this.detach());
  }

  /** Drops the reference, and that of the buffer if it was detached. */
  protected giveBack(handle: number, isDetached: boolean): void {
    releaseHandle(isDetached ? handle + Wire.DETACHED : handle);
  }

  /**
   * Detaches typed arrays after an explicit dispose, so that they do not keep the memory. Not used when the garbage
   * collector releases the storage, because the program may still use a typed array. Returns false if a program moved
   * the memory to another buffer, which keeps it, and for a SharedArrayBuffer, which cannot be detached.
   */
  private detach(): boolean {
    const buffer = this.cached as ArrayBuffer;
    this.cached = null;
    return this.kind !== 'shared' && detach(buffer, native().detachBuffer);
  }

  /** Says which part of a SharedArrayBuffer the memory is. */
  showIn(memory: Uint8Array): ArrayBufferLike {
    const { buffer, start } = regionOf(memory);
    this.kind = 'shared';
    this.start = start;
    this.cached = buffer;
    return buffer;
  }

  get address(): bigint {
    const address = native().addressOf(this.handle);
    if (address === undefined) throw errorOf(Status.consumed);
    return address;
  }

  override get isBufferCopied(): boolean {
    this.buffer();
    return this.kind === 'copy';
  }

  buffer(): ArrayBufferLike {
    if (this.isShown(this.cached)) {
      if (this.kind === 'copy') this.refresh(this.cached);
      return this.cached;
    }
    this.cached = this.create();
    return this.cached;
  }

  override peek({ dtype, device }: ElementKind, bit: number): DataView | null {
    if (this.nbytes < LARGE || !device.isHostAccessible) return null;
    const { handle } = this;
    const byte = Math.floor(bit / 8);
    const nbytes = Math.ceil((bit + dtype.itemBits) / 8) - byte;
    if (this.cached !== null || nbytes > element.length) return null;
    return native().readPart(handle, byte, nbytes, element) ? elementView : null;
  }

  /** False without a buffer, or if a program detached it. The memory still exists and gets a new buffer. */
  private isShown(buffer: ArrayBufferLike | null): buffer is ArrayBufferLike {
    if (buffer === null || this.kind === 'shared') return buffer !== null;
    return this.nbytes === 0 ? !isDetached(buffer) : buffer.byteLength === this.nbytes;
  }

  private create(): ArrayBufferLike {
    // Runtimes disagree about buffers over NULL, and an empty tensor needs no memory.
    if (this.nbytes === 0) return new ArrayBuffer(0);
    const { maxLength } = runtimeRules();
    if (this.nbytes > maxLength) {
      throw new BufferError(
        `Expected memory of at most ${maxLength} bytes on this runtime but it has ${this.nbytes}; read a copy() of a slice, write a slice with fill() or copyFrom(), or use Deno, or Node 22 or newer`,
      );
    }
    const made = native().createBuffer(this.handle);
    if (typeof made !== 'number') return made;
    if (made !== Status.noExternalBuffers) throw errorOf(made, this.nbytes);
    return this.createWithout();
  }

  /** Without external buffers: the SharedArrayBuffer in which this thread keeps the memory, or else a copy. */
  private createWithout(): ArrayBufferLike {
    const pinned = pinnedMemory(native().pinOf(this.handle));
    if (pinned !== null && isShared(bufferOf(pinned))) return this.showIn(pinned);
    const copy = new ArrayBuffer(this.nbytes);
    this.kind = 'copy';
    this.refresh(copy);
    return copy;
  }

  private refresh(copy: ArrayBufferLike): void {
    if (!native().readInto(this.handle, new Uint8Array(copy))) throw errorOf(Status.napi);
  }

  override commit(): void {
    if (this.kind !== 'copy' || !this.isShown(this.cached)) return;
    const { cached } = this;
    if (!native().writeFrom(this.handle, new Uint8Array(cached))) throw errorOf(Status.napi);
  }
}

/** Drops the reference with this number in the native table. The number may contain {@link Wire.DETACHED}. */
export function releaseHandle(released: number): void {
  WireHeader.setReleased(released);
  native().release();
}
