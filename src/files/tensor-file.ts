/// <reference lib="esnext.disposable" preserve="true" />
/** TensorFile: an open file of named tensors. Its tensors may outlive it. */

import { checkOptions, type OptionNames } from '../base/options.js';
import { type Device, type DeviceInfo, parseDevice } from '../device.js';
import type { DType } from '../dtype.js';
import { ArgumentTypeError, ArgumentValueError, DisposedError, isA } from '../errors.js';
import type { Descriptor } from '../storage/descriptor.js';
import { disposeSymbol } from '../storage/storage.js';
import { Tensor } from '../tensor.js';
import type { Quantization, TensorEntry } from './entry.js';
import { isAligned, type LoadOptions, type OpenedFile, type Progress } from './opened.js';
import type { Reading } from './reading.js';
import { type Arriving, type Sent, Uploader } from './upload.js';

/** The description of a tensor in a file, without its data. */
export interface TensorInfo {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly nbytes: number;
  /** The file that holds the tensor. */
  readonly path: string;
  /** The position of its bytes in the file; null for a compressed member of an npz file. */
  readonly offset: number | null;
  /** True when `get` shares the file's memory. False when `get` copies, and then the tensor's `isCopied` is true. */
  readonly isShared: boolean;
  /** Describes blocks of quantised numbers, whose bytes the tensor holds. */
  readonly quantization?: Quantization;
}

export interface GetOptions {
  /** The target device. The default is host memory. */
  device?: Device;
  /** Stops the loading: the promise is rejected with the reason of the signal. */
  signal?: AbortSignal;
  /** Called as bytes arrive. */
  onProgress?: (progress: Progress) => void;
}

const getNames: OptionNames<GetOptions> = { device: true, signal: true, onProgress: true };

/** The location of a tensor. */
export interface Located {
  readonly file: OpenedFile;
  readonly entry: TensorEntry;
  /** Makes the tensor if it is not simply a part of the file. */
  readonly unpack?: () => Reading<Descriptor>;
}

/** Bytes between two tensors that are uploaded with them. */
const GAP = 4096;

/** An open file of named tensors. */
export abstract class TensorFile implements Iterable<[name: string, tensor: Tensor]> {
  constructor(
    readonly path: string,
    private files: readonly OpenedFile[] | null,
  ) {}

  /** Names of all tensors, in the order of the file. */
  abstract readonly names: readonly string[];
  /**
   * The location of a tensor; null for an unknown name. If the header of the file does not contain the location, the result
   * is a Reading that finds it, and the file is the only one. Reads headers, never data.
   */
  protected abstract locate(name: string): Reading<Located> | Located | null;

  /** Number of tensors. */
  get size(): number {
    return this.names.length;
  }

  /** True when the file has a tensor of this name. */
  has(name: string): boolean {
    this.check();
    return this.locate(name) !== null;
  }

  /** The description of a tensor in the file. */
  info(name: string): TensorInfo {
    return describeLocated(this.located(name));
  }

  /**
   * A tensor over the mapped file. Data is read only when elements are accessed. A misaligned, compressed or big-endian
   * tensor is copied, and then `isCopied` is true.
   */
  get(name: string): Tensor {
    const { file, entry, unpack } = this.located(name);
    return new Tensor(unpack === undefined ? file.tensor(entry) : file.now(unpack()));
  }

  /** A tensor from any file, on any device, without blocking for long. */
  async getAsync(name: string, options: GetOptions = {}): Promise<Tensor> {
    return (await this.load([name], options)).get(name) as Tensor;
  }

  /** All tensors by their names. If one of them cannot be loaded, the others are disposed and the promise is rejected. */
  async getAllAsync(options: GetOptions = {}): Promise<Map<string, Tensor>> {
    return this.load(this.names, options);
  }

  private async load(names: readonly string[], options: GetOptions): Promise<Map<string, Tensor>> {
    checkOptions(options, getNames, "{ device: 'cuda:0' }");
    const { signal, onProgress } = options;
    if (signal !== undefined && !isA(signal, AbortSignal)) {
      throw new ArgumentTypeError('signal', 'an AbortSignal', signal);
    }
    if (onProgress !== undefined && typeof onProgress !== 'function') {
      throw new ArgumentTypeError('onProgress', 'a function', onProgress);
    }
    const loading = { signal, onProgress };
    const device = parseDevice(options.device ?? 'cpu');
    if (device.kind !== 'cpu') return this.upload(names, device, loading);
    const tensors = new Map<string, Tensor>();
    try {
      for (const name of names) {
        signal?.throwIfAborted();
        const loaded = await this.loadHost(name, loading);
        tensors.set(name, new Tensor(loaded));
        onProgress?.({ name, loaded: loaded.nbytes, total: loaded.nbytes });
      }
      return tensors;
    } catch (error) {
      for (const tensor of tensors.values()) tensor.dispose();
      throw error;
    }
  }

