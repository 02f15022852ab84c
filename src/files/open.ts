/** Opens files of tensors: any source with a promise, and a path or `file:` URL also at once (`Sync`). */

import { checkOptions, type OptionNames } from '../base/options.js';
import { checkSignal } from '../base/signal.js';
import { type DType, parseDType } from '../dtype.js';
import { ArgumentTypeError, ArgumentValueError, checkCount, isA, UnsupportedDTypeError } from '../errors.js';
import { Tensor } from '../tensor.js';
import type { TensorEntry } from './entry.js';
import { type GgufHeader, readGguf } from './formats/gguf.js';
import { GgufFile } from './formats/gguf-file.js';
import { type Format, recognised } from './formats/magic.js';
import { type NpyOptions, readNpy } from './formats/npy.js';
import { NpzFile, readNpz } from './formats/npz-file.js';
import { readSafetensors, type SafetensorsHeader } from './formats/safetensors.js';
import { type SafetensorsFile, type Shard, safetensorsFile, shardedFile } from './formats/safetensors-file.js';
import type { ZipMember } from './formats/zip.js';
import { getHost, isUrl, type MapMode } from './host.js';
import { MemoryFile, type OpenedFile, SourceFile } from './opened.js';
import type { FileExtent, Reading } from './reading.js';
import { readShardIndex, type ShardIndex } from './shards.js';
import { BlobSource, UrlSource } from './source.js';

/** A file to open: a path (Node, Bun, Deno), a URL, a File or a Blob. */
export type FileSource = string | URL | Blob;
/** A file on a disk: a path, or a `file:` URL. */
export type FilePath = string | URL;

/** How a file is opened. */
export interface OpenOptions {
  /** How to open a path: `'r'` read-only (the default), `'c'` writable in this process only. The file never changes. */
  mode?: MapMode;
  /**
   * Stops the opening of a URL or a Blob: the promise is rejected with the reason of the signal. Without one, nothing
   * stops it.
   */
  signal?: AbortSignal;
  /** The most bytes to fetch from a server without range support, which sends the whole file. The default is 1 GiB. */
  maxBytes?: number;
}

/** The options of a function that opens a file at once: it cannot be stopped, and fetches nothing. */
export type OpenSyncOptions<O extends OpenOptions = OpenOptions> = Omit<O, 'signal' | 'maxBytes'>;

/** How an npy file is opened. */
export interface OpenNpyOptions extends OpenOptions {
  /**
   * The dtype that the array must have, and the dtype of raw bytes (`'|V2'`), because NumPy saves bfloat16, float8 and
   * int4 arrays without their name. The arrays of an npz file may have others. Any dtype when absent, but no raw bytes.
   */
  dtype?: DType;
}

/** How an npz file is opened. */
export interface OpenNpzOptions extends OpenNpyOptions {
  /**
   * True to compare every array with its checksum before it is used. Without it, arrays above 1 MiB that are not compressed
   * are not compared, because that would read all their bytes.
   */
  verify?: boolean;
}

const openSyncNames: OptionNames<OpenSyncOptions> = { mode: true };
const openNames: OptionNames<OpenOptions> = { ...openSyncNames, signal: true, maxBytes: true };
const npyNames: OptionNames<Pick<OpenNpyOptions, 'dtype'>> = { dtype: true };
const npzNames: OptionNames<Pick<OpenNpzOptions, 'dtype' | 'verify'>> = { ...npyNames, verify: 'boolean' };

/** Checked options for any source. */
interface Opening {
  readonly mode: MapMode;
  readonly signal: AbortSignal | undefined;
  readonly maxBytes: number;
}

const MAX_WHOLE = 2 ** 30;

function openingOf({ mode = 'r', signal, maxBytes = MAX_WHOLE }: OpenOptions): Opening {
  if (mode !== 'r' && mode !== 'c') throw new ArgumentValueError('mode', "'r' or 'c'", mode);
  checkSignal(signal);
  checkCount(maxBytes, 'maxBytes');
  return { mode, signal, maxBytes };
}

type Read<H> = (file: FileExtent) => Reading<H>;

/** A kind of file: how its header is read, and what is made of it. */
interface Kind<H, T> {
  readonly format: Format;
  readonly read: Read<H>;
  /** The result for a file in memory. */
  readonly make: (file: OpenedFile, header: H) => T;
  /** The result for another source; as `make` when absent. */
  readonly load?: (file: OpenedFile, header: H, opening: Opening) => Promise<T>;
}

