/**
 * Tensors over memory that a CUDA Array Interface, version 0 to 3, describes.
 *
 * An interface describes memory and keeps nothing alive. The producer names its stream, and the consumer waits for it.
 */

import { checkOptions, type OptionNames } from '../../base/options.js';
import { type Device, type DeviceInfo, deviceFromType, parseDevice } from '../../device.js';
import { type DType, type DTypeInfo, dtypeFromName } from '../../dtype.js';
import { ArgumentTypeError, BufferError, isA, isUsable, LayoutError } from '../../errors.js';
import { checkShape, rowMajorStrides, spanOf } from '../../layout.js';
import type { NativeStorage } from '../../native/memory/storage.js';
import { getBackend } from '../../storage/backend.js';
import { Descriptor, Flag } from '../../storage/descriptor.js';
import { type ArrayEntries, foreignLibrary } from '../../storage/foreign.js';
import { findLayout } from '../../storage/layouts.js';
import type { Storage } from '../../storage/storage.js';
import { Tensor } from '../../tensor.js';
import { descriptorOf, TensorView } from '../../view.js';
import { broadcastExtent } from '../../view-layout.js';
import type { Admitted } from '../binding.js';
import { parseCudaDevice } from '../devices.js';
import { cuda, driverError } from '../driver.js';
import { pointerAttributes } from '../memory/pointer.js';
import { type CudaArrayInterface, readEntries } from './array-entries.js';
import { elementsOf } from './typestr.js';

/** How an array is imported. */
export interface CudaArrayOptions {
  /**
   * The dtype of the elements, for type strings that do not define one. It must have the same size, such as
   * `'bfloat16'` for `'<V2'`, or be `'uint8'`, which adds a last axis with the bytes of each element. Without it,
   * such arrays are refused.
   */
  dtype?: DType;
  /** false: does not wait for the producer's stream. The default is true. */
  sync?: boolean;
  /** The device of an array without elements, whose address means nothing; `'cuda:0'` by default. */
  device?: Device;
}

const optionNames: OptionNames<CudaArrayOptions> = { dtype: true, sync: 'boolean', device: true };

/** An array and its mask, which marks the valid elements. */
export interface MaskedCudaArray {
  /** The elements. */
  readonly data: Tensor;
  /** Broadcasts to the shape of the data; null when all elements are valid. */
  readonly mask: Tensor | null;
}

/** Makes the storage of the tensor, which keeps the owner of the memory alive. */
type MakeStorage = (start: bigint, nbytes: number) => Storage;

interface Settings {
  readonly dtype: DType | undefined;
  readonly sync: boolean;
  readonly device: DeviceInfo | null;
}

const defaults: Settings = { dtype: undefined, sync: true, device: null };

/** Options are read before anything is held, because a getter may throw. */
function readOptions(options: CudaArrayOptions | undefined): Settings {
  if (options === undefined) return defaults;
  checkOptions(options, optionNames, '{ sync: false }');
  const { dtype, sync = true, device } = options;
  return { dtype, sync, device: device === undefined ? null : parseCudaDevice(device) };
}

/**
 * Unsafe: makes a Tensor over the memory that an interface describes. It keeps `owner` alive until its memory is
 * released. Without an owner the memory must outlive the tensor. The driver looks up the address, and all elements must
 * lie inside the allocation around it.
 *
 * @param description - The interface itself.
 * @param owner - What has to stay alive; nothing when absent.
 * @param options - As for `asCudaArray`.
 * @returns A tensor that shares the memory.
 * @throws As `asCudaArray` does.
 * @example
 * ```ts
 * import { Tensor } from 'dlpack';
 * import { fromCudaArrayInterface, toCudaArrayInterface } from 'dlpack/cuda';
 * const x = Tensor.zeros([2, 3], 'float32', { device: 'cuda:0' });
 * const y = fromCudaArrayInterface(toCudaArrayInterface(x), x);
 * console.log(y.shape, y.device); // [2, 3] cuda:0
 * ```
 */
export function fromCudaArrayInterface(
  description: CudaArrayInterface | object,
  owner?: unknown,
  options?: CudaArrayOptions,
): Tensor {
  const settings = readOptions(options);
  const foreign =
    typeof description === 'function' ? (foreignLibrary.objects?.readArray(description, true) ?? null) : null;
  // The Python object here is the dict, which does not own the memory.
  foreign?.drop();
  const entries = readEntries(foreign === null ? description : foreign.raw);
  refuseMask(entries);
  return new Tensor(describeArray(entries, settings, storageFor(owner)));
}