  private async upload(
    names: readonly string[],
    device: DeviceInfo,
    loading: LoadOptions,
  ): Promise<Map<string, Tensor>> {
    const uploader = new Uploader(device, this.bytesOf(names));
    const tensors = new Map<string, Tensor>();
    const arriving: Promise<void>[] = [];
    const arrive = ({ targets, arrived }: Arriving, sent: readonly string[]): void => {
      for (const [i, target] of targets.entries()) tensors.set(sent[i] as string, new Tensor(target));
      arrived.catch(() => undefined); // awaited below
      arriving.push(arrived);
    };
    try {
      for (let at = 0; at < names.length; ) {
        loading.signal?.throwIfAborted();
        const run = this.runFrom(names, at, uploader.stepBytes);
        const sent = names.slice(at, at + Math.max(1, run?.tensors.length ?? 1));
        at += sent.length;
        const [name] = sent as [string];
        const arrival =
          run === null
            ? await uploader.send(name, await this.loadHost(name, loading), loading)
            : await uploader.sendRun(run.source, run.tensors, loading);
        arrive(arrival, sent);
      }
      await Promise.all(arriving);
      loading.signal?.throwIfAborted();
      return tensors;
    } catch (error) {
      await uploader.settle();
      await Promise.allSettled(arriving);
      for (const tensor of tensors.values()) tensor.dispose();
      throw error;
    } finally {
      uploader.close();
    }
  }

  /** The bytes of tensors; Infinity when some are known only once they are read. */
  private bytesOf(names: readonly string[]): number {
    let total = 0;
    for (const name of names) {
      const found = this.found(name);
      total += isReading(found) || found.unpack !== undefined ? Number.POSITIVE_INFINITY : found.entry.nbytes;
    }
    return total;
  }

  /**
   * The tensors from `at` on whose bytes follow each other in a mapped file, until they reach `limit` bytes; null when
   * the first must be loaded.
   */
  private runFrom(names: readonly string[], at: number, limit: number): { source: Descriptor; tensors: Sent[] } | null {
    const tensors: Sent[] = [];
    let start = 0;
    let end = 0;
    let holder: OpenedFile | null = null;
    for (let i = at; i < names.length && (i === at || end - start < limit); i++) {
      const found = this.found(names[i] as string);
      if (isReading(found) || found.unpack !== undefined) break;
      const { file, entry } = found;
      const { name, nbytes, dtype, shape, strides, flags } = entry;
      const follows = holder === null || (file === holder && entry.start >= end && entry.start - end <= GAP);
      if (!follows || !file.isMapped || entry.swap !== 0) break;
      if (holder === null) {
        holder = file;
        start = entry.start;
      }
      end = entry.start + nbytes;
      tensors.push({ name, offset: entry.start - start, nbytes, dtype, shape, strides, flags });
    }
    const source = holder?.bytes(start, end) ?? null;
    return source === null ? null : { source, tensors };
  }

  /** A tensor in host memory. */
  private async loadHost(name: string, loading: LoadOptions): Promise<Descriptor> {
    const found = this.found(name);
    const { file, entry, unpack } = isReading(found) ? await this.onlyFile().later(found) : found;
    this.check();
    return unpack === undefined ? file.load(entry, loading) : file.later(unpack());
  }

  /** Each name with its tensor, as `get` makes it. */
  *[Symbol.iterator](): Generator<[name: string, tensor: Tensor]> {
    for (const name of this.names) yield [name, this.get(name)];
  }

  /** Closes the file. Its tensors stay valid, and the mapping ends with the last of them. */
  close(): void {
    const { files } = this;
    this.files = null;
    for (const file of files ?? []) file.close();
  }

  [disposeSymbol](): void {
    this.close();
  }

  private check(): void {
    if (this.files === null) throw new DisposedError(`Expected an open file but ${this.path} was closed`);
  }

  private onlyFile(): OpenedFile {
    return this.files?.[0] as OpenedFile;
  }

  private found(name: string): Reading<Located> | Located {
    this.check();
    const found = this.locate(name);
    if (found !== null) return found;
    if (typeof name !== 'string') throw new ArgumentTypeError('name', 'the name of a tensor', name);
    throw new ArgumentValueError('name', `one of the ${this.size} tensors in ${this.path}`, name);
  }

  private located(name: string): Located {
    const found = this.found(name);
    return isReading(found) ? this.onlyFile().now(found) : found;
  }
}

function isReading(found: Reading<Located> | Located): found is Reading<Located> {
  return 'next' in found;
}

function describeLocated({ file, entry, unpack }: Located): TensorInfo {
  const { name, dtype, shape, nbytes, start, quantization } = entry;
  return {
    name,
    dtype: dtype.name,
    shape: [...shape],
    nbytes,
    path: file.path,
    offset: unpack === undefined ? start : null,
    isShared: file.isMapped && unpack === undefined && isAligned(entry),
    ...(quantization === null ? {} : { quantization }),
  };
}

/** A file whose header locates every tensor. */
export class EntryFile extends TensorFile {
  constructor(
    path: string,
    files: readonly OpenedFile[],
    private readonly places: ReadonlyMap<string, Located>,
  ) {
    super(path, files);
  }

  get names(): readonly string[] {
    return [...this.places.keys()];
  }

  override get size(): number {
    return this.places.size;
  }

  protected locate(name: string): Located | null {
    return this.places.get(name) ?? null;
  }
}

/** The tensors of one file. */
export function locatedIn(file: OpenedFile, entries: ReadonlyMap<string, TensorEntry>): Map<string, Located> {
  return new Map(Array.from(entries, ([name, entry]) => [name, { file, entry }]));
}