/** Opens any source and reads its header. Closes the file if that fails. */
async function open<H, T>(source: FileSource, opening: Opening, kind: Kind<H, T>): Promise<T> {
  if (typeof source === 'string') return openPath(source, opening, kind);
  if (isA(source, Blob)) return openLater(new SourceFile(new BlobSource(source)), opening, kind);
  if (!isA(source, URL)) throw new ArgumentTypeError('source', 'a path, a URL, a File or a Blob', source);
  const url = new URL(source); // a copy, because a URL can change
  if (url.protocol === 'file:') return openPath(getHost().pathOf(url), opening, kind);
  return openLater(await sourceOf(url, opening), opening, kind);
}

/** As `open`, at once. */
function openSync<H, T>(path: FilePath, opening: Opening, kind: Kind<H, T>): T {
  if (typeof path === 'string') return openPath(path, opening, kind);
  if (isA(path, URL) && path.protocol === 'file:') return openPath(getHost().pathOf(path), opening, kind);
  throw new ArgumentTypeError('path', 'a path or a file: URL (without Sync, also other URLs, Files and Blobs)', path);
}

function openPath<H, T>(path: string, { mode, signal }: Opening, { format, read, make }: Kind<H, T>): T {
  if (isUrl(path)) throw new ArgumentValueError('source', 'a path, or new URL(...)', path);
  signal?.throwIfAborted();
  const file = new MemoryFile(path, mode);
  try {
    return make(file, file.now(recognised(file, format, read)));
  } catch (error) {
    file.close();
    throw error;
  }
}

async function openLater<H, T>(file: OpenedFile, opening: Opening, { format, read, make, load }: Kind<H, T>) {
  try {
    const header = await file.later(recognised(file, format, read), opening.signal);
    return await (load === undefined ? make(file, header) : load(file, header, opening));
  } catch (error) {
    file.close();
    throw error;
  }
}

async function sourceOf(url: URL, { signal, maxBytes }: Opening): Promise<SourceFile> {
  return new SourceFile(await UrlSource.open(url, maxBytes, signal));
}

/**
 * Opens a safetensors file, or all shards of a model by its `*.index.json`. A path is mapped into memory; a URL, File or
 * Blob is read in ranges.
 *
 * @param source - A path, a URL, a File or a Blob.
 * @param options - How to map or read it; a read-only mapping when absent.
 * @returns A promise of the file. Its tensors share its memory.
 * @throws FileError if the system or the server refuses, and FileFormatError if the file breaks the format.
 * @throws ArgumentTypeError or ArgumentValueError for anything but a source and known options.
 * @example
 * ```ts
 * import { Tensor } from 'dlpack';
 * import { openSafetensors, writeSafetensors } from 'dlpack/files';
 * await writeSafetensors('page.safetensors', { weight: Tensor.from([1, 2]) });
 * using model = await openSafetensors('page.safetensors');
 * console.log(model.names, model.get('weight').toArray()); // ['weight'] [1, 2]
 * ```
 */
export async function openSafetensors(source: FileSource, options: OpenOptions = {}): Promise<SafetensorsFile> {
  checkOptions(options, openNames, "{ mode: 'c' }");
  const opening = openingOf(options);
  return isIndex(source) ? open(source, opening, shards(opening)) : open(source, opening, safetensors);
}

/**
 * Opens a safetensors file as `openSafetensors` does, at once.
 *
 * @param path - A path or a `file:` URL.
 * @param options - As for `openSafetensors`, without a signal.
 * @returns The file. Its tensors share its memory.
 * @throws As `openSafetensors` does.
 * @example
 * ```ts
 * import { Tensor } from 'dlpack';
 * import { openSafetensorsSync, writeSafetensors } from 'dlpack/files';
 * await writeSafetensors('page-sync.safetensors', { weight: Tensor.from([1, 2]) });
 * using model = openSafetensorsSync('page-sync.safetensors');
 * console.log(model.info('weight').shape); // [2]
 * ```
 */
export function openSafetensorsSync(path: FilePath, options: OpenSyncOptions = {}): SafetensorsFile {
  checkOptions(options, openSyncNames, "{ mode: 'c' }");
  const opening = openingOf(options);
  return isIndex(path) ? openSync(path, opening, shards(opening)) : openSync(path, opening, safetensors);
}

const safetensors: Kind<SafetensorsHeader, SafetensorsFile> = {
  format: 'safetensors',
  read: readSafetensors,
  make: safetensorsFile,
};

