/** Exports tensors as managed tensors, and the table of the C exchange API. */

import { checkOptions, type OptionNames } from '../../base/options.js';
import { isAddressable } from '../../device.js';
import { ArgumentTypeError, ArgumentValueError, adviceFor, BufferError, UnsupportedDeviceError } from '../../errors.js';
import { MAX_NDIM } from '../../layout.js';
import { isDebug, recordExport } from '../../storage/debug.js';
import type { Descriptor } from '../../storage/descriptor.js';
import { BufferStorage, cannotKeep, type Storage } from '../../storage/storage.js';
import { copyDescriptor } from '../../values/copy.js';
import { descriptorOf, sharedDescriptorOf, TensorView } from '../../view.js';
import { native } from '../load/load.js';
import { pinBuffer } from '../memory/pin-buffer.js';
import { NativeStorage } from '../memory/storage.js';
import { isPinnable } from '../memory/threads.js';
import { Status } from '../wire/constants.js';
import { errorOfTensor } from '../wire/status.js';
import { writeTensor } from '../wire/tensor.js';
import { enter, leave } from '../wire/wire.js';
import { ExportRequest, WireHeader } from '../wire/wire-layout.js';
import { reportCopy } from './report-copy.js';

/** Which struct is made, and whether the elements are copied. */
export interface ExportOptions {
  /** false: exports a legacy `DLManagedTensor`, which cannot carry flags. The default is true. */
  versioned?: boolean;
  /** true: always copy; false: never copy, throw instead; null (default): copy only memory that native code cannot keep. */
  copy?: boolean | null;
}

const exportNames: OptionNames<ExportOptions> = { versioned: 'boolean', copy: 'boolean or null' };

/**
 * Unsafe: makes a managed tensor that the caller owns and returns its address. Its deleter is plain C and must be
 * called exactly once, on any thread, by the consumer or by {@link releaseManaged}.
 *
 * @param tensor - The tensor. It may be disposed before the managed tensor is released.
 * @param options - The struct (`versioned`, true when absent) and whether to copy (`copy`; when absent, only memory
 *   that native code cannot keep).
 * @returns The address of a `DLManagedTensorVersioned`, or of a `DLManagedTensor` with `versioned: false`. It shares
 *   the memory of the tensor, or has a copy.
 * @throws ArgumentTypeError for anything but a tensor, and DisposedError for one that was disposed.
 * @throws BufferError if `copy: false` forbids a copy that is needed, or the legacy struct cannot describe the tensor.
 * @throws OutOfMemoryError if there is not enough memory, and LoadError without the native part.
 * @example
 * ```ts
 * import { Tensor } from 'dlpack';
 * import { exportManaged, importManaged } from 'dlpack/native';
 * const x = Tensor.from([1, 2, 3]);
 * const address = exportManaged(x); // DLManagedTensorVersioned*, for C
 * const y = importManaged(address); // takes it over, as C would
 * console.log(y.sharesMemory(x)); // true
 * ```
 */
export function exportManaged(tensor: TensorView, options?: ExportOptions): bigint {
  const source = checkTensor(tensor, sharedDescriptorOf);
  if (options !== undefined) checkOptions(options, exportNames, '{ copy: false }');
  const copy = options?.copy ?? null;
  const isVersioned = options?.versioned !== false;
  if (!isVersioned) checkLegacy(source, copy);
  return withMemory(source, copy, isVersioned ? exportVersioned : exportLegacy);
}

const EXPORT_WORDS = ExportRequest.WORDS + 2 * MAX_NDIM;

function exportVersioned(source: Descriptor): bigint {
  const slot = enter(EXPORT_WORDS);
  try {
    writeExport(slot, source);
    native().exportVersioned();
    return readExport(slot);
  } finally {
    leave(slot);
  }
}

function exportLegacy(source: Descriptor): bigint {
  const slot = enter(EXPORT_WORDS);
  try {
    writeExport(slot, source);
    native().exportLegacy();
    return readExport(slot);
  } finally {
    leave(slot);
  }
}

/** Writes a request with a tensor in native memory. */
function writeExport(slot: number, source: Descriptor): void {
  const trace = isDebug() ? recordExport(source) : 0;
  writeTensor(ExportRequest.tensorAt(slot), source, (source.storage as NativeStorage).handle, trace);
  WireHeader.setSlot(slot);
}

/** The resulting address. Throws the error of the request. */
function readExport(slot: number): bigint {
  const status = ExportRequest.status(slot);
  if (status !== Status.ok) throw errorOfTensor(status, ExportRequest.tensorAt(slot));
  return ExportRequest.address(slot);
}

/**
 * Unsafe: calls the deleter of a managed tensor that the caller owns, if no consumer took it.
 *
 * @param address - From {@link exportManaged}, or of any other managed tensor. It is trusted.
 * @param options - `versioned: false` for a legacy `DLManagedTensor`; a `DLManagedTensorVersioned` when absent.
 * @throws ArgumentTypeError for an address that is no bigint, and ArgumentValueError for NULL.
 * @throws LoadError without the native part.
 * @example
 * ```ts
 * import { Tensor } from 'dlpack';
 * import { exportManaged, releaseManaged } from 'dlpack/native';
 * releaseManaged(exportManaged(Tensor.from([1, 2, 3])));
 * ```
 */
