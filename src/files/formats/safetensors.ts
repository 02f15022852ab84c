/** The header of a safetensors file: eight bytes of length, then JSON, then the data without gaps. */

import { type BaseDType, type DTypeInfo, dtypeFromName } from '../../dtype.js';
import { ArgumentTypeError, ArgumentValueError, UnsupportedDTypeError } from '../../errors.js';
import { MAX_NDIM } from '../../layout.js';
import { entryBytes, plainEntry, type TensorEntry } from '../entry.js';
import { FileFormatError } from '../error.js';
import { checkNames, MAX_HEADER } from '../limits.js';
import { bytesAt, type FileExtent, type Reading, readU64, viewOf } from '../reading.js';
import { isWellFormed, JsonScanner } from './json.js';

/** Our dtypes by the names of the format. */
const safetensorsDTypes = {
  BOOL: 'bool',
  U8: 'uint8',
  I8: 'int8',
  U16: 'uint16',
  I16: 'int16',
  U32: 'uint32',
  I32: 'int32',
  U64: 'uint64',
  I64: 'int64',
  F16: 'float16',
  BF16: 'bfloat16',
  F32: 'float32',
  F64: 'float64',
  C64: 'complex64',
  F8_E5M2: 'float8_e5m2',
  F8_E4M3: 'float8_e4m3fn',
  F8_E8M0: 'float8_e8m0fnu',
  F8_E4M3FNUZ: 'float8_e4m3fnuz',
  F8_E5M2FNUZ: 'float8_e5m2fnuz',
  F6_E2M3: 'float6_e2m3fn',
  F6_E3M2: 'float6_e3m2fn',
  F4: 'float4_e2m1fn',
} as const satisfies Record<string, BaseDType>;

const infos = new Map<string, DTypeInfo>(
  Object.entries(safetensorsDTypes).map(([name, base]) => [name, dtypeFromName(base)]),
);
const names = new Map<string, string>(Object.entries(safetensorsDTypes).map(([name, base]) => [base, name]));

/** Data starts at a multiple of this, which is the size of a cache line and XLA's requirement. */
export const ALIGNMENT = 64;

export interface SafetensorsHeader {
  readonly metadata: Readonly<Record<string, string>>;
  readonly entries: Map<string, TensorEntry>;
}

/** Reads and checks a header. */
export function* readSafetensors(file: FileExtent): Reading<SafetensorsHeader> {
  const prefix = yield* bytesAt(file, 0, 8, 'the length of the header');
  const length = readU64(viewOf(prefix), 0);
  if (!(length >= 2 && length <= MAX_HEADER)) {
    throw new FileFormatError(file.path, 0, `the header has ${length} bytes; 2 to ${MAX_HEADER} are allowed`);
  }
  return parseSafetensors(file, yield* bytesAt(file, 8, length, 'the header'));
}

function parseSafetensors(file: FileExtent, header: Uint8Array): SafetensorsHeader {
  // Before the text is made, which can take as much memory again as the header.
  if (header[0] !== 0x7b) throw new FileFormatError(file.path, 8, "the header does not begin with '{'");
  const json = new JsonScanner(file.path, 8, header, 'the header');
  const dataStart = 8 + header.length;
  const entries = new Map<string, TensorEntry>();
  let metadata: Record<string, string> | null = null;
  json.object((name) => {
    if (name === '__metadata__') {
      if (metadata !== null) json.refuse("'__metadata__' occurs twice");
      metadata = readMetadata(json, file.path);
      return;
    }
    if (entries.has(name)) json.refuse(`the tensor '${name}' occurs twice`);
    entries.set(name, readEntry(json, file, name, dataStart));
    checkNames(file.path, 8, entries.size, 'tensors');
  });
  json.end();
  checkCover(file, entries, dataStart);
  return { metadata: metadata ?? {}, entries };
}

function readMetadata(json: JsonScanner, path: string): Record<string, string> {
  const pairs = new Map<string, string>();
  json.object((key) => {
    if (pairs.has(key)) json.refuse(`the metadata '${key}' occurs twice`);
    pairs.set(key, json.string());
    checkNames(path, 8, pairs.size, 'pairs of metadata');
  });
  const metadata: Record<string, string> = Object.create(null);
  for (const [key, value] of pairs) metadata[key] = value;
  return metadata;
}

function readEntry(json: JsonScanner, file: FileExtent, name: string, dataStart: number): TensorEntry {
  let dtype: DTypeInfo | undefined;
  let shape: number[] | undefined;
  let offsets: number[] | undefined;
  json.object((field) => {
    if (field === 'dtype' && dtype === undefined) {
      const given = json.string();
      dtype = infos.get(given);
      if (dtype === undefined) json.refuse(`'${name}' has the unknown dtype '${given}'`);
    } else if (field === 'shape' && shape === undefined) {
      shape = json.integers(MAX_NDIM);
    } else if (field === 'data_offsets' && offsets === undefined) {
      offsets = json.integers(2);
    } else {
      json.refuse(`'${name}' has an unknown or repeated field '${field}'`);
    }
  });
  if (dtype === undefined || shape === undefined || offsets === undefined || offsets.length !== 2) {
    return json.refuse(`'${name}' needs dtype, shape and two data_offsets`);
  }
  const [begin, end] = offsets as [number, number];
  const nbytes = entryBytes(file.path, dataStart + begin, name, dtype, shape);
  if (dtype.isSubByte && (shape.reduce((a, b) => a * b, 1) * dtype.itemBits) % 8 !== 0) {
    json.refuse(`'${name}' of shape [${shape.join(', ')}] does not fill whole bytes`);
  }
  if (end - begin !== nbytes) {
    json.refuse(`'${name}' of shape [${shape.join(', ')}] has ${nbytes} bytes but its data_offsets ${end - begin}`);
  }
  return plainEntry(name, dtype, shape, dataStart + begin, nbytes);
}

