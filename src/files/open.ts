/** Opens files of tensors: paths synchronously, URLs and Blobs with a promise. */

import { checkOptions, type OptionNames } from '../base/options.js';
import { type DType, parseDType } from '../dtype.js';
import { ArgumentTypeError, ArgumentValueError, isA, UnsupportedDTypeError } from '../errors.js';
import { Tensor } from '../tensor.js';
import type { TensorEntry } from './entry.js';
import { readGguf } from './gguf.js';
import { GgufFile } from './gguf-file.js';
import { getHost, isUrl, type MapMode } from './host.js';
import { type NpyOptions, readNpy } from './npy.js';
import { NpzFile } from './npz-file.js';
import { MappedFile, type OpenedFile, SourceFile } from './opened.js';
import type { Reading } from './reading.js';
import { readSafetensors, type SafetensorsHeader } from './safetensors.js';
import { type SafetensorsFile, type Shard, safetensorsFile, shardedFile } from './safetensors-file.js';
import { readShardIndex, type ShardIndex } from './shards.js';
import { BlobSource, UrlSource } from './source.js';
import { readZip } from './zip.js';

/** A file to open: a path (Node, Bun, Deno), a URL, a File or a Blob. */
export type FileSource = string | URL | Blob;

export interface OpenOptions {
  /** How to map a path: `'r'` read-only (the default), `'c'` writable in this process only. The file never changes. */
  mode?: MapMode;
}

export interface OpenNpyOptions extends OpenOptions {
  /** The dtype of raw bytes (`'|V2'`), because NumPy saves bfloat16, float8 and int4 arrays without their name. */
  dtype?: DType;
}

const openNames: OptionNames<OpenOptions> = { mode: true };
const openNpyNames: OptionNames<OpenNpyOptions> = { mode: true, dtype: true };

type Read<H> = (file: OpenedFile) => Reading<H>;
/** Makes the result from a header. Only for an asynchronous source may it return a promise. */
type Make<H, T> = (file: OpenedFile, header: H) => T | Promise<T>;

/** Opens a source and reads its header. Closes the file if that fails. */
function open<H, T>(source: FileSource, mode: MapMode, read: Read<H>, make: Make<H, T>): T | Promise<T> {
  if (mode !== 'r' && mode !== 'c') throw new ArgumentValueError('mode', "'r' or 'c'", mode);
  if (typeof source === 'string') return openPath(source, mode, read, make);
  if (isA(source, URL)) return openUrl(new URL(source), mode, read, make); // a copy, because a URL can change
  if (isA(source, Blob)) return openLater(new SourceFile(new BlobSource(source)), read, make);
  throw new ArgumentTypeError('source', 'a path, a URL, a File or a Blob', source);
}

function openPath<H, T>(path: string, mode: MapMode, read: Read<H>, make: Make<H, T>) {
  if (isUrl(path)) throw new ArgumentValueError('source', 'a path, or new URL(...)', path);
  const file = new MappedFile(path, mode);
  try {
    return make(file, file.now(read(file)));
  } catch (error) {
    file.close();
    throw error;
  }
}

async function openUrl<H, T>(url: URL, mode: MapMode, read: Read<H>, make: Make<H, T>) {
  if (url.protocol === 'file:') return openPath(getHost().pathOf(url), mode, read, make);
  return openLater(new SourceFile(await UrlSource.open(url)), read, make);
}

async function openLater<H, T>(file: OpenedFile, read: Read<H>, make: Make<H, T>) {
  try {
    return await make(file, await file.later(read(file)));
  } catch (error) {
    file.close();
    throw error;
  }
}

/**
 * Opens a safetensors file, or all shards of a model by its `*.index.json`. A path is mapped at once; a URL, File or
 * Blob is read in ranges.
 */
export function openSafetensors(source: string, options?: OpenOptions): SafetensorsFile;
export function openSafetensors(source: URL | Blob, options?: OpenOptions): Promise<SafetensorsFile>;
export function openSafetensors(source: FileSource, options: OpenOptions = {}): unknown {
  checkOptions(options, openNames, "{ mode: 'c' }");
  const mode = options.mode ?? 'r';
  if (isIndex(source)) return openShards(source, mode);
  return open(source, mode, readSafetensors, safetensorsFile);
}