export function releaseManaged(address: bigint, options?: { versioned?: boolean }): void {
  if (typeof address !== 'bigint') throw new ArgumentTypeError('address', 'a bigint', address);
  const binding = native();
  if (options !== undefined) checkOptions(options, { versioned: 'boolean' }, '{ versioned: false }');
  const isLegacy = options?.versioned === false;
  const isDone = isLegacy ? binding.deleteLegacy(address) : binding.deleteVersioned(address);
  if (!isDone) throw new ArgumentValueError('address', 'the address of a managed tensor', address);
}

/** A type-tagged external; null for memory that native consumers could not keep, unless they may get a copy. */
export function exportExternal(descriptor: Descriptor, mayCopy: boolean): unknown {
  if (!mayCopy && placeOf(descriptor) === 'copy') return null;
  return withMemory(descriptor, mayCopy ? null : false, (ready) => {
    const slot = enter(EXPORT_WORDS);
    try {
      writeExport(slot, ready);
      const external = native().exportExternal();
      readExport(slot);
      return external;
    } finally {
      leave(slot);
    }
  });
}

/**
 * Returns the address of the `DLPackExchangeAPI` table of this process. It has an allocator for host tensors and the
 * current stream of host memory. It lives as long as the process. Its conversions from and to Python objects fail until
 * an interpreter is attached.
 *
 * @returns The address of the C struct.
 * @throws LoadError without the native part.
 * @example
 * ```ts
 * import { exchangeApi } from 'dlpack/native';
 * console.log(typeof exchangeApi()); // bigint
 * ```
 */
export function exchangeApi(): bigint {
  return native().exchangeApi();
}

/**
 * Returns the address of the first element. For JavaScript memory it is valid until control returns to the event loop.
 * Memory of Metal and of other devices that know objects instead of addresses has none.
 *
 * @param tensor - The tensor, in memory of the host or of a device.
 * @returns The address. It keeps nothing alive.
 * @throws ArgumentTypeError for anything but a tensor, and DisposedError for one that was disposed.
 * @throws UnsupportedDeviceError for memory that has no addresses.
 * @throws BufferError for JavaScript memory that native code cannot reach, and LoadError without the native part.
 * @example
 * ```ts
 * import { Tensor } from 'dlpack';
 * import { addressOf } from 'dlpack/native';
 * const x = Tensor.from([1, 2, 3], { dtype: 'float32' });
 * console.log(addressOf(x.slice(1)) - addressOf(x)); // 4n
 * ```
 */
export function addressOf(tensor: TensorView): bigint {
  const descriptor = checkTensor(tensor);
  const { name } = descriptor.device;
  if (!isAddressable(descriptor.device)) {
    throw new UnsupportedDeviceError(
      name,
      `Expected memory that has addresses but this tensor is on ${name}, where data is an object of the driver; exportManaged() has the object and the byte offset`,
    );
  }
  return storageAddress(descriptor.storage) + BigInt(Math.floor(descriptor.bitOffset / 8));
}

/** The address of byte 0 of a storage. */
export function storageAddress(storage: Descriptor['storage']): bigint {
  if (storage instanceof NativeStorage) return storage.address;
  const pinned = pinBuffer(storage.buffer(), storage.start, storage.nbytes);
  try {
    return pinned.address;
  } finally {
    pinned.release();
  }
}

export function checkTensor(tensor: TensorView, read = descriptorOf): Descriptor {
  let isView = false;
  try {
    isView = tensor instanceof TensorView;
  } catch {} // a revoked proxy
  if (!isView) throw new ArgumentTypeError('tensor', 'a Tensor', tensor, adviceFor(tensor));
  return read(tensor);
}

function checkLegacy(source: Descriptor, copy: boolean | null): void {
  if (source.isReadOnly && copy !== true) {
    throw new BufferError(
      'Expected a writable tensor for a legacy DLManagedTensor, which cannot say that it is read-only; ask for a versioned one, or for a copy',
    );
  }
  if (source.dtype.isSubByte && source.isPadded) {
    throw new BufferError(
      `Expected packed ${source.dtype.name} elements for a legacy DLManagedTensor, which cannot say that they are padded; ask for a versioned one`,
    );
  }
}

/** How native code can keep the memory: `native` memory as is, a JavaScript buffer with a `pin`, or only a `copy`. */
export function placeOf({ storage, bitOffset }: Descriptor): 'native' | 'pin' | 'copy' {
  if ((bitOffset & 7) !== 0) return 'copy';
  return storage instanceof NativeStorage && !storage.endsWithWorker ? 'native' : placeOfBuffer(storage);
}

function placeOfBuffer(storage: Storage): 'pin' | 'copy' {
  return storage instanceof BufferStorage && isPinnable(storage.buffer()) ? 'pin' : 'copy';
}

/** Runs `use` with the tensor in memory that native code may keep: the tensor itself, or a temporary. */
export function withMemory<T>(source: Descriptor, copy: boolean | null, use: (ready: Descriptor) => T): T {
  const ready = inNativeMemory(source, copy);
  if (ready === source) return use(source);
  try {
    return use(ready);
  } finally {
    ready.storage.release();
  }
}

/** The tensor in memory that native code may keep: the tensor itself, or a temporary that the caller releases. */
export function inNativeMemory(source: Descriptor, copy: boolean | null): Descriptor {
  const place = copy === true ? 'copy' : placeOf(source);
  if (place === 'native') return source;
  if (place === 'copy' && copy === false) throw cannotKeep('(copy: false)');
  const { storage } = source;
  if (place === 'copy' && copy === null && isDebug()) reportCopy(source);
  return place === 'copy'
    ? copyDescriptor(source)
    : source.withStorage(pinBuffer(storage.buffer(), storage.start, storage.nbytes));
}
