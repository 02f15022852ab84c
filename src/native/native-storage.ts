/**
 * NativeStorage: native memory that this environment holds one reference to.
 *
 * @module
 */

import { BufferError } from '../errors.js';
import { collectLater, collectNever, type Owner } from '../storage/collect.js';
import { isDetached, Storage } from '../storage/storage.js';
import { forgetStorage, isDebug, recordStorage } from './debug.js';
import { Field, frame } from './frame.js';
import { native } from './load.js';
import { checkStatus, Status } from './status.js';
import { maxLength } from './threads.js';

const { i32, u32, u64 } = frame;
const { ADDRESS, HANDLE, STATUS } = Field;

/** Holds the reference for the collector, for storages that outlive the tick they were made in. */
class Handle implements Owner {
  number: number;

  constructor(number: number) {
    this.number = number;
  }

  free(): void {
    const { number } = this;
    if (number === 0) return;
    this.number = 0;
    u32[HANDLE] = number;
    native().collect();
    forgetStorage(number);
  }
}

export class NativeStorage extends Storage {
  /** The number in the native table; 0 once released. */
  handle: number;
  /** The memory belongs to this environment's JavaScript heap and ends with it. */
  readonly isEnvironmentBound: boolean;
  // Not private fields: V8 makes derived classes that have some three times as slow to construct.
  private cached: ArrayBuffer | null;
  private isCopy: boolean;
  private owner: Handle | null;

  /** Takes over the reference that native code put into the table of this environment. */
  constructor(handle: number, nbytes: number, isEnvironmentBound: boolean) {
    super(nbytes);
    this.handle = handle;
    this.isEnvironmentBound = isEnvironmentBound;
    this.cached = null;
    this.isCopy = false;
    this.owner = null;
    collectLater(this);
  }

  /** In debug mode remembers where it was made. Not in the constructor: user code may hook stack traces, and must not run
   * while the frame still holds what the constructor's caller reads next. */
  recorded(): this {
    if (isDebug()) recordStorage(this.handle);
    return this;
  }

  get start(): number {
    return 0;
  }

  makeOwner(): Owner {
    this.owner = new Handle(this.handle);
    return this.owner;
  }

  protected free(): void {
    const { handle } = this;
    this.handle = 0;
    if (this.owner !== null) this.owner.number = 0;
    else collectNever(this);
    this.giveBack(handle);
    if (isDebug()) forgetStorage(handle);
    if (this.cached !== null) this.detach();
  }

  /** Drops the reference. */
  protected giveBack(handle: number): void {
    u32[HANDLE] = handle;
    native().release();
  }

  /** Explicitly disposed: stale typed arrays become empty instead of keeping the memory. Not so when the collector
   * releases the storage, because a typed array may then be all that the program kept. */
  private detach(): void {
    const buffer = this.cached as ArrayBuffer;
    this.cached = null;
    if (!this.isCopy) native().detachBuffer(buffer);
  }

  get address(): bigint {
    u32[HANDLE] = this.handle;
    native().addressOf();
    checkStatus();
    return u64[ADDRESS] as bigint;
  }

  override get isBufferCopied(): boolean {
    this.buffer();
    return this.isCopy;
  }

  buffer(): ArrayBuffer {
    if (this.isShown(this.cached)) {
      if (this.isCopy) this.refresh(this.cached);
      return this.cached;
    }
    this.cached = this.create();
    return this.cached;
  }

  /** Whoever has the buffer can detach it; the memory is still here and gets another one. */
  private isShown(buffer: ArrayBuffer | null): buffer is ArrayBuffer {
    return buffer !== null && (this.nbytes === 0 ? !isDetached(buffer) : buffer.byteLength === this.nbytes);
  }

  private create(): ArrayBuffer {
    // Runtimes disagree about buffers over NULL, and no bytes need no memory.
    if (this.nbytes === 0) return new ArrayBuffer(0);
    if (this.nbytes > maxLength) {
      throw new BufferError(
        `Expected at most ${maxLength} bytes for data on this runtime but the tensor has ${this.nbytes}; use a slice of a smaller tensor, or a newer runtime`,
      );
    }
    u32[HANDLE] = this.handle;
    const buffer = native().createBuffer();
    if (buffer !== undefined) return buffer;
    if (i32[STATUS] !== Status.noExternalBuffers) checkStatus();
    const copy = new ArrayBuffer(this.nbytes);
    this.isCopy = true;
    this.refresh(copy);
    return copy;
  }

  private refresh(copy: ArrayBuffer): void {
    u32[HANDLE] = this.handle;
    native().readInto(new Uint8Array(copy));
    checkStatus();
  }

  override commit(): void {
    if (!this.isCopy || !this.isShown(this.cached)) return;
    u32[HANDLE] = this.handle;
    native().writeFrom(new Uint8Array(this.cached));
    checkStatus();
  }
}
