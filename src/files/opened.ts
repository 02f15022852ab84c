/** An open file that one or several tensor files use: in memory, or an asynchronous source. */

import { cpu } from '../device.js';
import { BufferError } from '../errors.js';
import { allocateLike } from '../storage/allocate.js';
import { Descriptor, Flag } from '../storage/descriptor.js';
import { findLayout } from '../storage/layouts.js';
import type { Storage } from '../storage/storage.js';
import { convertElements } from '../values/convert.js';
import { byteRange, type TensorEntry } from './entry.js';
import { getHost, type MapMode } from './host.js';
import { type Reader, type Reading, readLater, readNow } from './reading.js';
import type { Source } from './source.js';

/** Progress of `getAsync`. */
export interface Progress {
  /** The tensor that is being read. */
  readonly name: string;
  /** Bytes that were read so far. */
  readonly loaded: number;
  /** Bytes to read. */
  readonly total: number;
}

export interface LoadOptions {
  readonly signal: AbortSignal | undefined;
  readonly onProgress: ((progress: Progress) => void) | undefined;
}

export abstract class OpenedFile {
  abstract readonly path: string;
  abstract readonly size: number;
  /** True when tensors are available without a promise. */
  abstract readonly isInMemory: boolean;

  /** Runs a parser synchronously. Throws for an asynchronous source. */
  abstract now<T>(reading: Reading<T>): T;
  abstract later<T>(reading: Reading<T>, signal?: AbortSignal): Promise<T>;
  /** The tensor, over the file's own memory if possible. For files in memory only. */
  abstract tensor(entry: TensorEntry): Descriptor;
  abstract load(entry: TensorEntry, options: LoadOptions): Promise<Descriptor>;
  /** The bytes from `start` to `end`, in the file's own memory; null when it has none. */
  abstract bytes(start: number, end: number): Descriptor | null;
  abstract close(): void;
}

/** Allocates host memory for a tensor whose bytes are copied from a file, with the element order of the file. */
export function allocateEntry({ shape, strides, dtype, flags }: TensorEntry, more: number): Descriptor {
  const { storage } = allocateLike(shape, dtype, flags);
  return new Descriptor(storage, findLayout(dtype, cpu, shape, strides, flags | more | Flag.isCopied), 0);
}

/** All bytes of host memory that this package allocated. */
export function allBytes({ storage }: Descriptor): Uint8Array {
  return new Uint8Array(storage.buffer(), storage.start, storage.nbytes);
}

/** Converts big-endian numbers to the byte order of this machine, in place. */
export function swapBytes(bytes: Uint8Array, width: number): void {
  if (width < 2) return;
  for (let start = 0; start + width <= bytes.length; start += width) {
    for (let low = start, high = start + width - 1; low < high; low++, high--) {
      const byte = bytes[low] as number;
      bytes[low] = bytes[high] as number;
      bytes[high] = byte;
    }
  }
}

/** True when a tensor can use the bytes of an entry in place. */
export function isAligned({ dtype, start, swap }: TensorEntry): boolean {
  return swap === 0 && start % dtype.alignment === 0;
}

/** A path: a large file is mapped, and a small one is read. */
export class MemoryFile extends OpenedFile {
  readonly size: number;
  private readonly memory: Storage;
  private readonly flags: number;
  private readonly reader: Reader;

  constructor(
    readonly path: string,
    mode: MapMode,
  ) {
    super();
    const host = getHost();
    this.memory = host.open(path, mode);
    this.size = this.memory.nbytes;
    this.flags = mode === 'r' ? Flag.readonly : 0;
    const { memory } = this;
    this.reader = {
      read: (offset, length) => host.read(memory, offset, length),
      inflate: (request) => host.inflate(request),
    };
  }

  get isInMemory(): boolean {
    return true;
  }

  now<T>(reading: Reading<T>): T {
    return readNow(reading, this.reader);
  }

  async later<T>(reading: Reading<T>): Promise<T> {
    return this.now(reading);
  }

  tensor(entry: TensorEntry): Descriptor {
    const { dtype, shape, strides, start, nbytes, flags } = entry;
    if (!isAligned(entry)) return this.copied(entry);
    const part = getHost().part(this.memory, start, nbytes);
    return new Descriptor(part, findLayout(dtype, cpu, shape, strides, flags | this.flags), 0);
  }

  private copied(entry: TensorEntry): Descriptor {
    const copy = allocateEntry(entry, this.flags);
    const { start, nbytes } = entry;
    convertElements(byteRange(this.memory, start, nbytes), byteRange(copy.storage, 0, nbytes));
    if (entry.swap > 0) swapBytes(allBytes(copy), entry.swap);
    copy.storage.commit();
    return copy;
  }

  async load(entry: TensorEntry): Promise<Descriptor> {
    return this.tensor(entry);
  }

  bytes(start: number, end: number): Descriptor {
    this.memory.refs++;
    return byteRange(this.memory, start, end - start, cpu, this.flags);
  }

  close(): void {
    this.memory.release();
  }
}

export class SourceFile extends OpenedFile {
  constructor(private readonly source: Source) {
    super();
  }

  get path(): string {
    return this.source.path;
  }

  get size(): number {
    return this.source.size;
  }

  get isInMemory(): boolean {
    return false;
  }

  now(): never {
    throw new BufferError(
      `Expected a file that is mapped for get() but ${this.path} is read in ranges; use getAsync(), or open a path`,
    );
  }

  later<T>(reading: Reading<T>, signal?: AbortSignal): Promise<T> {
    return readLater(reading, this.source, signal);
  }

  tensor(): never {
    return this.now();
  }

  async load(entry: TensorEntry, { signal, onProgress }: LoadOptions): Promise<Descriptor> {
    signal?.throwIfAborted();
    const { name, start, nbytes } = entry;
    const copy = allocateEntry(entry, 0);
    try {
      const bytes = allBytes(copy);
      let loaded = 0;
      for await (const piece of this.source.stream(start, nbytes, signal)) {
        bytes.set(piece, loaded);
        loaded += piece.length;
        onProgress?.({ name, loaded, total: nbytes });
      }
      swapBytes(bytes, entry.swap);
      copy.storage.commit();
      return copy;
    } catch (error) {
      copy.storage.release();
      throw error;
    }
  }

  bytes(): null {
    return null;
  }

  close(): void {}
}