/**
 * Makes a Tensor over the memory of a JavaScript or Python object with `__cuda_array_interface__`, without a copy. It
 * keeps the object alive until its memory is released. The current stream of the device waits for the object's stream.
 *
 * @param object - The object.
 * @param options - The stream and more; the current stream when absent.
 * @returns A tensor that shares the object's memory.
 * @throws ArgumentTypeError or ArgumentValueError for a wrong interface, LayoutError for elements outside of the
 *   allocation, and BufferError for one with a mask.
 * @example
 * ```ts
 * import { Tensor } from 'dlpack';
 * import { asCudaArray } from 'dlpack/cuda';
 * const x = Tensor.zeros([2, 3], 'float32', { device: 'cuda:0' }); // or an array of CuPy or Numba
 * console.log(asCudaArray(x).shape); // [2, 3]
 * ```
 */
export function asCudaArray(object: object, options?: CudaArrayOptions): Tensor {
  return new Tensor(takeArray(object, options));
}

function takeArray(object: object, options?: CudaArrayOptions): Descriptor {
  if (options === undefined && typeof object === 'function') {
    cuda(); // throws without a driver
    const taken = foreignLibrary.objects?.takeArray(object);
    if (taken) return taken;
  }
  const settings = readOptions(options);
  return useArray(object, (entries, makeStorage) => {
    refuseMask(entries);
    return describeArray(entries, settings, makeStorage);
  });
}

/**
 * Makes tensors of an array that may have a mask, as {@link asCudaArray} does of one without.
 *
 * @param object - The object.
 * @param options - As for `asCudaArray`.
 * @returns A tensor that shares the object's memory, and one for its mask; null without a mask.
 * @throws As `asCudaArray` does.
 * @example
 * ```ts
 * import { Tensor } from 'dlpack';
 * import { asMaskedCudaArray } from 'dlpack/cuda';
 * const { data, mask } = asMaskedCudaArray(Tensor.zeros([2], 'float32', { device: 'cuda:0' }));
 * console.log(data.shape, mask); // [2] null
 * ```
 */
export function asMaskedCudaArray(object: object, options?: CudaArrayOptions): MaskedCudaArray {
  const settings = readOptions(options);
  return useArray(object, (entries, makeStorage) => {
    const data = new Tensor(describeArray(entries, settings, makeStorage));
    let mask: Tensor | null = null;
    try {
      if (entries.mask !== null) mask = asCudaArray(entries.mask as object, { sync: settings.sync });
      if (mask !== null) broadcastExtent(descriptorOf(mask).extent, data.shape);
      return { data, mask };
    } catch (error) {
      mask?.dispose();
      data.dispose();
      throw error;
    }
  });
}

/** Reads the interface of an object and calls `use` with it and with a function that keeps the object. */
function useArray<T>(object: object, use: (entries: ArrayEntries, makeStorage: MakeStorage) => T): T {
  const foreign = typeof object === 'function' ? (foreignLibrary.objects?.readArray(object, false) ?? null) : null;
  if (foreign === null) {
    const isReadable = isA(object, Function) || isUsable(object);
    const description = isReadable
      ? (object as { __cuda_array_interface__?: unknown }).__cuda_array_interface__
      : undefined;
    if (description === undefined) {
      const where = isA(object, TensorView)
        ? `, which a tensor on '${object.device}' does not have; copy it with to('cuda:0'),`
        : '';
      throw new ArgumentTypeError('object', `an object with __cuda_array_interface__${where}`, object);
    }
    return use(readEntries(description), storageFor(object));
  }
  let isHeld = false;
  const makeStorage: MakeStorage = (_start, nbytes) => {
    isHeld = true;
    return foreign.makeStorage(nbytes);
  };
  try {
    return use(readEntries(foreign.raw), makeStorage);
  } finally {
    if (!isHeld) foreign.drop();
  }
}

/** The function refers to the owner and so keeps it alive. */
const keep = (owner: unknown) => (): unknown => owner;

function storageFor(owner: unknown): MakeStorage {
  return (start, nbytes) => {
    const backend = getBackend();
    if (backend === null) throw new BufferError('Expected native code for memory at an address but there is none here');
    return backend.importAddress(start, nbytes, keep(owner));
  };
}

function refuseMask({ mask }: ArrayEntries): void {
  if (mask === null) return;
  throw new BufferError(
    'Expected an array whose elements are all valid but it has a mask; take both with asMaskedCudaArray()',
  );
}

// The two halves of an address, because bigint arithmetic costs more than the other checks.
const words = new BigUint64Array(1);
const halves = new Uint32Array(words.buffer);

