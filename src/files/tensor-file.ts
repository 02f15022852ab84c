/// <reference lib="esnext.disposable" preserve="true" />
/** TensorFile: an open file of named tensors. Its tensors may outlive it. */

import { checkOptions, nearest, type OptionNames } from '../base/options.js';
import { checkSignal } from '../base/signal.js';
import { type Device, type DeviceInfo, parseDevice } from '../device.js';
import type { DType } from '../dtype.js';
import { ArgumentTypeError, ArgumentValueError, DisposedError, type DLPackError } from '../errors.js';
import { type Expected, expectTaken, type TensorSpec } from '../spec.js';
import type { Descriptor } from '../storage/descriptor.js';
import { disposeSymbol } from '../storage/storage.js';
import { Tensor } from '../tensor.js';
import type { Quantization, TensorEntry } from './entry.js';
import { isAligned, type LoadOptions, type OpenedFile, type Progress } from './opened.js';
import type { Reading } from './reading.js';
import { type Arriving, type Sent, Uploader } from './upload.js';

/** The description of a tensor in a file, without its data. */
export interface TensorInfo {
  /** Its name in the file. */
  readonly name: string;
  /** The element type. */
  readonly dtype: DType;
  /** The lengths of the axes. */
  readonly shape: readonly number[];
  /** Its bytes. */
  readonly nbytes: number;
  /** The file that holds the tensor. */
  readonly path: string;
  /** The position of its bytes in the file; null for a compressed member of an npz file. */
  readonly offset: number | null;
  /** True when `get` shares the memory of the open file. False when `get` copies, and then the tensor's `isCopied` is true. */
  readonly isShared: boolean;
  /** Describes blocks of quantised numbers, whose bytes the tensor holds. */
  readonly quantization?: Quantization;
}

/** Where a tensor goes, and how. */
export interface GetOptions {
  /** The target device. The default is host memory. */
  device?: Device;
  /** Stops the loading: the promise is rejected with the reason of the signal. Without one, nothing stops it. */
  signal?: AbortSignal;
  /** Called as bytes arrive; nothing when absent. */
  onProgress?: (progress: Progress) => void;
}

const specNames: OptionNames<Pick<TensorSpec, 'dtype' | 'shape'>> = { dtype: true, shape: true };
const getNames: OptionNames<GetOptions> = { device: true, signal: true, onProgress: true };

/** The location of a tensor. */
export interface Located {
  readonly file: OpenedFile;
  readonly entry: TensorEntry;
  /** Makes the tensor if it must be checked or decompressed first. */
  readonly make?: () => Reading<Descriptor>;
  readonly isCompressed?: boolean;
}

/** Bytes between two tensors that are uploaded with them. */
const GAP = 4096;
/** The most names that a misspelt name is compared with. */
const MOST_COMPARED = 10_000;

/**
 * An open file of named tensors.
 *
 * @hideconstructor
 * @example
 * ```ts
 * import { Tensor } from 'dlpack';
 * import { openNpz, type TensorFile, writeNpz } from 'dlpack/files';
 * const sizeOf = (file: TensorFile) => file.names.reduce((sum, name) => sum + file.info(name).nbytes, 0); // any format
 * await writeNpz('sizes.npz', { x: Tensor.from([1, 2]), y: Tensor.from([3]) });
 * using file = await openNpz('sizes.npz');
 * console.log(sizeOf(file)); // 24
 * ```
 */
export class TensorFile implements Iterable<[name: string, tensor: Tensor]> {
  constructor(
    /** The file, as it was named. */
    readonly path: string,
    private files: readonly OpenedFile[] | null,
    /** Where the header places the tensors. */
    private readonly places: ReadonlyMap<string, Located>,
  ) {}

  /** Names of all tensors, in the order of the file. */
  get names(): readonly string[] {
    return [...this.places.keys()];
  }

  /** Number of tensors. */
  get size(): number {
    return this.places.size;
  }

  /**
   * The location of a tensor; null for an unknown name. If the header of the file does not contain the location, the result
   * is a Reading that finds it, and the file is the only one. Reads headers, never data.
   *
   * @internal
   */
  protected locate(name: string): Reading<Located> | Located | null {
    return this.places.get(name) ?? null;
  }

  /**
   * Tells whether the file has a tensor of this name.
   *
   * @param name - The name of a tensor.
   * @returns True for one that `info` describes, without reading it.
   * @throws DisposedError after `dispose()`.
   */
  has(name: string): boolean {
    this.check();
    return this.locate(name) !== null;
  }

  /**
   * Describes a tensor in the file.
   *
   * @param name - The name of a tensor.
   * @returns Its dtype, shape and place. No data is read.
   * @throws ArgumentValueError if the file has no such tensor; the message says which name was probably meant.
   * @throws ArgumentTypeError for a name that is no string, and DisposedError after `dispose()`.
   */
  info(name: string): TensorInfo {
    return describeLocated(this.located(name));
  }

  /**
   * Makes a tensor over the memory of the file. Data of a mapped file is read only when elements are accessed. A
   * misaligned, compressed or big-endian tensor is copied, and then `isCopied` is true. With a spec it throws a
   * `SpecError` for another tensor, and the compiler knows its dtype and shape: `file.get('weight', { dtype: 'float32',
   * shape: [null, 3] })`.
   *
   * @param name - The name of a tensor.
   * @param spec - The dtype and the shape that you expect; any when absent.
   * @returns A tensor that shares the memory of the file, or a copy.
   * @throws ArgumentValueError if the file has no such tensor, ArgumentTypeError for a name that is no string, and
   *   DisposedError after `dispose()`.
   * @throws SpecError for another dtype or shape than expected, and FileFormatError if the file is damaged.
   */
  get<const S extends Pick<TensorSpec, 'dtype' | 'shape'>>(name: string, spec: S): Expected<Tensor, S>;
  get(name: string): Tensor;
  get(name: string, spec: Pick<TensorSpec, 'dtype' | 'shape'> = {}): Tensor {
    checkOptions(spec, specNames, "{ dtype: 'float32' }");
    const { file, entry, make } = this.located(name);
    return expectTaken(new Tensor(make === undefined ? file.tensor(entry) : file.now(make())), spec);
  }

