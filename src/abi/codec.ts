/**
 * Converts structs in memory to JavaScript values and back, over any ArrayBuffer, with two functions for each struct of
 * the C API. Pointers and 64-bit integers are bigints.
 */

import { ArgumentTypeError, ArgumentValueError, LayoutError } from '../errors.js';
import { bufferLength } from '../storage/storage.js';
import { layoutOf } from './layout-of.js';
import { checkPlace, type DataModel, type Place } from './model.js';
import {
  DLDataType,
  DLDevice,
  DLManagedTensor,
  DLManagedTensorVersioned,
  DLPackExchangeAPI,
  DLPackExchangeAPIHeader,
  DLPackVersion,
  DLTensor,
  type Fields,
  type ScalarField,
  type Struct,
} from './structs.js';

/** The JavaScript form of one number of a struct. */
export type ScalarValue<S extends ScalarField> = S extends 'u64' | 'ptr' ? bigint : number;

/** The JavaScript form of a struct: numbers, bigints and nested objects, by C field names. */
export type StructValue<F extends Fields> = {
  -readonly [name in keyof F]: F[name] extends ScalarField
    ? ScalarValue<F[name]>
    : F[name] extends Struct<infer G>
      ? StructValue<G>
      : never;
};

function viewOf(struct: Struct, place: Place): DataView {
  const { size } = layoutOf(struct, place.model);
  const { buffer, byteOffset } = place;
  const length = bufferLength(buffer) as number;
  if (!Number.isSafeInteger(byteOffset) || byteOffset < 0 || byteOffset + size > length) {
    throw new LayoutError(
      `Expected ${size} bytes for a ${struct.name} at byte ${byteOffset} but the buffer has ${length}`,
    );
  }
  return new DataView(buffer, byteOffset, size);
}

/**
 * Copies a struct out of memory.
 *
 * @param struct - The table of the struct, such as {@link DLTensor}.
 * @param place - Where the struct lies, and the data model of the program that wrote it.
 * @returns Its fields by their C names. Pointers and 64-bit integers are bigints.
 * @throws LayoutError if the struct does not fit into the buffer.
 * @example
 * ```ts
 * import { DLDevice, decodeStruct, lp64 } from 'dlpack/abi';
 * const { buffer } = Int32Array.of(2, 1);
 * console.log(decodeStruct(DLDevice, { buffer, byteOffset: 0, model: lp64 }).device_id); // 1
 * ```
 */
export function decodeStruct<F extends Fields>(struct: Struct<F>, place: Place): StructValue<F> {
  const at = checkPlace(place);
  return decodeAt(struct, viewOf(struct, at), 0, at.model) as StructValue<F>;
}

/**
 * Writes a struct into memory.
 *
 * @param struct - The table of the struct, such as {@link DLTensor}.
 * @param value - All its fields by their C names.
 * @param place - Where to write it, and the data model of the program that will read it.
 * @throws ArgumentTypeError if a field is missing or has another type, and ArgumentValueError if its C type cannot hold it.
 * @throws LayoutError if the struct does not fit into the buffer.
 * @example
 * ```ts
 * import { DLDevice, encodeStruct, lp64 } from 'dlpack/abi';
 * const buffer = new ArrayBuffer(8);
 * encodeStruct(DLDevice, { device_type: 2, device_id: 1 }, { buffer, byteOffset: 0, model: lp64 });
 * console.log(new Int32Array(buffer).join()); // 2,1
 * ```
 */
export function encodeStruct<F extends Fields>(struct: Struct<F>, value: StructValue<F>, place: Place): void {
  const at = checkPlace(place);
  encodeAt(struct, value, viewOf(struct, at), 0, at.model);
}

/** A function that writes a struct, as {@link encodeStruct} does. */
export type Encode<S> = S extends Struct<infer F> ? (value: StructValue<F>, place: Place) => void : never;

/**
 * Reads a `DLPackVersion`, as {@link decodeStruct} does.
 *
 * @param place - Where the struct lies, and its data model.
 * @returns Its fields by their C names.
 * @throws As `decodeStruct` does.
 */