function describeArray(entries: ArrayEntries, settings: Settings, makeStorage: MakeStorage): Descriptor {
  const { dtype, bytes } = elementsOf(entries.typestr, settings.dtype);
  const outer = checkShape(entries.shape);
  const { shape, strides } =
    bytes === null
      ? { shape: outer, strides: stridesOf(entries.strides, outer, dtype) }
      : byteAxes(outer, entries.strides, bytes);
  const flags = entries.isReadOnly ? Flag.readonly : 0;
  const span = spanOf(shape, strides);
  if (span === null) {
    const device = emptyDevice(entries.pointer, settings.device);
    return new Descriptor(makeStorage(0n, 0), findLayout(dtype, device, shape, strides, flags), 0);
  }
  const low = (span.low * dtype.itemBits) / 8;
  const high = Math.ceil(((span.high + 1) * dtype.itemBits) / 8);
  const { pointer } = entries;
  if (!Number.isSafeInteger(high - low)) {
    throw new LayoutError(
      `Expected at most 2^53 - 1 bytes but shape [${shape.join(', ')}] exceeds that`,
      shape,
      strides,
    );
  }
  words[0] = pointer;
  const lowWord = halves[0] as number;
  if ((halves[1] === 0 && lowWord < 4096) || (low < 0 && pointer + BigInt(low) < 4096n)) {
    const received = pointer === 0n ? 'NULL' : `address ${pointer}`;
    throw new LayoutError(`Expected memory for shape [${shape.join(', ')}] but data is ${received}`, shape, strides);
  }
  if (lowWord % dtype.alignment !== 0) {
    throw new BufferError(
      `Expected an address aligned to ${dtype.alignment} bytes for ${dtype.name} but received ${pointer}; ask the producer for a copy`,
    );
  }
  const binding = cuda();
  const storage = makeStorage(low === 0 ? pointer : pointer + BigInt(low), high - low);
  try {
    const stream = settings.sync && entries.stream !== null ? entries.stream : 0n;
    const answer = binding.admit((storage as NativeStorage).handle, pointer, low, high, stream);
    // Not take(), because formatting the address costs as much as the call.
    if (typeof answer === 'number')
      throw driverError(answer, `memory at ${pointer} whose maker's stream can be waited for`);
    const [deviceType, deviceId, isInside] = answer;
    if (!isInside) throw refused(answer, pointer, low, high, shape, strides);
    const layout = findLayout(dtype, deviceFromType(deviceType, deviceId), shape, strides, flags);
    return new Descriptor(storage, layout, -low * 8);
  } catch (error) {
    storage.release();
    throw error;
  }
}

/** The error for an array whose elements do not lie inside an allocation. */
function refused(
  [deviceType, , , start, size]: Admitted,
  pointer: bigint,
  low: number,
  high: number,
  shape: readonly number[],
  strides: readonly number[],
): BufferError | LayoutError {
  if (deviceType === 0) {
    return new BufferError(
      `Expected memory that the CUDA driver knows but it does not know address ${pointer}; was it freed, or is it host memory?`,
    );
  }
  const end = start + size;
  return new LayoutError(
    `Expected elements inside the allocation from ${start} to ${end} but shape [${shape.join(', ')}] with strides ` +
      `[${strides.join(', ')}] reaches from ${pointer + BigInt(low)} to ${pointer + BigInt(high)}`,
    shape,
    strides,
  );
}

const uint8 = dtypeFromName('uint8');

/** Converts strides to elements. Does not check the strides of length-one axes, which versions 0 and 1 leave open. */
function stridesOf(inBytes: readonly number[] | null, shape: readonly number[], dtype: DTypeInfo): readonly number[] {
  const { itemBits } = dtype;
  const rowMajor = rowMajorStrides(shape);
  if (inBytes === null) return rowMajor;
  if (inBytes.length !== shape.length) {
    throw new LayoutError(
      `Expected ${shape.length} strides for shape [${shape.join(', ')}] but received ${inBytes.length}`,
      shape,
      inBytes,
    );
  }
  if (shape.includes(0)) return rowMajor;
  return shape.map((length, axis) => {
    const step = ((inBytes[axis] as number) * 8) / itemBits;
    if (length === 1) return Number.isSafeInteger(step) ? step + 0 : (rowMajor[axis] as number);
    if (!Number.isSafeInteger(step) || itemBits % 8 !== 0) {
      throw new LayoutError(
        `Expected strides that are multiples of ${itemBits / 8} bytes for ${dtype.name} but axis ${axis} has ${inBytes[axis]}; ` +
          'pass { dtype: "uint8" } for the bytes of the elements, or ask the producer for a copy',
        shape,
        inBytes,
      );
    }
    return step + 0; // a quotient can be -0
  });
}

/** Adds a last axis with the bytes of each element. Strides between elements may be any number of bytes. */
function byteAxes(shape: readonly number[], inBytes: readonly number[] | null, bytes: number) {
  const all = checkShape([...shape, bytes]);
  if (inBytes === null) return { shape: all, strides: rowMajorStrides(all) };
  return { shape: all, strides: [...stridesOf(inBytes, shape, uint8), 1] };
}

/** The device of an array without elements: the wanted device, else the device of its address, else `'cuda:0'`. */
function emptyDevice(pointer: bigint, wanted: DeviceInfo | null): DeviceInfo {
  const known = wanted === null && pointer >= 4096n ? pointerAttributes(pointer) : null;
  return wanted ?? parseDevice(known?.device ?? 'cuda:0');
}
