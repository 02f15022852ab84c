/** NumPy's npy format, versions 1 to 3: a magic number, a dict in Python syntax, then one array. */

import { type DTypeInfo, dtypeFromName } from '../../dtype.js';
import { UnsupportedDTypeError } from '../../errors.js';
import { rowMajorStrides } from '../../layout.js';
import { Flag } from '../../storage/descriptor.js';
import { entryBytes, plainEntry, type TensorEntry } from '../entry.js';
import { FileFormatError } from '../error.js';
import { bytesAt, type FileExtent, type Reading, viewOf } from '../reading.js';
import { decodeText } from './json.js';
import { type Literal, parseLiteral } from './python-literal.js';

const MAGIC = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59]; // \x93NUMPY
/** A hundred times the size that NumPy accepts without an option to trust the file. */
export const MAX_HEADER = 1 << 20;
/** NumPy aligns its data to this, too. */
const ALIGNMENT = 64;

/** Dtypes by kind and size, without the byte order. */
const kinds: Readonly<Record<string, string>> = {
  b1: 'bool',
  i1: 'int8',
  i2: 'int16',
  i4: 'int32',
  i8: 'int64',
  u1: 'uint8',
  u2: 'uint16',
  u4: 'uint32',
  u8: 'uint64',
  f2: 'float16',
  f4: 'float32',
  f8: 'float64',
  c8: 'complex64',
  c16: 'complex128',
};
const kindOf = new Map(Object.entries(kinds).map(([kind, name]) => [name, kind]));

/** The size of the raw bytes of an ml_dtypes type in NumPy. They have no name, so the reader names the dtype. */
const voidBytes = (dtype: DTypeInfo): number => Math.ceil(dtype.itemBits / 8);

export interface NpyOptions {
  /** The dtype of raw bytes (`'|V2'`), because NumPy saves bfloat16, float8 and int4 arrays without their name. */
  readonly dtype: DTypeInfo | null;
}

/** Reads the array in bytes `start` to `end` of a file. Bytes after it are allowed, as in NumPy. */
export function* readNpy(
  file: FileExtent,
  name: string,
  start: number,
  end: number,
  options: NpyOptions,
): Reading<TensorEntry> {
  const bounded = { path: file.path, size: end };
  const magic = yield* bytesAt(bounded, start, 10, 'the magic of an npy array');
  for (let i = 0; i < MAGIC.length; i++) {
    if (magic[i] !== MAGIC[i]) throw new FileFormatError(file.path, start + i, 'the magic is not that of an npy array');
  }
  const major = magic[6] as number;
  if (major < 1 || major > 3) {
    throw new FileFormatError(file.path, start + 6, `the npy version is ${major}; 1 to 3 are known`);
  }
  const prefix = major === 1 ? 10 : 12;
  const counted = major === 1 ? magic : yield* bytesAt(bounded, start, 12, 'the length of the npy header');
  const length = major === 1 ? viewOf(counted).getUint16(8, true) : viewOf(counted).getUint32(8, true);
  if (length > MAX_HEADER) {
    throw new FileFormatError(file.path, start + 8, `the npy header has ${length} bytes; ${MAX_HEADER} are allowed`);
  }
  const header = yield* bytesAt(bounded, start + prefix, length, 'the npy header');
  const entry = parseHeader(file.path, name, header, start + prefix, major, options);
  if (entry.start + entry.nbytes > end) {
    throw new FileFormatError(
      file.path,
      end,
      `'${name}' needs ${entry.nbytes} bytes of data but only ${Math.max(0, end - entry.start)} follow its header`,
    );
  }
  return entry;
}