function isIndex(source: FileSource): source is string | URL {
  if (typeof source === 'string') return source.endsWith('.json');
  return isA(source, URL) && source.pathname.endsWith('.json');
}

function openShards(source: string | URL, mode: MapMode): unknown {
  const asShard = (file: OpenedFile, header: SafetensorsHeader): Shard => ({ file, header });
  const mapShards = (index: OpenedFile, parsed: ShardIndex): SafetensorsFile => {
    const shards = new Map<string, Shard>();
    try {
      for (const name of new Set(parsed.weightMap.values())) {
        const path = getHost().beside(index.path, name);
        shards.set(name, openPath(path, mode, readSafetensors, asShard) as Shard);
      }
      const opened = shardedFile(index.path, parsed, shards);
      index.close();
      return opened;
    } catch (error) {
      for (const { file } of shards.values()) file.close();
      throw error;
    }
  };
  const loadShards = async (index: OpenedFile, parsed: ShardIndex): Promise<SafetensorsFile> => {
    const names = [...new Set(parsed.weightMap.values())];
    const openShard = async (name: string): Promise<[string, Shard]> => {
      const file = new SourceFile(await UrlSource.open(new URL(name, index.path)));
      return [name, await openLater(file, readSafetensors, asShard)];
    };
    return shardedFile(index.path, parsed, new Map(await Promise.all(names.map(openShard))));
  };
  return open(source, mode, readShardIndex, (index, parsed) =>
    index.isMapped ? mapShards(index, parsed) : loadShards(index, parsed),
  );
}

/** Opens a GGUF file: its metadata, float tensors as tensors, and quantised blocks as bytes with their description. */
export function openGguf(source: string, options?: OpenOptions): GgufFile;
export function openGguf(source: URL | Blob, options?: OpenOptions): Promise<GgufFile>;
export function openGguf(source: FileSource, options: OpenOptions = {}): unknown {
  checkOptions(options, openNames, "{ mode: 'c' }");
  return open(source, options.mode ?? 'r', readGguf, (file, header) => new GgufFile(file, header));
}

/** Opens an npz file. Its arrays have their names without `.npy`. Compressed and misaligned arrays are copied. */
export function openNpz(source: string, options?: OpenNpyOptions): NpzFile;
export function openNpz(source: URL | Blob, options?: OpenNpyOptions): Promise<NpzFile>;
export function openNpz(source: FileSource, options: OpenNpyOptions = {}): unknown {
  checkOptions(options, openNpyNames, "{ mode: 'c' }");
  const read = npyOptions(options);
  return open(source, options.mode ?? 'r', readZip, (file, members) => new NpzFile(file, members, read));
}

/** Opens the array of an npy file, which stays mapped as long as the tensor lives. */
export function openNpy(source: string, options?: OpenNpyOptions): Tensor;
export function openNpy(source: URL | Blob, options?: OpenNpyOptions): Promise<Tensor>;
export function openNpy(source: FileSource, options: OpenNpyOptions = {}): unknown {
  checkOptions(options, openNpyNames, "{ mode: 'c' }");
  const read = npyOptions(options);
  function* readArray(file: OpenedFile): Reading<TensorEntry> {
    const entry = yield* readNpy(file, 'array', 0, file.size, read);
    if (read.dtype === null || read.dtype === entry.dtype) return entry;
    throw new UnsupportedDTypeError(
      entry.dtype.name,
      `Expected ${read.dtype.name} in ${file.path} but it has ${entry.dtype.name}; convert the tensor with astype()`,
    );
  }
  return open(source, options.mode ?? 'r', readArray, (file, entry) =>
    file.isMapped ? mapArray(file, entry) : loadArray(file, entry),
  );
}

function mapArray(file: OpenedFile, entry: TensorEntry): Tensor {
  const tensor = new Tensor(file.tensor(entry));
  file.close();
  return tensor;
}

async function loadArray(file: OpenedFile, entry: TensorEntry): Promise<Tensor> {
  return new Tensor(await file.load(entry, { signal: undefined, onProgress: undefined }));
}

function npyOptions({ dtype }: OpenNpyOptions): NpyOptions {
  return { dtype: dtype === undefined ? null : parseDType(dtype) };
}
