/** The tensor that a `DLTensor` in WebAssembly memory describes. */

import { deviceFromType } from '../device.js';
import { dtypeFromCode } from '../dtype.js';
import { ArgumentTypeError, BufferError, LayoutError } from '../errors.js';
import { checkShape, checkStrides, MAX_NDIM, rowMajorStrides } from '../layout.js';
import { Descriptor } from '../storage/descriptor.js';
import { BufferStorage, type Storage } from '../storage/storage.js';
import { TensorView } from '../view.js';
import { decodeStruct } from './codec.js';
import { checkPlace, type Place } from './model.js';
import { DLTensor } from './structs.js';

/** Reads and checks a `DLTensor`. Pointers are offsets into `storage`, which covers the buffer of the place. */
export function describeTensor(place: Place, flags: bigint, storage: Storage): Descriptor {
  const tensor = decodeStruct(DLTensor, place);
  const dtype = dtypeFromCode(tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes);
  const device = deviceFromType(tensor.device.device_type, tensor.device.device_id);
  if (!device.isHostAccessible) {
    throw new BufferError(`Expected host memory for a tensor in this buffer but it is on '${device.name}'`);
  }
  if (tensor.ndim < 0 || tensor.ndim > MAX_NDIM) {
    throw new LayoutError(`Expected 0 to ${MAX_NDIM} axes but received ndim ${tensor.ndim}`);
  }
  const shape = checkShape(readIntegers(place, tensor.shape, tensor.ndim, 'shape'));
  const strides =
    tensor.strides === 0n
      ? rowMajorStrides(shape)
      : checkStrides(readIntegers(place, tensor.strides, tensor.ndim, 'strides'), shape);
  const empty = shape.includes(0);
  if (tensor.data === 0n && !empty) throw new LayoutError('Expected memory for a tensor but data is NULL', shape);
  const offset = empty ? 0 : Number(tensor.data + tensor.byte_offset);
  return new Descriptor(storage, dtype, device, shape, strides, offset * 8, Number(flags & 7n)).checkBounds();
}

function readIntegers(place: Place, pointer: bigint, count: number, name: string): number[] {
  if (count === 0) return [];
  const at = Number(pointer);
  if (pointer === 0n || at + count * 8 > place.buffer.byteLength) {
    throw new LayoutError(
      `Expected ${count} integers for ${name} inside the buffer of ${place.buffer.byteLength} bytes but its address is ${pointer}`,
    );
  }
  const view = new DataView(place.buffer, at, count * 8);
  return Array.from({ length: count }, (_, i) => {
    const value = view.getBigInt64(i * 8, true);
    if (BigInt.asIntN(54, value) !== value) {
      throw new LayoutError(`Expected integers of at most 2^53 - 1 for ${name} but received ${value}`);
    }
    return Number(value);
  });
}

/**
 * A view of the tensor that a `DLTensor` in WebAssembly memory describes. Pointers are offsets into the same buffer.
 * The view becomes invalid when the memory grows. Views of `WasmHeap` in dlpack/wasm stay valid.
 */
export function viewTensor(at: Place, flags = 0n): TensorView {
  if (typeof flags !== 'bigint') throw new ArgumentTypeError('flags', 'a bigint', flags);
  const place = checkPlace(at);
  const { buffer } = place;
  return new TensorView(describeTensor(place, flags, new BufferStorage(buffer, 0, buffer.byteLength)));
}
