/** Vectors of `@duckdb/node-api`: columns of numbers, and columns of arrays with an axis for each level. */

import type { DType, TypedArray } from '../dtype.js';
import { checkDType } from '../dtype.js';
import { ArgumentTypeError, BufferError, LayoutError } from '../errors.js';
import { MAX_NDIM, sizeOf } from '../layout.js';
import type { DLPackSource } from '../protocol/managed.js';
import { Tensor } from '../tensor.js';
import { type Adapter, takeObject } from './adapter.js';
import { readCount, readMemory } from './fields.js';
import { lend } from './lend.js';
import type { AdaptOptions, ToOptions } from './options.js';
import { share } from './share.js';

/** The part of a type of DuckDB that the adapter uses. */
export interface DuckDBType {
  /** DuckDB's number of the type. */
  readonly typeId: number;
  /** Of an array. */
  readonly length?: number;
}

/** The part of a vector of DuckDB that its declarations have. */
export interface DuckDBVector {
  /** The type of the items. */
  readonly type: DuckDBType;
  /** The number of items. */
  readonly itemCount: number;
  /** Writes changed items back to DuckDB. */
  flush(): void;
}

/** The fields in which the classes of vectors have their elements. The library declares none of them. */
interface Fields extends DuckDBVector {
  /** Which items are valid, that is, not NULL. */
  readonly validity: {
    /** A bit for each item; null where all items are valid. */
    readonly data: BigUint64Array | null;
    /** The bit of the first item. */
    readonly offset: number;
  };
  readonly items?: TypedArray;
  /** Of booleans. */
  readonly dataView?: DataView;
  /** Of arrays. */
  readonly childData?: Fields;
}

/** The part of the module `@duckdb/node-api` that the adapter uses. */
export interface DuckDBModule<C> {
  /** The class of chunks. */
  readonly DuckDBDataChunk: {
    /** Makes a chunk with a column for each type. */
    create(types: never, rowCount: number): C;
  };
  /**
   * Returns the type of arrays with `length` items each.
   *
   * @param type - The type of the items.
   * @param length - The items in each array.
   */
  ARRAY(type: never, length: number): unknown;
}

/** A chunk of rows. */
export interface DuckDBChunk {
  /**
   * Returns the vector of one column.
   *
   * @param column - The number of the column, from 0.
   */
  getColumnVector(column: number): unknown;
}

/** The options of {@link fromDuckDB}. */
export interface DuckDBOptions extends AdaptOptions {
  /** `'refuse'` (default) throws for nulls. `'ignore'` returns the elements; `duckDBValidity` tells which of them are valid. */
  nulls?: 'refuse' | 'ignore';
}

/** In the order of DuckDB's numbers of types, the first of which is 1. */
const names = ['bool', 'int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64', 'float32', 'float64'];
/** What the module calls them, in the same order. */
const types =
  'BOOLEAN TINYINT SMALLINT INTEGER BIGINT UTINYINT USMALLINT UINTEGER UBIGINT FLOAT DOUBLE'; // biome-ignore format: a list
const ARRAY = 33;
/** Rows of a chunk. */
const MOST_ROWS = 2048;

export const duckDBAdapter: Adapter = {
  name: 'DuckDB',
  object: 'a vector of @duckdb/node-api',
  dtypes: names,
  is: isDuckDB,
  from: fromDuckDB,
  to: toDuckDB,
};

export function isDuckDB(value: object): value is DuckDBVector {
  const { type, itemCount, validity } = value as Fields;
  return typeof type?.typeId === 'number' && typeof itemCount === 'number' && typeof validity?.offset === 'number';
}

/** The vector itself and those inside of it, the innermost last. */
function levelsOf(vector: DuckDBVector): Fields[] {
  const levels = [vector as Fields];
  for (let inner = levels[0]; inner?.type?.typeId === ARRAY; levels.push(inner)) {
    inner = inner.childData;
    if (inner === undefined) throw new ArgumentTypeError('value', 'an array of DuckDB with elements', vector);
    if (levels.length >= MAX_NDIM) throw new LayoutError(`Expected at most ${MAX_NDIM} axes`);
  }
  return levels;
}

/** True where a bit of a vector's items is zero. */
function hasNulls({ validity: { data, offset }, itemCount }: Fields): boolean {
  if (data === null) return false;
  const [first, end] = [readCount(offset, 'offset'), offset + readCount(itemCount, 'itemCount')];
  for (let bit = first; bit < end; ) {
    const isWord = bit % 64 === 0 && bit + 64 <= end;
    const word = data[Math.floor(bit / 64)] ?? 0n;
    if (isWord ? word !== 0xffffffffffffffffn : (word & (1n << BigInt(bit % 64))) === 0n) return true;
    bit += isWord ? 64 : 1;
  }
  return false;
}

/**
 * Makes a tensor over the elements of a vector: `fromDuckDB(chunk.getColumnVector(0))`. A column of arrays becomes
 * rows, also nested ones. DuckDB sees what you write after `vector.flush()`.
 *
 * @param vector - One column of a chunk.
 * @param options - What to do with nulls (`nulls`, `'refuse'` when absent). Whether to copy (`copy`; when absent, only
 *   where the library cannot share) or to move the memory out of the object (`adopt`, false when absent).
 * @returns A tensor that shares the memory of the vector, or a copy.
 * @throws ArgumentTypeError for anything but a vector of `@duckdb/node-api`.
 * @throws BufferError for nulls that `nulls: 'ignore'` does not allow, and if `adopt` asks for a move that is
 *   impossible.
 * @throws UnsupportedDTypeError for elements that no dtype describes.
 * @throws LayoutError for arrays that are nested deeper than a tensor can be.
 * @example
 * ```ts
 * import { DuckDBConnection } from '@duckdb/node-api';
 * import { fromDuckDB } from 'dlpack/adapters';
 * const connection = await DuckDBConnection.create();
 * const chunk = await (await connection.run('select range::float from range(3)')).fetchChunk();
 * if (chunk !== null) {
 *   const x = fromDuckDB(chunk.getColumnVector(0));
 *   console.log(x.dtype, x.toArray()); // float32 [0, 1, 2]
 * }
 * ```
 */
