/** Imports managed tensors as Tensors. */

import { checkOptions, type OptionNames } from '../../base/options.js';
import { dtypeFromCode } from '../../dtype.js';
import { ArgumentTypeError, BufferError, type DLPackError } from '../../errors.js';
import type { Descriptor } from '../../storage/descriptor.js';
import { Tensor } from '../../tensor.js';
import { copyBytes } from '../../values/copy.js';
import { native } from '../load/load.js';
import { Status } from '../wire/constants.js';
import { errorOfTensor } from '../wire/status.js';
import { takeTensor } from '../wire/tensor.js';
import { enter, leave } from '../wire/wire.js';
import { ImportRequest, TensorResult, WireHeader } from '../wire/wire-layout.js';

/** Which struct lies at the address. */
export interface ImportOptions {
  /** false: the address points to a legacy `DLManagedTensor`. The default is true. */
  versioned?: boolean;
}

const importNames: OptionNames<ImportOptions> = { versioned: 'boolean' };

/**
 * Unsafe: takes ownership of the managed tensor at an address. The address is trusted. The contents of the struct are
 * checked, and an import that throws has called the deleter.
 *
 * @param address - The address of a `DLManagedTensorVersioned`.
 * @param options - `versioned: false` for a legacy `DLManagedTensor`.
 * @returns A tensor that shares the memory and calls the deleter after its last owner.
 * @throws ArgumentTypeError for an address that is no bigint, and ArgumentValueError for NULL.
 * @throws LayoutError, UnsupportedDTypeError or UnsupportedDeviceError for a struct that describes no usable tensor.
 * @throws MisalignedError if the data is not aligned as the dtype requires, and VersionError for another major version
 *   of DLPack.
 * @throws LoadError without the native part.
 * @example
 * ```ts
 * import { Tensor } from 'dlpack';
 * import { exportManaged, importManaged } from 'dlpack/native';
 * const address = exportManaged(Tensor.from([1, 2, 3])); // or from C
 * console.log(importManaged(address).toArray()); // [1, 2, 3]
 * ```
 */
export function importManaged(address: bigint, options?: ImportOptions): Tensor {
  const isLegacy = options !== undefined && isLegacyImport(options);
  const binding = native();
  if (typeof address !== 'bigint') throw new ArgumentTypeError('address', 'a bigint', address);
  const slot = enter(ImportRequest.WORDS);
  try {
    ImportRequest.setAddress(slot, address);
    WireHeader.setSlot(slot);
    if (isLegacy) binding.importLegacy();
    else binding.importVersioned();
    if (ImportRequest.status(slot) !== Status.ok) throw errorOfImport(slot);
    return new Tensor(takeTensor(ImportRequest.tensorAt(slot)));
  } finally {
    leave(slot);
  }
}

function isLegacyImport(options: ImportOptions): boolean {
  checkOptions(options, importNames, '{ versioned: false }');
  return options.versioned === false;
}

function errorOfImport(slot: number): DLPackError {
  const status = ImportRequest.status(slot);
  return errorOfTensor(status, ImportRequest.tensorAt(slot), ImportRequest.address(slot));
}

/** The tensor in a type-tagged external, or null for any other value. Misaligned elements are copied if allowed. */
export function importExternal(value: unknown, copy: boolean | null): Descriptor | null {
  if (typeof value !== 'object' || value === null) return null;
  const binding = native();
  const slot = enter(TensorResult.WORDS);
  try {
    WireHeader.setSlot(slot);
    const packed = binding.importExternal(value);
    if (TensorResult.status(slot) === Status.notExternal) return null;
    return packed === undefined ? takeResult(slot) : takeBytes(slot, packed, copy);
  } finally {
    leave(slot);
  }
}

/** Copies a misaligned tensor, which arrived as vectors of bytes, into new memory, and releases the original. */
function takeBytes(slot: number, packed: number, copy: boolean | null): Descriptor {
  const bytes = takeTensor(TensorResult.tensorAt(slot));
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
  const status = TensorResult.status(slot);
  if (status !== Status.ok) throw errorOfTensor(status, TensorResult.tensorAt(slot));
  return takeTensor(TensorResult.tensorAt(slot));
}

/** Takes the tensor of the {@link TensorResult} that native code pushed last, and leaves its slot. */
export function takePushed(): Descriptor {
  const slot = TensorResult.below(WireHeader.top());
  try {
    return takeResult(slot);
  } finally {
    leave(slot);
  }
}