const shard: Kind<SafetensorsHeader, Shard> = {
  format: 'safetensors',
  read: readSafetensors,
  make: (file, header) => ({ file, header }),
};

function isIndex(source: FileSource): source is FilePath {
  if (typeof source === 'string') return source.endsWith('.json');
  return isA(source, URL) && source.pathname.endsWith('.json');
}

/** Requests of shards that run at a time. */
const MOST_REQUESTS = 8;

/** Calls `load` for each name, a few at a time. After an error no other call starts. */
async function loadEach<T>(names: readonly string[], load: (name: string) => Promise<T>): Promise<Map<string, T>> {
  const loaded = new Map<string, T>();
  const waiting = [...names].reverse();
  const work = async (): Promise<void> => {
    for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
      try {
        loaded.set(name, await load(name));
      } catch (error) {
        waiting.length = 0;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: MOST_REQUESTS }, work));
  return loaded;
}

/** The index of a model in several files. */
function shards(opening: Opening): Kind<ShardIndex, SafetensorsFile> {
  const make = (index: OpenedFile, parsed: ShardIndex): SafetensorsFile => {
    const opened = new Map<string, Shard>();
    try {
      for (const name of new Set(parsed.weightMap.values())) {
        opened.set(name, openPath(getHost().beside(index.path, name), opening, shard));
      }
      const whole = shardedFile(index.path, parsed, opened);
      index.close();
      return whole;
    } catch (error) {
      for (const { file } of opened.values()) file.close();
      throw error;
    }
  };
  const load = async (index: OpenedFile, parsed: ShardIndex): Promise<SafetensorsFile> => {
    const names = [...new Set(parsed.weightMap.values())];
    const openShard = async (name: string): Promise<Shard> => {
      return openLater(await sourceOf(new URL(name, index.path), opening), opening, shard);
    };
    return shardedFile(index.path, parsed, await loadEach(names, openShard));
  };
  return { format: 'index', read: readShardIndex, make, load };
}

/**
 * Opens a GGUF file: its metadata, float tensors as tensors, and quantised blocks as bytes with their description.
 *
 * @param source - A path, a URL, a File or a Blob.
 * @param options - How to map or read it; a read-only mapping when absent.
 * @returns A promise of the file. Its tensors share its memory; `close()` releases it when they are gone.
 * @throws FileError if the system or the server refuses, and FileFormatError if the file breaks the format.
 * @throws ArgumentTypeError or ArgumentValueError for anything but a source and known options.
 * @example
 * ```ts fragment: needs a model
 * import { openGguf } from 'dlpack/files';
 * using model = await openGguf('model.gguf');
 * console.log(model.metadata.get('general.architecture'), model.info(model.names[0]).quantization);
 * ```
 */
export async function openGguf(source: FileSource, options: OpenOptions = {}): Promise<GgufFile> {
  checkOptions(options, openNames, "{ mode: 'c' }");
  return open(source, openingOf(options), gguf);
}

/**
 * Opens a GGUF file as `openGguf` does, at once.
 *
 * @param path - A path or a `file:` URL.
 * @param options - As for `openGguf`, without a signal.
 * @returns The file. Its tensors share its memory.
 * @throws As `openGguf` does.
 */
export function openGgufSync(path: FilePath, options: OpenSyncOptions = {}): GgufFile {
  checkOptions(options, openSyncNames, "{ mode: 'c' }");
  return openSync(path, openingOf(options), gguf);
}

const gguf: Kind<GgufHeader, GgufFile> = {
  format: 'gguf',
  read: readGguf,
  make: (file, header) => new GgufFile(file, header),
};

/**
 * Opens an npz file. Its arrays have their names without `.npy`. Compressed and misaligned arrays are copied.
 *
 * @param source - A path, a URL, a File or a Blob.
 * @param options - How to map or read it; a read-only mapping when absent.
 * @returns A promise of the file. Its tensors share its memory, except compressed and misaligned arrays.
 * @throws FileError if the system or the server refuses, and FileFormatError if the file breaks the format.
 * @throws ArgumentTypeError or ArgumentValueError for anything but a source and known options.
 * @example
 * ```ts
 * import { Tensor } from 'dlpack';
 * import { openNpz, writeNpz } from 'dlpack/files';
 * await writeNpz('page.npz', { x: Tensor.from([1, 2]), y: Tensor.from([3]) });
 * using file = await openNpz('page.npz');
 * console.log(file.names, file.get('y').toArray()); // ['x', 'y'] [3]
 * ```
 */