  /**
   * Loads a tensor from any file, onto any device, without blocking for long. With `dtype` or `shape` the promise is
   * rejected with a `SpecError` for another tensor, and the compiler knows them, as for `get`.
   *
   * @param name - The name of a tensor.
   * @param options - The device, the dtype and the shape; the host, and any, when absent.
   * @returns A promise of a tensor that shares the memory of a mapped file, or has its own.
   * @throws As `get` does, and FileError if reading fails.
   */
  getAsync(name: string, options?: GetOptions): Promise<Tensor>;
  getAsync<const S extends Pick<TensorSpec, 'dtype' | 'shape'>>(
    name: string,
    options: GetOptions & S,
  ): Promise<Expected<Tensor, S>>;
  async getAsync(name: string, options: GetOptions & Pick<TensorSpec, 'dtype' | 'shape'> = {}): Promise<Tensor> {
    checkOptions(options, { ...getNames, ...specNames }, "{ device: 'cuda:0' }");
    return expectTaken((await this.load([name], options)).get(name) as Tensor, options);
  }

  /**
   * Loads all tensors by their names. If one of them cannot be loaded, the others are disposed and the promise is
   * rejected.
   *
   * @returns A promise of the tensors by name, each as from `getAsync`: it shares the memory of a mapped file, or has
   *   its own.
   * @throws ArgumentTypeError for an unknown option, DisposedError after `dispose()`, and FileError if reading fails.
   */
  async getAllAsync(options: GetOptions = {}): Promise<Map<string, Tensor>> {
    checkOptions(options, getNames, "{ device: 'cuda:0' }");
    return this.load(this.names, options);
  }

  private async load(names: readonly string[], options: GetOptions): Promise<Map<string, Tensor>> {
    const { signal, onProgress } = options;
    checkSignal(signal);
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
    const uploader = new Uploader(device, this.countBytes(names));
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
  private countBytes(names: readonly string[]): number {
    let total = 0;
    for (const name of names) {
      const found = this.found(name);
      total += isReading(found) ? Number.POSITIVE_INFINITY : found.entry.nbytes;
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
      if (isReading(found) || found.make !== undefined) break;
      const { file, entry } = found;
      const { name, nbytes, dtype, shape, strides, flags } = entry;
      const follows = holder === null || (file === holder && entry.start >= end && entry.start - end <= GAP);
      if (!follows || !file.isInMemory || entry.swap !== 0) break;
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
    const { signal } = loading;
    const { file, entry, make } = isReading(found) ? await this.onlyFile().later(found, signal) : found;
    this.check();
    return make === undefined ? file.load(entry, loading) : file.later(make(), signal);
  }

  /**
   * Iterates over names with their tensors, as `get` makes them.
   *
   * @returns Pairs of a name and a tensor.
   * @throws As `get` does.
   */
  *[Symbol.iterator](): Generator<[name: string, tensor: Tensor]> {
    for (const name of this.names) yield [name, this.get(name)];
  }

  /** Closes the file. Its tensors stay valid, and the mapping ends with the last of them. */
  dispose(): void {
    const { files } = this;
    this.files = null;
    for (const file of files ?? []) file.close();
  }

  /** Closes the file at the end of a block that begins with `using`. */
  [disposeSymbol](): void {
    this.dispose();
  }

  private check(): void {
    if (this.files === null) throw new DisposedError(`Expected an open file but ${this.path} was disposed`);
  }

  private onlyFile(): OpenedFile {
    return this.files?.[0] as OpenedFile;
  }

  private found(name: string): Reading<Located> | Located {
    this.check();
    const found = this.locate(name);
    if (found !== null) return found;
    if (typeof name !== 'string') throw new ArgumentTypeError('name', 'the name of a tensor', name);
    throw this.missing(name);
  }

  /**
   * The error for a name that `locate` does not find.
   *
   * @internal
   */
  protected missing(name: string): DLPackError {
    return new ArgumentValueError('name', `one of the ${this.size} tensors in ${this.path}`, name, this.advice(name));
  }

  /** The name that was probably meant. Comparing with many names would take too long. */
  private advice(name: string): string {
    const meant = this.size > MOST_COMPARED ? null : nearest(name, this.names);
    return meant === null ? '' : `did you mean '${meant}'?`;
  }

  private located(name: string): Located {
    const found = this.found(name);
    return isReading(found) ? this.onlyFile().now(found) : found;
  }
}

function isReading(found: Reading<Located> | Located): found is Reading<Located> {
  return 'next' in found;
}

function describeLocated({ file, entry, isCompressed = false }: Located): TensorInfo {
  const { name, dtype, shape, nbytes, start, quantization } = entry;
  return {
    name,
    dtype: dtype.name,
    shape: [...shape],
    nbytes,
    path: file.path,
    offset: isCompressed ? null : start,
    isShared: file.isInMemory && !isCompressed && isAligned(entry),
    ...(quantization === null ? {} : { quantization }),
  };
}

/** The tensors of one file. */
export function locatedIn(file: OpenedFile, entries: ReadonlyMap<string, TensorEntry>): Map<string, Located> {
  return new Map(Array.from(entries, ([name, entry]) => [name, { file, entry }]));
}