export const decodeVersion = (place: Place) => decodeStruct(DLPackVersion, place);
/**
 * Reads a `DLDevice`, as {@link decodeStruct} does.
 *
 * @param place - Where the struct lies, and its data model.
 * @returns Its fields by their C names.
 * @throws As `decodeStruct` does.
 */
export const decodeDevice = (place: Place) => decodeStruct(DLDevice, place);
/**
 * Reads a `DLDataType`, as {@link decodeStruct} does.
 *
 * @param place - Where the struct lies, and its data model.
 * @returns Its fields by their C names.
 * @throws As `decodeStruct` does.
 */
export const decodeDataType = (place: Place) => decodeStruct(DLDataType, place);
/**
 * Reads a `DLTensor`, as {@link decodeStruct} does.
 *
 * @param place - Where the struct lies, and its data model.
 * @returns Its fields by their C names.
 * @throws As `decodeStruct` does.
 */
export const decodeTensor = (place: Place) => decodeStruct(DLTensor, place);
/**
 * Reads a `DLManagedTensor`, as {@link decodeStruct} does.
 *
 * @param place - Where the struct lies, and its data model.
 * @returns Its fields by their C names.
 * @throws As `decodeStruct` does.
 */
export const decodeManagedTensor = (place: Place) => decodeStruct(DLManagedTensor, place);
/**
 * Reads a `DLManagedTensorVersioned`, as {@link decodeStruct} does.
 *
 * @param place - Where the struct lies, and its data model.
 * @returns Its fields by their C names.
 * @throws As `decodeStruct` does.
 */
export const decodeManagedTensorVersioned = (place: Place) => decodeStruct(DLManagedTensorVersioned, place);
/**
 * Reads a `DLPackExchangeAPIHeader`, as {@link decodeStruct} does.
 *
 * @param place - Where the struct lies, and its data model.
 * @returns Its fields by their C names.
 * @throws As `decodeStruct` does.
 */
export const decodeExchangeAPIHeader = (place: Place) => decodeStruct(DLPackExchangeAPIHeader, place);
/**
 * Reads a `DLPackExchangeAPI`, as {@link decodeStruct} does.
 *
 * @param place - Where the struct lies, and its data model.
 * @returns Its fields by their C names.
 * @throws As `decodeStruct` does.
 */
export const decodeExchangeAPI = (place: Place) => decodeStruct(DLPackExchangeAPI, place);

/**
 * Writes a `DLPackVersion`, as {@link encodeStruct} does.
 *
 * @param value - All its fields by their C names.
 * @param place - Where to write it, and its data model.
 * @throws As `encodeStruct` does.
 */
export const encodeVersion: Encode<typeof DLPackVersion> = (value, place) => encodeStruct(DLPackVersion, value, place);
/**
 * Writes a `DLDevice`, as {@link encodeStruct} does.
 *
 * @param value - All its fields by their C names.
 * @param place - Where to write it, and its data model.
 * @throws As `encodeStruct` does.
 */
export const encodeDevice: Encode<typeof DLDevice> = (value, place) => encodeStruct(DLDevice, value, place);
/**
 * Writes a `DLDataType`, as {@link encodeStruct} does.
 *
 * @param value - All its fields by their C names.
 * @param place - Where to write it, and its data model.
 * @throws As `encodeStruct` does.
 */
export const encodeDataType: Encode<typeof DLDataType> = (value, place) => encodeStruct(DLDataType, value, place);
/**
 * Writes a `DLTensor`, as {@link encodeStruct} does.
 *
 * @param value - All its fields by their C names.
 * @param place - Where to write it, and its data model.
 * @throws As `encodeStruct` does.
 */
export const encodeTensor: Encode<typeof DLTensor> = (value, place) => encodeStruct(DLTensor, value, place);
/**
 * Writes a `DLManagedTensor`, as {@link encodeStruct} does.
 *
 * @param value - All its fields by their C names.
 * @param place - Where to write it, and its data model.
 * @throws As `encodeStruct` does.
 */
