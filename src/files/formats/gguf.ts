/** GGUF, versions 2 and 3: typed metadata, then descriptions of tensors, then aligned data. */

import { dtypeFromName } from '../../dtype.js';
import { entryBytes, plainEntry, type TensorEntry } from '../entry.js';
import { FileFormatError } from '../error.js';
import { checkNames, MAX_HEADER } from '../limits.js';
import { bytesAt, type FileExtent, type Reading, readU64, viewOf } from '../reading.js';
import { ggufBlocks, ggufDTypes } from './gguf-types.js';

/** An array of numbers in the metadata. */
export type GgufNumbers =
  | Uint8Array
  | Int8Array
  | Uint16Array
  | Int16Array
  | Uint32Array
  | Int32Array
  | Float32Array
  | BigUint64Array
  | BigInt64Array
  | Float64Array;

/** A value of the metadata. 64-bit integers are bigints, and arrays of numbers are typed arrays. */
export type GgufValue = number | bigint | boolean | string | GgufNumbers | readonly GgufValue[];

export interface GgufHeader {
  readonly version: number;
  readonly metadata: ReadonlyMap<string, GgufValue>;
  /** Names of all tensors, in the order of the file. */
  readonly names: readonly string[];
  readonly entries: Map<string, TensorEntry>;
  /** The numbers of types that this package does not know, by the names of the tensors that have them. */
  readonly unknown: ReadonlyMap<string, number>;
}

const FIRST_PIECE = 1 << 16;
const MAX_DEPTH = 4;
/** The most strings, booleans and arrays in all arrays. The largest vocabularies have about a million strings. */
const MAX_ITEMS = 4_000_000;
/** An array takes as much memory as this many strings. */
const ITEMS_OF_ARRAY = 16;
const UINT32 = 4;
const STRING = 8;
const ARRAY = 9;

/** Thrown by the cursor when more of the file is needed; never leaves this module. */
class Short {
  constructor(readonly end: number) {}
}

/**
 * Reads and checks a header. The file does not store its length, so the piece that is read doubles until it holds the
 * whole header.
 */
export function* readGguf(file: FileExtent): Reading<GgufHeader> {
  let length = Math.min(file.size, FIRST_PIECE);
  for (;;) {
    const bytes = yield* bytesAt(file, 0, length, 'the header');
    try {
      return parseGguf(file, new Cursor(file, bytes));
    } catch (problem) {
      if (!(problem instanceof Short)) throw problem;
      if (problem.end > MAX_HEADER) {
        throw new FileFormatError(file.path, length, `the header has more than ${MAX_HEADER} bytes`);
      }
      length = Math.min(file.size, Math.max(problem.end, Math.min(MAX_HEADER, length * 2)));
    }
  }
}

/** Reads numbers and strings in sequence. */
class Cursor {
  at = 0;
  private items = 0;
  private readonly view: DataView;
  private readonly decoder = new TextDecoder('utf-8', { ignoreBOM: true });

  constructor(
    private readonly file: FileExtent,
    private readonly bytes: Uint8Array,
  ) {
    this.view = viewOf(bytes);
  }

  fail(problem: string): never {
    throw new FileFormatError(this.file.path, this.at, problem);
  }

  /** Checks that the next bytes are in the file and that it has room for `count` items of at least `size` bytes. */
  private advance(size: number, count = 1): number {
    const start = this.at;
    const end = start + size * count;
    if (!(end <= this.file.size)) this.fail(`the file ends at byte ${this.file.size}, inside the header`);
    if (end > this.bytes.length) throw new Short(end);
    this.at = end;
    return start;
  }

  u32(): number {
    return this.view.getUint32(this.advance(4), true);
  }

  u64(): number {
    return readU64(this.view, this.advance(8));
  }

  string(): string {
    const length = this.u64();
    const start = this.advance(length);
    return this.decoder.decode(this.bytes.subarray(start, start + length));
  }

  value(type: number, depth = 0): GgufValue {
    const scalar = scalars[type];
    if (scalar !== undefined) return scalar.read(this.view, this.advance(scalar.size));
    if (type === STRING) return this.string();
    if (type !== ARRAY) return this.fail(`a value has the unknown type ${type}`);
    if (depth >= MAX_DEPTH) return this.fail(`arrays are nested more than ${MAX_DEPTH} times`);
    return this.array(depth + 1);
  }

  private array(depth: number): GgufValue {
    const type = this.u32();
    const count = this.u64();
    const scalar = scalars[type];
    const start = this.advance(scalar?.size ?? (type === ARRAY ? 12 : 8), count); // checks before any allocation
    if (scalar?.array !== undefined) return new scalar.array(this.bytes.slice(start, this.at).buffer);
    this.items += count * (type === ARRAY ? ITEMS_OF_ARRAY : 1);
    if (this.items > MAX_ITEMS) return this.fail(`arrays have more than ${MAX_ITEMS} values`);
    this.at = start;
    const values: GgufValue[] = [];
    for (let i = 0; i < count; i++) values.push(this.value(type, depth));
    return values;
  }
}

interface Scalar {
  readonly size: number;
  /** The class of arrays of these numbers. Booleans have none. */
  readonly array?: new (
    buffer: ArrayBuffer,
  ) => GgufNumbers;
  read(view: DataView, at: number): GgufValue;
}