export function fromDuckDB(vector: DuckDBVector, options?: DuckDBOptions): Tensor {
  return takeObject({
    adapter: duckDBAdapter,
    value: vector,
    options,
    ownOptions: { nulls: true },
    read: () => {
      const levels = levelsOf(vector);
      if (options?.nulls !== 'ignore' && levels.some(hasNulls)) {
        throw new BufferError("Expected no nulls; pass { nulls: 'ignore' } and use duckDBValidity()");
      }
      const inner = levels.at(-1) as Fields;
      const dtype = names[inner.type.typeId - 1] ?? String(inner.type);
      checkDType(dtype, names, 'DLPack');
      const lengths = levels.slice(0, -1).map(({ type }) => readCount(type.length as number, 'length'));
      return share({
        adapter: duckDBAdapter,
        array: readMemory(inner.items ?? inner.dataView),
        layout: { shape: [readCount(vector.itemCount, 'itemCount'), ...lengths], dtype: dtype as DType },
        options,
      });
    },
  });
}

/**
 * Tells which items of a vector are valid, as bits over its memory (1: valid). For arrays: which arrays, or if all
 * arrays are valid, which of their elements, on one axis.
 *
 * @param vector - One column of a chunk.
 * @returns A tensor of `uint1` that shares the memory of the bits; null when all items are valid.
 * @throws ArgumentTypeError for anything but a vector of `@duckdb/node-api`.
 * @throws LayoutError for arrays that are nested deeper than a tensor can be.
 * @example
 * ```ts fragment: needs a database
 * import { duckDBValidity, fromDuckDB } from 'dlpack/adapters';
 * const vector = chunk.getColumnVector(0);
 * const x = fromDuckDB(vector, { nulls: 'ignore' });
 * const isValid = duckDBValidity(vector); // null: all are
 * ```
 */
export function duckDBValidity(vector: DuckDBVector): Tensor | null {
  return takeObject({
    adapter: duckDBAdapter,
    value: vector,
    options: undefined,
    read: () => {
      const level = levelsOf(vector).find(hasNulls);
      if (level === undefined) return null;
      const { data, offset } = level.validity;
      const bits = Tensor.wrap(readMemory(data), { dtype: 'uint1', shape: [offset + level.itemCount] });
      return bits.slice([offset, offset + level.itemCount]);
    },
  });
}

/**
 * Copies a tensor into chunks of one column, of at most 2048 rows each, as DuckDB's appender takes them.
 *
 * @param source - The tensor, or any object with tensors that `fromDLPack` takes.
 * @param duckdb - The module `@duckdb/node-api`.
 * @param options - `copy: false` throws, because the elements are always copied.
 * @returns The chunks, in order. They have memory of their own.
 * @throws ArgumentTypeError for anything but a tensor and the module.
 * @throws UnsupportedDTypeError for a dtype that DuckDB does not have.
 * @throws LayoutError for a tensor without axes.
 * @throws BufferError for `copy: false`.
 * @throws ForeignError if DuckDB fails.
 * @example
 * ```ts
 * import * as duckdb from '@duckdb/node-api';
 * import { Tensor } from 'dlpack';
 * import { toDuckDB } from 'dlpack/adapters';
 * const chunks = toDuckDB(Tensor.zeros([3000], 'float32'), duckdb); // for appender.appendDataChunk(chunk)
 * console.log(chunks.map((chunk) => chunk.rowCount)); // [2048, 952]
 * ```
 */
export function toDuckDB<C extends DuckDBChunk>(
  source: DLPackSource,
  duckdb: DuckDBModule<C>,
  options?: ToOptions,
): C[] {
  return lend({
    adapter: duckDBAdapter,
    source,
    library: { value: duckdb, property: 'DuckDBDataChunk', usage: 'toDuckDB(x, duckdb), with @duckdb/node-api' },
    options,
    copied: 'DuckDB has its own memory',
    make: ({ array, tensor: { dtype, shape, ndim } }) => {
      if (ndim === 0) throw new LayoutError('Expected an axis for DuckDB', shape);
      const name = types.split(' ')[names.indexOf(dtype)] as string;
      let type = (duckdb as never as Record<string, unknown>)[name];
      for (let axis = ndim; --axis > 0; ) type = duckdb.ARRAY(type as never, shape[axis] as number);
      const rows = shape[0] as number;
      const perRow = sizeOf(shape.slice(1));
      return Array.from({ length: Math.ceil(rows / MOST_ROWS) }, (_, i) => {
        const first = i * MOST_ROWS;
        const count = Math.min(MOST_ROWS, rows - first);
        const chunk = duckdb.DuckDBDataChunk.create([type] as never, count);
        const vector = chunk.getColumnVector(0) as Fields;
        const inner = levelsOf(vector).at(-1) as Fields;
        const target = readMemory(inner.items ?? inner.dataView) as Uint8Array;
        target.set((array as Uint8Array).subarray(first * perRow, (first + count) * perRow));
        vector.flush();
        return chunk;
      });
    },
  });
}