function parseHeader(
  path: string,
  name: string,
  header: Uint8Array,
  at: number,
  major: number,
  options: NpyOptions,
): TensorEntry {
  const fail = (offset: number, problem: string): never => {
    throw new FileFormatError(path, at + offset, `the npy header is malformed: ${problem}`);
  };
  const text = major === 3 ? decodeText(header) : Array.from(header, (byte) => String.fromCharCode(byte)).join('');
  if (text === null) return fail(0, 'it is not UTF-8');
  const fields = parseLiteral(text, fail);
  if (!(fields instanceof Map) || fields.size !== 3) {
    return fail(0, "expected a dict of 'descr', 'fortran_order' and 'shape'");
  }
  const descr: unknown = fields.get('descr');
  const isFortran: unknown = fields.get('fortran_order');
  const shape: unknown = fields.get('shape');
  if (descr === undefined || typeof isFortran !== 'boolean') {
    return fail(0, "expected 'descr', and a bool as 'fortran_order'");
  }
  if (!isShape(shape)) return fail(0, "expected a tuple of integers of zero or more as 'shape'");
  const { dtype, swap } = parseDescr(path, descr as Literal, options);
  const padded = dtype.isSubByte;
  const nbytes = entryBytes(path, at, name, dtype, shape, padded);
  const entry = plainEntry(name, dtype, shape, at + header.length, nbytes);
  const strides = isFortran ? rowMajorStrides(shape.toReversed()).toReversed() : entry.strides;
  return { ...entry, strides, flags: padded ? Flag.subBytePadded : 0, swap };
}

function isShape(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((length) => Number.isSafeInteger(length) && length >= 0);
}

function parseDescr(path: string, descr: Literal, options: NpyOptions): { dtype: DTypeInfo; swap: number } {
  const match = typeof descr === 'string' ? /^([<>|=])?([a-zA-Z])([0-9]{0,6})$/.exec(descr) : null;
  const [order, kind, bytes] = [match?.[1], match?.[2], Number(match?.[3])];
  if (kind === 'V') return { dtype: parseVoid(path, String(descr), bytes, options), swap: 0 };
  // ml_dtypes writes this type string only for float8_e5m2. NumPy cannot read it back.
  const name = match === null ? undefined : kind === 'f' && bytes === 1 ? 'float8_e5m2' : kinds[`${kind}${bytes}`];
  if (name === undefined) {
    const shown = typeof descr === 'string' ? `'${descr}'` : 'a structured dtype';
    const hint = kind === 'O' ? '; objects are pickled Python code, which is never run here' : '';
    throw new UnsupportedDTypeError(
      typeof descr === 'string' ? descr : 'structured',
      `Expected booleans, integers, floats or complex numbers in ${path} but its descr is ${shown}${hint}`,
    );
  }
  return { dtype: dtypeFromName(name), swap: order === '>' && bytes > 1 ? (kind === 'c' ? bytes / 2 : bytes) : 0 };
}

function parseVoid(path: string, descr: string, bytes: number, { dtype }: NpyOptions): DTypeInfo {
  if (dtype !== null && voidBytes(dtype) === bytes) return dtype;
  throw new UnsupportedDTypeError(
    descr,
    dtype === null
      ? `Expected a dtype for the raw bytes ('${descr}') in ${path}: NumPy saves bfloat16, float8 and int4 like this; ` +
          "name it, as in { dtype: 'bfloat16' }"
      : `Expected a dtype of ${bytes} bytes for '${descr}' in ${path} but received '${dtype.name}'`,
  );
}

/** The header of an array, padded to align the data. Types that NumPy lacks are raw bytes, as in ml_dtypes. */
export function formatNpy(dtype: DTypeInfo, shape: readonly number[], isFortran: boolean): Uint8Array {
  const kind = kindOf.get(dtype.name);
  if (kind === undefined && (dtype.lanes > 1 || dtype.base === 'float128' || dtype.base === 'handle')) {
    throw new UnsupportedDTypeError(
      dtype.name,
      `Expected a dtype that NumPy or ml_dtypes has but received '${dtype.name}'; convert it with astype()`,
    );
  }
  const descr = kind === undefined ? `V${voidBytes(dtype)}` : kind;
  const order = descr.endsWith('1') && descr.length === 2 ? '|' : '<';
  const tuple = shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(', ')})`;
  const dict = `{'descr': '${order}${descr}', 'fortran_order': ${isFortran ? 'True' : 'False'}, 'shape': ${tuple}, }`;
  const length = Math.ceil((10 + dict.length + 1) / ALIGNMENT) * ALIGNMENT;
  const header = new Uint8Array(length).fill(0x20);
  header.set([...MAGIC, 1, 0]);
  viewOf(header).setUint16(8, length - 10, true);
  header.set(new TextEncoder().encode(dict), 10);
  header[length - 1] = 0x0a;
  return header;
}
