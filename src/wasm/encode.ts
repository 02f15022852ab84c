/** Writes the structs of a tensor into the memory of a WebAssembly module. */

import { encodeManagedTensorVersioned } from '../abi/codec.js';
import { layoutOf } from '../abi/layout-of.js';
import type { DataModel } from '../abi/model.js';
import { DLManagedTensorVersioned } from '../abi/structs.js';
import { DLPACK_VERSION } from '../protocol/managed.js';
import { type Descriptor, KNOWN_FLAGS } from '../storage/descriptor.js';
import type { WasmModule } from './module.js';

/** One block of the module's memory with the struct, the shape and the strides. */
export interface WrittenStruct {
  /** What `free` takes. */
  readonly block: number;
  /** The `DLManagedTensorVersioned`. */
  readonly start: number;
  /** The `DLTensor` inside it. */
  readonly tensor: number;
}

/** `data` is the offset of the first element. Without a deleter only the `DLTensor` inside is meant to be used. */
export function writeManaged(
  module: WasmModule,
  model: DataModel,
  descriptor: Descriptor,
  data: number,
  deleter: bigint | null,
): WrittenStruct {
  const { shape, strides, dtype, device, flags } = descriptor;
  const { size, offset } = layoutOf(DLManagedTensorVersioned, model);
  const head = Math.ceil(size / 8) * 8;
  const block = module.allocate(head + shape.length * 16 + 8);
  const start = Math.ceil(block / 8) * 8; // an allocator may align to less than the struct needs
  const { buffer } = module.memory; // after the allocation, which may have grown the memory
  const integers = new DataView(buffer, start + head, shape.length * 16);
  [...shape, ...strides].forEach((value, i) => {
    integers.setBigInt64(i * 8, BigInt(value), true);
  });
  encodeManagedTensorVersioned(
    {
      version: { major: DLPACK_VERSION[0], minor: DLPACK_VERSION[1] },
      manager_ctx: 0n,
      deleter: deleter ?? 0n,
      flags: BigInt(flags & KNOWN_FLAGS),
      dl_tensor: {
        data: BigInt(data),
        device: { device_type: device.type, device_id: device.id },
        ndim: shape.length,
        dtype: { code: dtype.code, bits: dtype.bits, lanes: dtype.lanes },
        shape: BigInt(start + head),
        strides: BigInt(start + head + shape.length * 8),
        byte_offset: 0n,
      },
    },
    { buffer, byteOffset: start, model },
  );
  return { block, start, tensor: start + (offset.dl_tensor as number) };
}
