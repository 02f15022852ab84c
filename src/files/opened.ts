/** An open file that one or several tensor files use: a mapping, or an asynchronous source. */

import { cpu } from '../device.js';
import { BufferError } from '../errors.js';
import { allocateLike } from '../storage/allocate.js';
import { Descriptor, Flag } from '../storage/descriptor.js';
import type { Storage } from '../storage/storage.js';
import { convertElements } from '../values/convert.js';
import { byteRange, type TensorEntry } from './entry.js';
import { getHost, type MapMode } from './host.js';
import { type Reader, type Reading, readLater, readNow } from './reading.js';
import type { Source } from './source.js';

/** Progress of `getAsync`. */
export interface Progress {
  readonly name: string;
  readonly loaded: number;
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
  abstract readonly isMapped: boolean;

  /** Runs a parser synchronously. Throws for an asynchronous source. */
  abstract now<T>(reading: Reading<T>): T;
  abstract later<T>(reading: Reading<T>): Promise<T>;
  /** The tensor, over the file's own memory if possible. For mapped files only. */
  abstract tensor(entry: TensorEntry): Descriptor;
  abstract load(entry: TensorEntry, options: LoadOptions): Promise<Descriptor>;
  /** The bytes from `start` to `end`, in the file's own memory; null when it has none. */
  abstract bytes(start: number, end: number): Descriptor | null;
  abstract close(): void;
}

/** Allocates host memory for a tensor whose bytes are copied from a file, with the element order of the file. */
export function allocateEntry({ shape, strides, dtype, flags }: TensorEntry, more: number): Descriptor {
  const { storage } = allocateLike(shape, dtype, flags);
  return new Descriptor(storage, dtype, cpu, shape, strides, 0, flags | more | Flag.isCopied);
}

/** All bytes of host memory that this package allocated. */
export function bytesOf({ storage }: Descriptor): Uint8Array {
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

export class MappedFile extends OpenedFile {
  readonly size: number;
  private readonly mapping: Storage;
  private readonly flags: number;
  private readonly reader: Reader;

  constructor(
    readonly path: string,
    mode: MapMode,
  ) {
    super();
    const host = getHost();
    this.mapping = host.map(path, mode);
    this.size = this.mapping.nbytes;
    this.flags = mode === 'r' ? Flag.readonly : 0;
    const { mapping } = this;
    this.reader = {
      read: (offset, length) => host.read(mapping, offset, length),
      inflate: (request) => host.inflate(request),
    };
  }

  get isMapped(): boolean {
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
    const part = getHost().part(this.mapping, start, nbytes);
    return new Descriptor(part, dtype, cpu, shape, strides, 0, flags | this.flags);
  }

  private copied(entry: TensorEntry): Descriptor {
    const copy = allocateEntry(entry, this.flags);
    const { start, nbytes } = entry;
    convertElements(byteRange(this.mapping, start, nbytes), byteRange(copy.storage, 0, nbytes));
    if (entry.swap > 0) swapBytes(bytesOf(copy), entry.swap);
    copy.storage.commit();
    return copy;
  }

  async load(entry: TensorEntry): Promise<Descriptor> {
    return this.tensor(entry);
  }

  bytes(start: number, end: number): Descriptor {
    this.mapping.refs++;
    return byteRange(this.mapping, start, end - start, cpu, this.flags);
  }

  close(): void {
    this.mapping.release();
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

  get isMapped(): boolean {
    return false;
  }

  now(): never {
    throw new BufferError(
      `Expected a file that is mapped for get() but ${this.path} is read in ranges; use getAsync(), or open a path`,
    );
  }

  later<T>(reading: Reading<T>): Promise<T> {
    return readLater(reading, this.source);
  }

  tensor(): never {
    return this.now();
  }

  async load(entry: TensorEntry, { signal, onProgress }: LoadOptions): Promise<Descriptor> {
    signal?.throwIfAborted();
    const { name, start, nbytes } = entry;
    const copy = allocateEntry(entry, 0);
    try {
      const bytes = bytesOf(copy);
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