/** Checks that the tensors cover the data without gaps or overlaps. */
function checkCover(file: FileExtent, entries: ReadonlyMap<string, TensorEntry>, dataStart: number): void {
  const sorted = [...entries.values()];
  if (!isSorted(sorted)) sorted.sort((a, b) => a.start - b.start || a.nbytes - b.nbytes);
  let at = dataStart;
  for (const { name, start, nbytes } of sorted) {
    if (start !== at) {
      const what = start > at ? 'bytes before it belong to no tensor' : 'it overlaps another tensor';
      throw new FileFormatError(file.path, start, `'${name}' starts at byte ${start}, not at ${at}: ${what}`);
    }
    at += nbytes;
  }
  if (at !== file.size) {
    const what = at > file.size ? 'the file is truncated' : 'bytes after the last tensor belong to none';
    throw new FileFormatError(file.path, Math.min(at, file.size), `tensors end at byte ${at} of ${file.size}: ${what}`);
  }
}

function isSorted(entries: readonly TensorEntry[]): boolean {
  for (let i = 1; i < entries.length; i++) {
    if ((entries[i] as TensorEntry).start < (entries[i - 1] as TensorEntry).start) return false;
  }
  return true;
}

/** A tensor that is to be written. */
export interface Planned {
  readonly name: string;
  readonly dtype: DTypeInfo;
  readonly shape: readonly number[];
  readonly nbytes: number;
}

/**
 * The order in which tensors are written: first those whose size is a multiple of 64 bytes, then of 32, and so on. The
 * format allows no gaps, and in this order each tensor is aligned for its elements, and nearly all to 64 bytes.
 */
export function orderForAlignment<T extends Planned>(tensors: readonly T[]): T[] {
  const key = ({ nbytes }: T): number => {
    let power = ALIGNMENT;
    while (nbytes % power !== 0) power /= 2;
    return power;
  };
  return [...tensors].sort((a, b) => key(b) - key(a));
}

/** Throws for half a surrogate pair, which UTF-8 cannot hold, and which no other reader accepts. */
export function checkText(text: string, argument: string): void {
  if (!isWellFormed(text)) throw new ArgumentValueError(argument, 'text without half a surrogate pair', text);
}

/** The header for tensors in the order they will be written, padded so that the data is aligned. */
export function formatSafetensors(tensors: readonly Planned[], metadata: Readonly<Record<string, string>>): Uint8Array {
  const fields: string[] = [];
  const pairs = Object.entries(metadata);
  for (const [key, value] of pairs) {
    if (typeof value !== 'string') throw new ArgumentTypeError(`metadata['${key}']`, 'a string', value);
    checkText(key, 'metadata');
    checkText(value, `metadata['${key}']`);
  }
  if (pairs.length > 0) fields.push(`"__metadata__":${JSON.stringify(Object.fromEntries(pairs))}`);
  let at = 0;
  for (const { name, dtype, shape, nbytes } of tensors) {
    if (name === '__metadata__') throw new ArgumentValueError('name', "a name other than '__metadata__'", name);
    fields.push(
      `${JSON.stringify(name)}:{"dtype":"${formatName(dtype, name, shape)}","shape":[${shape.join(',')}],` +
        `"data_offsets":[${at},${at + nbytes}]}`,
    );
    at += nbytes;
  }
  const text = new TextEncoder().encode(`{${fields.join(',')}}`);
  const length = Math.ceil((8 + text.length) / ALIGNMENT) * ALIGNMENT - 8;
  if (length > MAX_HEADER) {
    throw new ArgumentValueError('tensors', `names and shapes of at most ${MAX_HEADER} bytes`, length);
  }
  const header = new Uint8Array(8 + length).fill(0x20);
  viewOf(header).setBigUint64(0, BigInt(length), true);
  header.set(text, 8);
  return header;
}

function formatName(dtype: DTypeInfo, name: string, shape: readonly number[]): string {
  const known = names.get(dtype.name);
  if (known === undefined) {
    throw new UnsupportedDTypeError(
      dtype.name,
      `Expected a dtype that safetensors has for '${name}' but received '${dtype.name}'; convert it with astype()`,
    );
  }
  if (dtype.isSubByte && (shape.reduce((a, b) => a * b, 1) * dtype.itemBits) % 8 !== 0) {
    throw new UnsupportedDTypeError(
      dtype.name,
      `Expected a shape that fills whole bytes for '${name}' of ${dtype.name} but received [${shape.join(', ')}]`,
    );
  }
  return known;
}
