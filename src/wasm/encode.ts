/** Writes the structs of a tensor into the memory of a WebAssembly module. */

import { tensorOffsets, writePointer } from '../abi/describe.js';
import { layoutOf } from '../abi/layout-of.js';
import type { DataModel } from '../abi/model.js';
import { DLManagedTensor, DLManagedTensorVersioned } from '../abi/structs.js';
import { DLPACK_VERSION } from '../protocol/managed.js';
import type { Layout } from '../storage/layouts.js';
import { KNOWN_FLAGS } from '../storage/layouts.js';
import type { WasmModule } from './module.js';

/** One block of the module's memory with the struct, the shape and the strides. */
export interface WrittenStruct {
  /** What `free` takes. */
  readonly block: number;
  /** The `DLManagedTensorVersioned`, or the `DLManagedTensor`. */
  readonly start: number;
  /** The `DLTensor` inside it. */
  readonly tensor: number;
}

/**
 * `data` is the offset of the first element. With the deleter 0 only the `DLTensor` inside is meant to be used. A struct
 * without a version has no flags.
 */
export function writeManaged(
  module: WasmModule,
  model: DataModel,
  { shape, strides, dtype, device, flags }: Layout,
  data: number,
  deleter: number,
  isVersioned: boolean,
): WrittenStruct {
  const { size, offset } = layoutOf(isVersioned ? DLManagedTensorVersioned : DLManagedTensor, model);
  const head = Math.ceil(size / 8) * 8;
  const block = module.allocate(head + shape.length * 16 + 8);
  const start = Math.ceil(block / 8) * 8; // an allocator may align to less than the struct needs
  const view = module.view(); // after the allocation, which may have grown the memory
  const shapeAt = start + head;
  const stridesAt = shapeAt + shape.length * 8;
  writeIntegers(view, shapeAt, shape);
  writeIntegers(view, stridesAt, strides);
  if (isVersioned) {
    const { version, flags: flagsAt } = layoutOf(DLManagedTensorVersioned, model).offset;
    view.setUint32(start + version, DLPACK_VERSION[0], true);
    view.setUint32(start + version + 4, DLPACK_VERSION[1], true);
    writePointer(view, start + flagsAt, flags & KNOWN_FLAGS, 8);
  }
  const { pointerSize } = model;
  writePointer(view, start + (offset.manager_ctx as number), 0, pointerSize);
  writePointer(view, start + (offset.deleter as number), deleter, pointerSize);
  const tensor = start + (offset.dl_tensor as number);
  const field = tensorOffsets[pointerSize];
  writePointer(view, tensor + field.data, data, pointerSize);
  view.setInt32(tensor + field.deviceType, device.type, true);
  view.setInt32(tensor + field.deviceId, device.id, true);
  view.setInt32(tensor + field.ndim, shape.length, true);
  view.setUint8(tensor + field.code, dtype.code);
  view.setUint8(tensor + field.bits, dtype.bits);
  view.setUint16(tensor + field.lanes, dtype.lanes, true);
  writePointer(view, tensor + field.shape, shapeAt, pointerSize);
  writePointer(view, tensor + field.strides, stridesAt, pointerSize);
  writePointer(view, tensor + field.byte_offset, 0, 8);
  return { block, start, tensor };
}

function writeIntegers(view: DataView, at: number, values: readonly number[]): void {
  for (let i = 0; i < values.length; i++) {
    const value = values[i] as number;
    view.setUint32(at + i * 8, value, true); // the low bits, also of a negative number
    view.setInt32(at + i * 8 + 4, Math.floor(value / 2 ** 32), true);
  }
}