export async function openNpz(source: FileSource, options: OpenNpzOptions = {}): Promise<NpzFile> {
  checkOptions(options, { ...openNames, ...npzNames }, "{ mode: 'c' }");
  return open(source, openingOf(options), npz(options));
}

/**
 * Opens an npz file as `openNpz` does, at once.
 *
 * @param path - A path or a `file:` URL.
 * @param options - As for `openNpz`, without a signal.
 * @returns The file. Its tensors share its memory, except compressed and misaligned arrays.
 * @throws As `openNpz` does.
 */
export function openNpzSync(path: FilePath, options: OpenSyncOptions<OpenNpzOptions> = {}): NpzFile {
  checkOptions(options, { ...openSyncNames, ...npzNames }, "{ mode: 'c' }");
  return openSync(path, openingOf(options), npz(options));
}

function npz(options: OpenSyncOptions<OpenNpzOptions>): Kind<Map<string, ZipMember>, NpzFile> {
  const read = { ...npyOptions(options), verify: options.verify === true };
  return { format: 'npz', read: readNpz, make: (file, members) => new NpzFile(file, members, read) };
}

/**
 * Opens the array of an npy file. A mapped file stays mapped as long as the tensor lives.
 *
 * @param source - A path, a URL, a File or a Blob.
 * @param options - How to map or read it; a read-only mapping when absent.
 * @returns A promise of a tensor over the mapped file, or over memory that was read.
 * @throws FileError if the system or the server refuses, FileFormatError if the file breaks the format, and
 *   UnsupportedDTypeError for arrays of objects or text.
 * @throws ArgumentTypeError or ArgumentValueError for anything but a source and known options.
 * @example
 * ```ts
 * import { Tensor } from 'dlpack';
 * import { openNpy, writeNpy } from 'dlpack/files';
 * await writeNpy('page.npy', Tensor.from([[1, 2], [3, 4]]));
 * const x = await openNpy('page.npy');
 * console.log(x.isReadOnly, x.toArray()); // true [[1, 2], [3, 4]]
 * ```
 */
export async function openNpy<D extends DType>(
  source: FileSource,
  options: OpenNpyOptions & { dtype: D },
): Promise<Tensor<D>>;
export async function openNpy(source: FileSource, options?: OpenNpyOptions): Promise<Tensor>;
export async function openNpy(source: FileSource, options: OpenNpyOptions = {}): Promise<Tensor> {
  checkOptions(options, { ...openNames, ...npyNames }, "{ mode: 'c' }");
  return open(source, openingOf(options), npy(options));
}

/**
 * Opens the array of an npy file as `openNpy` does, at once.
 *
 * @param path - A path or a `file:` URL.
 * @param options - As for `openNpy`, without a signal.
 * @returns A tensor over the mapped file.
 * @throws As `openNpy` does.
 */
export function openNpySync<D extends DType>(
  path: FilePath,
  options: OpenSyncOptions<OpenNpyOptions> & { dtype: D },
): Tensor<D>;
export function openNpySync(path: FilePath, options?: OpenSyncOptions<OpenNpyOptions>): Tensor;
export function openNpySync(path: FilePath, options: OpenSyncOptions<OpenNpyOptions> = {}): Tensor {
  checkOptions(options, { ...openSyncNames, ...npyNames }, "{ mode: 'c' }");
  return openSync(path, openingOf(options), npy(options));
}

function npy(options: OpenSyncOptions<OpenNpyOptions>): Kind<TensorEntry, Tensor> {
  const wanted = npyOptions(options);
  function* read(file: FileExtent): Reading<TensorEntry> {
    const entry = yield* readNpy(file, 'array', 0, file.size, wanted);
    if (wanted.dtype === null || wanted.dtype === entry.dtype) return entry;
    throw new UnsupportedDTypeError(
      entry.dtype.name,
      `Expected ${wanted.dtype.name} in ${file.path} but it has ${entry.dtype.name}; convert the tensor with astype()`,
    );
  }
  return { format: 'npy', read, make: arrayOf, load: loadArray };
}

function arrayOf(file: OpenedFile, entry: TensorEntry): Tensor {
  const tensor = new Tensor(file.tensor(entry));
  file.close();
  return tensor;
}

async function loadArray(file: OpenedFile, entry: TensorEntry, { signal }: Opening): Promise<Tensor> {
  return new Tensor(await file.load(entry, { signal, onProgress: undefined }));
}

function npyOptions({ dtype }: Pick<OpenNpyOptions, 'dtype'>): NpyOptions {
  return { dtype: dtype === undefined ? null : parseDType(dtype) };
}