export const encodeManagedTensor: Encode<typeof DLManagedTensor> = (value, place) =>
  encodeStruct(DLManagedTensor, value, place);
/**
 * Writes a `DLManagedTensorVersioned`, as {@link encodeStruct} does.
 *
 * @param value - All its fields by their C names.
 * @param place - Where to write it, and its data model.
 * @throws As `encodeStruct` does.
 */
export const encodeManagedTensorVersioned: Encode<typeof DLManagedTensorVersioned> = (value, place) =>
  encodeStruct(DLManagedTensorVersioned, value, place);
/**
 * Writes a `DLPackExchangeAPIHeader`, as {@link encodeStruct} does.
 *
 * @param value - All its fields by their C names.
 * @param place - Where to write it, and its data model.
 * @throws As `encodeStruct` does.
 */
export const encodeExchangeAPIHeader: Encode<typeof DLPackExchangeAPIHeader> = (value, place) =>
  encodeStruct(DLPackExchangeAPIHeader, value, place);
/**
 * Writes a `DLPackExchangeAPI`, as {@link encodeStruct} does.
 *
 * @param value - All its fields by their C names.
 * @param place - Where to write it, and its data model.
 * @throws As `encodeStruct` does.
 */
export const encodeExchangeAPI: Encode<typeof DLPackExchangeAPI> = (value, place) =>
  encodeStruct(DLPackExchangeAPI, value, place);

function decodeAt(struct: Struct, view: DataView, at: number, model: DataModel): Record<string, unknown> {
  const { offset } = layoutOf(struct, model);
  const value: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(struct.fields)) {
    const from = at + (offset[name] as number);
    value[name] = typeof field === 'string' ? readScalar(field, view, from, model) : decodeAt(field, view, from, model);
  }
  return value;
}

/** The integers that are numbers: the smallest and the largest, and the methods that read and write them. */
const integers = {
  u8: [0, 0xff, 'getUint8', 'setUint8'],
  u16: [0, 0xffff, 'getUint16', 'setUint16'],
  u32: [0, 0xffffffff, 'getUint32', 'setUint32'],
  i32: [-0x80000000, 0x7fffffff, 'getInt32', 'setInt32'],
} as const;

function readScalar(field: ScalarField, view: DataView, at: number, model: DataModel): number | bigint {
  if (field === 'u64' || (field === 'ptr' && model.pointerSize === 8)) return view.getBigUint64(at, true);
  return field === 'ptr' ? BigInt(view.getUint32(at, true)) : view[integers[field][2]](at, true);
}

function encodeAt(struct: Struct, value: unknown, view: DataView, at: number, model: DataModel): void {
  if (typeof value !== 'object' || value === null) throw new ArgumentTypeError(struct.name, 'an object', value);
  const { offset } = layoutOf(struct, model);
  for (const [name, field] of Object.entries(struct.fields)) {
    const to = at + (offset[name] as number);
    const member = (value as Record<string, unknown>)[name];
    if (typeof field === 'string') writeScalar(field, `${struct.name}.${name}`, member, view, to, model);
    else encodeAt(field, member, view, to, model);
  }
}

function writeScalar(
  field: ScalarField,
  name: string,
  value: unknown,
  view: DataView,
  at: number,
  model: DataModel,
): void {
  if (field === 'u64' || field === 'ptr') {
    if (typeof value !== 'bigint') throw new ArgumentTypeError(name, 'a bigint', value);
    const bytes = field === 'u64' ? 8 : model.pointerSize;
    if (value < 0n || value >> BigInt(bytes * 8) !== 0n) {
      throw new ArgumentValueError(name, `an unsigned integer of ${bytes * 8} bits`, value);
    }
    if (bytes === 8) view.setBigUint64(at, value, true);
    else view.setUint32(at, Number(value), true);
    return;
  }
  if (typeof value !== 'number') throw new ArgumentTypeError(name, 'a number', value);
  const [low, high, , write] = integers[field];
  if (!Number.isInteger(value) || value < low || value > high) {
    throw new ArgumentValueError(name, `an integer from ${low} to ${high}`, value);
  }
  view[write](at, value, true);
}
