/** Imports managed tensors as Tensors. */

import { checkOptions, type OptionNames } from '../base/options.js';
import { type DType, dtypeFromCode } from '../dtype.js';
import { ArgumentTypeError, BufferError, type DLPackError } from '../errors.js';
import type { Descriptor } from '../storage/descriptor.js';
import { Tensor } from '../tensor.js';
import { copyBytes } from '../values/copy.js';
import { native } from './load.js';
import { errorOfTensor } from './status.js';
import { enter, leave, wire, wireIsFull } from './wire.js';
import { ImportRequest, Status, TensorResult, Wire, WireHeader } from './wire-layout.js';
import { takeTensor } from './wire-tensor.js';

const { i32, u32, u64 } = wire;

export interface ImportOptions {
  /** false: the address points to a legacy `DLManagedTensor`. */
  versioned?: boolean;
}

const importNames: OptionNames<ImportOptions> = { versioned: 'boolean' };

/**
 * Unsafe: takes ownership of the `DLManagedTensorVersioned` at an address. The address is trusted. The contents of the
 * struct are checked, and an import that throws has called the deleter.
 */
export function importManaged<D extends DType = DType>(address: bigint, options?: ImportOptions): Tensor<D> {
  const isLegacy = options !== undefined && isLegacyImport(options);
  const binding = native();
  const slot = u32[WireHeader.TOP] as number; // not taken, as `freeSlot` explains
  if (typeof address !== 'bigint' || slot > Wire.WORDS - ImportRequest.WORDS) throw refuseAddress(address);
  u64[slot + ImportRequest.ADDRESS] = address;
  u32[WireHeader.SLOT] = slot;
  if (isLegacy) binding.importLegacy();
  else binding.importVersioned();
  if (i32[slot * 2 + ImportRequest.STATUS] !== Status.ok) throw errorOfImport(slot);
  return new Tensor<D>(takeTensor(slot + ImportRequest.TENSOR));
}

function isLegacyImport(options: ImportOptions): boolean {
  checkOptions(options, importNames, '{ versioned: false }');
  return options.versioned === false;
}

/** The error of an import that cannot begin. */
function refuseAddress(address: unknown): DLPackError {
  return typeof address === 'bigint' ? wireIsFull() : new ArgumentTypeError('address', 'a bigint', address);
}

function errorOfImport(slot: number): DLPackError {
  const status = i32[slot * 2 + ImportRequest.STATUS] as number;
  return errorOfTensor(status, slot + ImportRequest.TENSOR, u64[slot + ImportRequest.ADDRESS]);
}

/** The tensor in a type-tagged external, or null for any other value. Misaligned elements are copied if allowed. */
export function importExternal(value: unknown, copy: boolean | null): Descriptor | null {
  if (typeof value !== 'object' || value === null) return null;
  const binding = native();
  const slot = enter(TensorResult.WORDS);
  try {
    u32[WireHeader.SLOT] = slot;
    const packed = binding.importExternal(value);
    if (i32[slot * 2 + TensorResult.STATUS] === Status.notExternal) return null;
    return packed === undefined ? takeResult(slot) : takeBytes(slot, packed, copy);
  } finally {
    leave(slot);
  }
}

/** Copies a misaligned tensor, which arrived as vectors of bytes, into new memory, and releases the original. */
function takeBytes(slot: number, packed: number, copy: boolean | null): Descriptor {
  const bytes = takeTensor(slot + TensorResult.TENSOR);
  try {
    const dtype = dtypeFromCode(packed & 0xff, (packed >>> 8) & 0xff, packed >>> 16);
    if (copy !== false) return copyBytes(bytes, dtype);
    throw new BufferError(
      `Expected ${dtype.name} data at a multiple of ${dtype.alignment} bytes (copy: false) but its address is not aligned`,
    );
  } finally {
    bytes.storage.release();
  }
}

/** The tensor of a {@link TensorResult}. */
export function takeResult(slot: number): Descriptor {
  const status = i32[slot * 2 + TensorResult.STATUS] as number;
  if (status !== Status.ok) throw errorOfTensor(status, slot + TensorResult.TENSOR);
  return takeTensor(slot + TensorResult.TENSOR);
}

/** Takes the tensor of the {@link TensorResult} that native code pushed last, and leaves its slot. */
export function takePushed(): Descriptor {
  const slot = (u32[WireHeader.TOP] as number) - TensorResult.WORDS;
  try {
    return takeResult(slot);
  } finally {
    leave(slot);
  }
}