const scalars: Readonly<Record<number, Scalar>> = {
  0: { size: 1, array: Uint8Array, read: (view, at) => view.getUint8(at) },
  1: { size: 1, array: Int8Array, read: (view, at) => view.getInt8(at) },
  2: { size: 2, array: Uint16Array, read: (view, at) => view.getUint16(at, true) },
  3: { size: 2, array: Int16Array, read: (view, at) => view.getInt16(at, true) },
  [UINT32]: { size: 4, array: Uint32Array, read: (view, at) => view.getUint32(at, true) },
  5: { size: 4, array: Int32Array, read: (view, at) => view.getInt32(at, true) },
  6: { size: 4, array: Float32Array, read: (view, at) => view.getFloat32(at, true) },
  7: { size: 1, read: (view, at) => view.getUint8(at) !== 0 },
  10: { size: 8, array: BigUint64Array, read: (view, at) => view.getBigUint64(at, true) },
  11: { size: 8, array: BigInt64Array, read: (view, at) => view.getBigInt64(at, true) },
  12: { size: 8, array: Float64Array, read: (view, at) => view.getFloat64(at, true) },
};

function parseGguf(file: FileExtent, cursor: Cursor): GgufHeader {
  if (cursor.u32() !== 0x46554747) throw new FileFormatError(file.path, 0, "the file does not begin with 'GGUF'");
  const version = cursor.u32();
  if (version !== 2 && version !== 3) {
    const isBig = version % 65536 === 0 && version > 0;
    cursor.fail(isBig ? 'the file has the highest byte first' : `the version is ${version}; 2 and 3 are known`);
  }
  const tensorCount = cursor.u64();
  const pairCount = cursor.u64();
  // 24 and 13 bytes are the shortest descriptions of a tensor and of a pair.
  if (!(tensorCount * 24 + pairCount * 13 <= file.size)) {
    cursor.fail(`${tensorCount} tensors and ${pairCount} pairs do not fit a file of ${file.size} bytes`);
  }
  checkNames(file.path, 8, tensorCount, 'tensors');
  checkNames(file.path, 16, pairCount, 'pairs of metadata');
  const metadata = new Map<string, GgufValue>();
  for (let i = 0; i < pairCount; i++) {
    const key = cursor.string();
    if (metadata.has(key)) cursor.fail(`the metadata '${key}' occurs twice`);
    metadata.set(key, cursor.value(cursor.u32()));
  }
  const found: Described[] = [];
  const names = new Set<string>();
  for (let i = 0; i < tensorCount; i++) {
    const described = readDescribed(cursor);
    if (names.has(described.name)) cursor.fail(`the tensor '${described.name}' occurs twice`);
    names.add(described.name);
    found.push(described);
  }
  const alignment = readAlignment(cursor, metadata);
  const dataStart = Math.ceil(cursor.at / alignment) * alignment;
  const entries = new Map<string, TensorEntry>();
  const unknown = new Map<string, number>();
  for (const described of found) {
    const { name, type } = described;
    if (ggufBlocks[type] === undefined && ggufDTypes[type] === undefined) unknown.set(name, type);
    else entries.set(name, entryOf(file, described, dataStart, alignment));
  }
  checkOverlaps(file, [...entries.values()]);
  return { version, metadata, names: [...names], entries, unknown };
}

interface Described {
  readonly name: string;
  readonly shape: readonly number[];
  readonly type: number;
  readonly offset: number;
  readonly at: number;
}

function readDescribed(cursor: Cursor): Described {
  const { at } = cursor;
  const name = cursor.string();
  const ndim = cursor.u32();
  if (ndim > 8) cursor.fail(`'${name}' has ${ndim} axes`);
  const shape: number[] = [];
  for (let i = 0; i < ndim; i++) shape.unshift(cursor.u64()); // the fastest axis comes first in the file
  return { name, shape, type: cursor.u32(), offset: cursor.u64(), at };
}

function readAlignment(cursor: Cursor, metadata: ReadonlyMap<string, GgufValue>): number {
  const alignment = metadata.get('general.alignment') ?? 32;
  if (typeof alignment !== 'number' || !(alignment >= 8) || alignment % 8 !== 0 || alignment > 2 ** 31) {
    return cursor.fail(`general.alignment is ${String(alignment)}, not a multiple of 8`);
  }
  return alignment;
}

function entryOf(file: FileExtent, described: Described, dataStart: number, alignment: number): TensorEntry {
  const { name, shape, type, offset, at } = described;
  const fail = (problem: string): never => {
    throw new FileFormatError(file.path, at, `'${name}' ${problem}`);
  };
  if (offset % alignment !== 0) return fail(`starts at ${offset}, which is not a multiple of ${alignment}`);
  const blocks = ggufBlocks[type];
  const dtype = dtypeFromName(ggufDTypes[type] ?? 'uint8');
  let stored = shape;
  if (blocks !== undefined) {
    const row = shape[shape.length - 1] ?? 0;
    if (row % blocks.elements !== 0) return fail(`has rows of ${row} elements, not whole blocks of ${blocks.elements}`);
    stored = [...shape.slice(0, -1), (row / blocks.elements) * blocks.bytes];
    entryBytes(file.path, at, name, dtype, shape);
  }
  const nbytes = entryBytes(file.path, at, name, dtype, stored);
  const start = dataStart + offset;
  if (!(start + nbytes <= file.size)) return fail(`needs bytes up to ${start + nbytes} but the file has ${file.size}`);
  const entry = plainEntry(name, dtype, stored, start, nbytes);
  if (blocks === undefined) return entry;
  const quantization = { type: blocks.type, blockElements: blocks.elements, blockBytes: blocks.bytes, shape };
  return { ...entry, quantization };
}

function checkOverlaps(file: FileExtent, entries: TensorEntry[]): void {
  entries.sort((a, b) => a.start - b.start || a.nbytes - b.nbytes);
  for (let i = 1; i < entries.length; i++) {
    const before = entries[i - 1] as TensorEntry;
    const { name, start } = entries[i] as TensorEntry;
    if (start < before.start + before.nbytes) {
      throw new FileFormatError(file.path, start, `'${name}' overlaps '${before.name}'`);
    }
  }
}
