/**
 * Managed tensors into Tensors.
 *
 * @module
 */

import type { DType } from '../dtype.js';
import { ArgumentTypeError } from '../errors.js';
import { checkOptions, type OptionNames } from '../options.js';
import type { Descriptor } from '../storage/descriptor.js';
import { Tensor } from '../tensor.js';
import { isDebug } from './debug.js';
import { Field, forgetKind, frame, isKindKnown, readBytes, readDescriptor, readKind, writeImport } from './frame.js';
import { native } from './load.js';
import { NativeStorage } from './native-storage.js';
import { checkStatus, Status } from './status.js';

const { i32, u32 } = frame;
const { HANDLE, STATUS } = Field;

export interface ImportOptions {
  /** false: the address is of a legacy `DLManagedTensor`. */
  versioned?: boolean;
}

const importNames: OptionNames<ImportOptions> = { versioned: true };

/**
 * Unsafe: takes ownership of the `DLManagedTensorVersioned` at an address. The address is trusted; what the struct holds
 * is checked, and when it is refused its deleter has been called.
 */
export function importManaged<D extends DType = DType>(address: bigint, options?: ImportOptions): Tensor<D> {
  if (typeof address !== 'bigint') throw new ArgumentTypeError('address', 'a bigint', address);
  const binding = native();
  if (options !== undefined) checkOptions(options, importNames, '{ versioned: false }');
  const isLegacy = options?.versioned === false; // a getter may run user code: before the frame is filled
  writeImport(address);
  if (isLegacy) binding.importLegacy();
  else binding.importVersioned();
  checkStatus();
  return new Tensor<D>(takeImport());
}

/** What a successful native call that knows no kinds left in the frame, as a descriptor that owns it. */
export function takeFrame(): Descriptor {
  forgetKind();
  return takeImport();
}

/** As {@link takeFrame}, after an import. */
export function takeImport(): Descriptor {
  return takeInto(new NativeStorage(u32[HANDLE] as number, readBytes(), false));
}

/** As {@link takeImport}, with a storage that was made for the handle in the frame. */
export function takeInto(storage: NativeStorage): Descriptor {
  if (!isKindKnown()) takeKind(storage);
  const descriptor = readDescriptor(storage);
  return isDebug() ? recorded(descriptor, storage) : descriptor;
}

function takeKind(storage: NativeStorage): void {
  try {
    readKind();
  } catch (error) {
    storage.release();
    throw error;
  }
}

function recorded(descriptor: Descriptor, storage: NativeStorage): Descriptor {
  storage.recorded();
  return descriptor;
}

/** The tensor in a type-tagged external, null when the value is none. */
export function importExternal(value: unknown): Descriptor | null {
  if (typeof value !== 'object' || value === null) return null;
  const binding = native();
  writeImport(0n);
  binding.importExternal(value);
  if (i32[STATUS] === Status.notExternal) return null;
  checkStatus();
  return takeImport();
}
