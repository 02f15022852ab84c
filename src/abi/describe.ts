/** The tensor that a `DLTensor` in WebAssembly memory describes. */

import { deviceFromType } from '../device.js';
import { dtypeFromCode } from '../dtype.js';
import { ArgumentTypeError, BufferError, LayoutError } from '../errors.js';
import { checkShape, checkStrides, MAX_NDIM } from '../layout.js';
import { Descriptor } from '../storage/descriptor.js';
import { findLayout, KNOWN_FLAGS, type Layout } from '../storage/layouts.js';
import { BufferStorage } from '../storage/storage.js';
import { TensorView } from '../view.js';
import { layoutOf } from './layout-of.js';
import { checkPlace, type DataModel, type Place, wasm32, wasm64 } from './model.js';
import { DLDataType, DLDevice, DLTensor } from './structs.js';

/** The offsets of the fields of a `DLTensor`, by the size of a pointer. */
export const tensorOffsets = { 4: offsetsIn(wasm32), 8: offsetsIn(wasm64) };

function offsetsIn(model: DataModel) {
  const { offset, size } = layoutOf(DLTensor, model);
  const device = layoutOf(DLDevice, model).offset;
  const dtype = layoutOf(DLDataType, model).offset;
  return {
    ...offset,
    size,
    deviceType: offset.device + device.device_type,
    deviceId: offset.device + device.device_id,
    code: offset.dtype + dtype.code,
    bits: offset.dtype + dtype.bits,
    lanes: offset.dtype + dtype.lanes,
  };
}

/** A checked layout, and the byte of the memory at which its first element is. */
export interface ReadTensor {
  readonly layout: Layout;
  readonly start: number;
}

/**
 * Reads and checks a `DLTensor`. `view` covers the whole memory, and pointers are offsets into it. Numbers, because a
 * bigint for each field takes longer than the rest of an import.
 */
export function readTensor(view: DataView, at: number, { pointerSize }: DataModel, flags: number): ReadTensor {
  const place = tensorOffsets[pointerSize];
  checkStruct(view, at, place.size, 'DLTensor');
  const dtype = dtypeFromCode(
    view.getUint8(at + place.code),
    view.getUint8(at + place.bits),
    view.getUint16(at + place.lanes, true),
  );
  const device = deviceFromType(view.getInt32(at + place.deviceType, true), view.getInt32(at + place.deviceId, true));
  if (!device.isHostAccessible) {
    throw new BufferError(`Expected host memory for a tensor in this buffer but it is on '${device.name}'`);
  }
  const ndim = view.getInt32(at + place.ndim, true);
  if (ndim < 0 || ndim > MAX_NDIM) {
    throw new LayoutError(`Expected 0 to ${MAX_NDIM} axes but received ndim ${ndim}`);
  }
  const shape = checkShape(readIntegers(view, readPointer(view, at + place.shape, pointerSize), ndim, 'shape'));
  const stridesAt = readPointer(view, at + place.strides, pointerSize);
  const strides = stridesAt === 0 ? null : checkStrides(readIntegers(view, stridesAt, ndim, 'strides'), shape);
  const layout = findLayout(dtype, device, shape, strides, flags & KNOWN_FLAGS);
  if (layout.size === 0) return { layout, start: 0 };
  const data = readPointer(view, at + place.data, pointerSize);
  if (data === 0) throw new LayoutError('Expected memory for a tensor but data is NULL', shape);
  return { layout, start: data + readPointer(view, at + place.byte_offset, 8) };
}

/** Throws unless a struct lies inside the memory. */
export function checkStruct(view: DataView, at: number, size: number, name: string): void {
  if (Number.isSafeInteger(at) && at >= 0 && at + size <= view.byteLength) return;
  throw new LayoutError(`Expected ${size} bytes for a ${name} at byte ${at} but the buffer has ${view.byteLength}`);
}

/** An unsigned integer of four or eight bytes. One above 2^53 is outside every memory, also when it is rounded. */
export function readPointer(view: DataView, at: number, size: 4 | 8): number {
  const low = view.getUint32(at, true);
  return size === 4 ? low : view.getUint32(at + 4, true) * 2 ** 32 + low;
}

/** Writes an unsigned integer of four or eight bytes. */
export function writePointer(view: DataView, at: number, value: number, size: 4 | 8): void {
  view.setUint32(at, value, true); // the low bits, also of a number above 2^32
  if (size === 8) view.setUint32(at + 4, Math.floor(value / 2 ** 32), true);
}

function readIntegers(view: DataView, at: number, count: number, name: string): number[] {
  if (count === 0) return [];
  if (at === 0 || at + count * 8 > view.byteLength) {
    throw new LayoutError(
      `Expected ${count} integers for ${name} inside the buffer of ${view.byteLength} bytes but its address is ${at}`,
    );
  }
  const values = new Array<number>(count);
  for (let i = 0; i < count; i++) {
    const value = view.getInt32(at + i * 8 + 4, true) * 2 ** 32 + view.getUint32(at + i * 8, true);
    if (!Number.isSafeInteger(value)) {
      const exact = view.getBigInt64(at + i * 8, true);
      throw new LayoutError(`Expected integers of at most 2^53 - 1 for ${name} but received ${exact}`);
    }
    values[i] = value;
  }
  return values;
}

/**
 * Makes a view of the tensor that a `DLTensor` in WebAssembly memory describes. Pointers are offsets into the same
 * buffer. The view becomes invalid when the memory grows. Views of `WasmHeap` in dlpack/wasm stay valid.
 *
 * @param at - Where the struct lies, and the data model of the module.
 * @param flags - The flags of the managed tensor around it; none when absent.
 * @returns A view that shares the buffer.
 * @throws ArgumentTypeError for anything but a place and flags, and LayoutError for a struct or elements outside of the
 *   buffer.
 * @throws BufferError for a tensor on a device, and UnsupportedDTypeError or UnsupportedDeviceError for an unknown
 *   dtype or device.
 * @example
 * ```ts
 * import { encodeTensor, viewTensor, wasm32 } from 'dlpack/abi';
 * const place = { buffer: new ArrayBuffer(128), byteOffset: 0, model: wasm32 }; // the memory of a module
 * const [device, dtype] = [{ device_type: 1, device_id: 0 }, { code: 2, bits: 32, lanes: 1 }];
 * encodeTensor({ data: 64n, device, ndim: 1, dtype, shape: 96n, strides: 0n, byte_offset: 0n }, place);
 * new Float32Array(place.buffer, 64).set([1, 2]);
 * new BigInt64Array(place.buffer, 96).set([2n]);
 * console.log(viewTensor(place).toArray()); // [1, 2]
 * ```
 */
export function viewTensor(at: Place, flags = 0n): TensorView {
  if (typeof flags !== 'bigint') throw new ArgumentTypeError('flags', 'a bigint', flags);
  const { buffer, byteOffset, model } = checkPlace(at);
  const { layout, start } = readTensor(new DataView(buffer), byteOffset, model, Number(flags & BigInt(KNOWN_FLAGS)));
  const storage = new BufferStorage(buffer, 0, buffer.byteLength);
  return new TensorView(new Descriptor(storage, layout, start * 8).checkBounds());
}
