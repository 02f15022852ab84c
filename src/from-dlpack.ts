/** The consumer side of the JavaScript protocol: `fromDLPack`. */

import { checkOptions, type OptionNames } from './base/options.js';
import { type StreamLike, streamHandle } from './base/stream.js';
import {
  type DeviceArgument,
  type DeviceInfo,
  deviceFromType,
  deviceOfGPU,
  gpuDeviceOf,
  parseDevice,
} from './device.js';
import { type DType, type DTypeInfo, dtypeFromCode } from './dtype.js';
import {
  ArgumentTypeError,
  BufferError,
  checkCount,
  ForeignError,
  isDLPackError,
  LayoutError,
  MisalignedError,
  textOf,
  UnsupportedDeviceError,
  VersionError,
} from './errors.js';
import { adaptObject } from './protocol/adapters.js';
import { recordConsumed, releaseOf } from './protocol/deleter.js';
import { checkArray, isVersion, readFlags } from './protocol/fields.js';
import {
  DLPACK,
  DLPACK_DEVICE,
  DLPACK_VERSION,
  type DLPackProducer,
  type DLPackRequest,
  type DLPackSource,
  type ForeignProducer,
  type ManagedTensor,
  type OpaqueProducer,
} from './protocol/managed.js';
import { type Expected, expectTaken, type TensorSpec } from './spec.js';
import { getBackend } from './storage/backend.js';
import { Descriptor, Flag } from './storage/descriptor.js';
import { consumerStream, getDeviceBackend, hasDeviceBackend } from './storage/device-backend.js';
import { type ForeignRequest, foreignLibrary } from './storage/foreign.js';
import { checkLayout, findLayout } from './storage/layouts.js';
import {
  afterError,
  BufferStorage,
  bufferLength,
  type GPUBufferLike,
  GpuStorage,
  isImmutable,
  releaseOnError,
  type Storage,
} from './storage/storage.js';
import { bufferOfMemory, isWasmMemory, WasmStorage } from './storage/wasm-storage.js';
import { shareDescriptor, Tensor } from './tensor.js';
import { copyMisaligned } from './values/copy.js';
import { sharedDescriptorOf, TensorView } from './view.js';

/** What an import asks of the producer. */
export interface FromDLPackOptions {
  /** The target device. When absent, the tensor stays on the producer's device. */
  device?: DeviceArgument;
  /** true: always copy; false: never copy, throw instead; null (default): copy only when needed. */
  copy?: boolean | null;
  /** The stream that will use this tensor, for devices that have streams. The default is the current stream. */
  stream?: StreamLike | bigint | null;
  /** The dtype that the tensor must have, or a list of accepted dtypes; any when absent. The type of the result follows it. */
  dtype?: DType | readonly DType[];
  /** The length that each axis must have; null for any length. Any shape when absent. */
  shape?: readonly (number | null)[];
}

const optionNames: OptionNames<FromDLPackOptions> = {
  device: true,
  copy: 'boolean or null',
  stream: true,
  dtype: true,
  shape: true,
};

/** Import options that say nothing about the dtype or the shape. */
export type UncheckedOptions = FromDLPackOptions & {
  /** Absent: any dtype. */
  dtype?: undefined;
  /** Absent: any shape. */
  shape?: undefined;
};

/**
 * Takes the memory of another library's tensor as a Tensor, without a copy.
 *
 * Accepts anything with a `[Symbol.for('dlpack')]` or `__dlpack__` method, and a type-tagged native external. With
 * `dtype` or `shape` it throws a `SpecError` for another tensor, and the compiler knows them.
 *
 * @param source - A tensor of this package, an object with `[Symbol.for('dlpack')]` or `__dlpack__`, or a native
 *   external.
 * @param options - The device, whether to copy, the stream, and the dtype and shape that you expect. When absent: the
 *   producer's device, and a copy only where sharing is impossible.
 * @returns A tensor over the same memory, or a copy if one was asked for or needed. It is an owner: dispose it.
 * @throws ArgumentTypeError if the source exports no tensor, and ForeignError if its managed tensor cannot be read. What
 *   the producer's method throws passes unchanged.
 * @throws BufferError if `copy: false` forbids a copy that is needed, or the producer marks memory that cannot be used.
 * @throws SpecError if the dtype or the shape is another than expected.
 * @throws ConsumedError if the source was taken before, and VersionError if it has another major version of DLPack.
 * @throws UnsupportedDeviceError for a device that this process cannot reach.
 * @example
 * ```ts
 * import { fromDLPack, Tensor } from 'dlpack';
 * const x = Tensor.from([1, 2, 3]);
 * const y = fromDLPack(x, { dtype: 'float64', shape: [3] }); // as with a tensor of any other library
 * y.set(0, 9);
 * console.log(x.get(0)); // 9
 * ```
 */
export function fromDLPack<T extends Tensor>(
  source: T,
  options?: UncheckedOptions,
  // A source that is `any`, such as a Python object, may have any dtype.
): 0 extends 1 & T ? Tensor : Tensor<T['dtype']>;
export function fromDLPack<T extends object>(
  source: OpaqueProducer<T> | DLPackSource,
  options?: UncheckedOptions,
): Tensor;
export function fromDLPack<const S extends Pick<TensorSpec, 'dtype' | 'shape'>, T extends object>(
  source: OpaqueProducer<T> | DLPackSource,
  options: FromDLPackOptions & S,
): Expected<Tensor, S>;
export function fromDLPack(source: unknown, options?: FromDLPackOptions): Tensor {
  // Our own tensors share the storage, so no managed tensor is needed.
  if (options === undefined || options === null) {
    // Python objects are functions to JavaScript. `instanceof` would call Python for their prototype, so avoid it.
    if (typeof source === 'function') {
      const foreign = takeForeign(source, null);
      if (foreign !== null) return new Tensor(foreign);
    } else if (source instanceof Tensor && source[DLPACK] === ownExport) {
      return shareDescriptor(sharedDescriptorOf(source));
    }
  }
  return fromProducer(source, options ?? null);
}

function fromProducer(source: unknown, options: FromDLPackOptions | null): Tensor {
  if (options !== null) checkOptions(options, optionNames, '{ copy: true }');
  const place = options?.device; // read once, because getters may return different values
  const device = place === undefined ? null : parseDevice(place);
  const copy = options?.copy ?? null;
  const descriptor = takeSource(source, device, copy, streamHandle(options?.stream));
  const tensor = new Tensor(descriptor);
  if (device !== null && descriptor.device !== device) {
    const but = `the producer sent one on '${descriptor.device.name}'`;
    throw refused(tensor, `Expected a tensor on '${device.name}' but ${but}`);
  }
  if (copy === false && tensor.isCopied) {
    const but = 'the producer sent a tensor that is marked as a copy';
    throw refused(tensor, `Expected the memory itself (copy: false) but ${but}`);
  }
  // The producer can ignore the request (NumPy and PyTorch would not notice), so copy here.
  const taken = copy === true && !tensor.isCopied ? copyOf(tensor) : tensor;
  return options === null ? taken : expectTaken(taken, options);
}

/** The error for a tensor that the caller did not ask for. Releases it. */
function refused(tensor: Tensor, message: string): unknown {
  return afterError(new BufferError(message), () => tensor.dispose());
}

/** A copy of a tensor that nothing else needs. */
export function copyOf(tensor: Tensor): Tensor {
  try {
    return tensor.copy();
  } finally {
    tensor.dispose();
  }
}

const ownExport = Tensor.prototype[DLPACK];

/** The tensor of a Python object, or null for any other function. Misaligned memory is copied if allowed. */
function takeForeign(source: object, request: ForeignRequest | null): Descriptor | null {
  const { objects } = foreignLibrary;
  if (objects === null) return null;
  try {
    return objects.take(source, request);
  } catch (error) {
    if (!(error instanceof MisalignedError) || (request !== null && request.copy !== null)) throw error;
    return objects.take(source, { device: null, stream: null, ...request, copy: true });
  }
}

/** The tensor of a source that is not a Tensor of this package. The caller owns it. */
export function takeSource(
  source: unknown,
  device: DeviceInfo | null = null,
  copy: boolean | null = null,
  stream: bigint | null = null,
): Descriptor {
  // Python objects are callable, so they are functions to JavaScript.
  if (typeof source === 'function') {
    const isPlain = copy === null && device === null && stream === null;
    const foreign = takeForeign(source, isPlain ? null : { copy, device, stream });
    if (foreign !== null) return foreign;
  }
  const adapted = adaptObject(source, copy);
  if (adapted === null) return askProducer(source, device, copy, stream);
  if (device === null || device === adapted.device) return adapted;
  const tensor = new Tensor(adapted);
  try {
    return askProducer(tensor, device, copy, stream);
  } finally {
    tensor.dispose();
  }
}

/** Sends one protocol request and takes the result. */
function askProducer(
  source: unknown,
  device: DeviceInfo | null,
  copy: boolean | null,
  stream: bigint | null,
): Descriptor {
  const backend = getBackend();
  const wanted = device === null ? null : { type: device.type, id: device.id };
  const named = stream ?? streamFor(source, device);
  const offered = ask(source, {
    maxVersion: DLPACK_VERSION,
    device: wanted,
    gpuDevice: device === null ? null : gpuDeviceOf(device),
    copy,
    stream: named,
    native: backend !== null,
    memory: true,
  });
  // An external has no properties. Asking native code takes longer than the rest of an exchange.
  const external = isManaged(offered) ? null : backend?.importExternal(offered, copy);
  return followed(external ?? consume(offered, source, copy), named);
}

/** An object with a deleter counts even if the rest is missing, because somebody has to call it. */
function isManaged(offered: unknown): offered is ManagedTensor {
  if (typeof offered !== 'object' || offered === null) return false;
  return ('version' in offered && 'data' in offered) || 'deleter' in offered;
}

/** Records that the producer made the data ready for this stream. */
function followed(descriptor: Descriptor, stream: bigint | null): Descriptor {
  if (!descriptor.device.isHostAccessible) {
    releaseOnError(descriptor, () => getDeviceBackend(descriptor.device)?.follow(descriptor, stream));
  }
  return descriptor;
}

/** The stream on which this thread will use the tensor; null where no device backend knows the device. */
function streamFor(source: unknown, device: DeviceInfo | null): bigint | null {
  if (!hasDeviceBackend()) return null;
  if (device !== null) return consumerStream(device);
  const producer = source as Partial<DLPackProducer & ForeignProducer> | null;
  if (typeof producer?.[DLPACK_DEVICE] === 'function') {
    const { type, id } = producer[DLPACK_DEVICE]();
    return consumerStream(deviceFromType(type, id));
  }
  if (typeof producer?.__dlpack_device__ !== 'function') return null;
  const named = producer.__dlpack_device__();
  const [type = -1, id = -1] = 'type' in named ? [named.type, named.id] : named;
  return consumerStream(deviceFromType(type, id));
}

/** The producer's answer. A source without a method is perhaps a native external, which has no properties at all. */
function ask(source: unknown, request: DLPackRequest): unknown {
  const producer = source as Partial<DLPackProducer & ForeignProducer> | null | undefined;
  const method = producer?.[DLPACK];
  if (typeof method === 'function') return Reflect.apply(method, producer, [request]);
  return typeof producer?.__dlpack__ === 'function' ? producer.__dlpack__(request) : source;
}

function notProducer(source: unknown): ArgumentTypeError {
  const expected =
    source instanceof TensorView
      ? 'a Tensor (a TensorView does not own its memory; copy it with Tensor.from)'
      : ArrayBuffer.isView(source) || bufferLength(source) !== null
        ? 'a tensor (for a typed array or buffer use Tensor.wrap, adopt or from)'
        : Array.isArray(source)
          ? 'a tensor (for an array of values use Tensor.from)'
          : `an object with a [Symbol.for("dlpack")] or __dlpack__ method (${hintFor(source)})`;
  return new ArgumentTypeError('source', expected, source);
}

function hintFor(source: unknown): string {
  if (typeof source === 'bigint') return 'for an address use importManaged of dlpack/native';
  if (source instanceof Promise) return 'await a promise first';
  return typeof source === 'object' && source !== null && '__cuda_array_interface__' in source
    ? 'for an object with __cuda_array_interface__ use asCudaArray of dlpack/cuda'
    : 'for tensors of other libraries see dlpack/adapters; for an object with an array of values use Tensor.wrap(values, { shape })';
}

/** Takes over a managed tensor. If anything fails after that, the deleter is still called exactly once. */
function consume(managed: unknown, source: unknown, copy: boolean | null): Descriptor {
  if (!isManaged(managed)) {
    if (Object.is(managed, source)) throw notProducer(source);
    throw new ArgumentTypeError('source', 'a producer that returns a ManagedTensor (docs/spec.md)', managed);
  }
  let release: (() => void) | undefined;
  try {
    const { deleter } = managed;
    if (deleter != null) release = releaseOf(managed, deleter);
    return describeManaged(managed, release, copy);
  } catch (error) {
    throw afterError(readError(error), () => release?.());
  }
}

/** The typed error for what was thrown while a managed tensor was read: perhaps an error of its getters. */
function readError(error: unknown): unknown {
  if (isDLPackError(error)) return error;
  const text = `Expected a readable ManagedTensor but reading it failed: ${textOf(error)}`;
  return new ForeignError('producer', text, { cause: error });
}

/** Reads each field once, so a getter that later returns something else changes nothing. */
function describeManaged(managed: ManagedTensor, release: (() => void) | undefined, copy: boolean | null): Descriptor {
  const { version } = managed;
  if (!isVersion(version)) throw new ArgumentTypeError('version', '[major, minor]', version);
  if (version[0] !== DLPACK_VERSION[0]) throw new VersionError([version[0], version[1]], DLPACK_VERSION);
  const {
    flags: offeredFlags,
    data,
    byteOffset,
    shape: offeredShape,
    strides: offeredStrides,
    dtype: offeredDType,
    device: offeredDevice,
  } = managed;
  const flags = readFlags(offeredFlags) | (isImmutable(data) ? Flag.readonly : 0);
  // Without a deleter nothing can be released twice. But a copy belongs to one consumer.
  if (release === undefined && (flags & Flag.isCopied) !== 0) recordConsumed(managed);
  const dtype = dtypeFromCode(offeredDType.code, offeredDType.bits, offeredDType.lanes);
  const device = deviceFromType(offeredDevice.type, offeredDevice.id);
  checkArray(offeredShape, 'shape');
  if (offeredStrides != null) checkArray(offeredStrides, 'strides');
  const layout = checkLayout(dtype, device, offeredShape, offeredStrides ?? null, flags);
  checkCount(byteOffset, 'byteOffset');

  if (typeof data === 'bigint') {
    if (device.kind === 'webgpu') {
      throw new UnsupportedDeviceError(device.name, 'Expected a GPUBuffer on WebGPU but received an address');
    }
    // Make a storage over exactly the bytes that the elements occupy.
    const low = Math.floor(layout.reach.low / 8);
    const high = Math.ceil(layout.reach.high / 8);
    const first = data + BigInt(byteOffset);
    const isAligned = layout.size === 0 || first % BigInt(dtype.alignment) === 0n;
    if (!isAligned && copy === false) throw misaligned(dtype, `the address is ${first}`);
    const storage = addressStorage(first + BigInt(low), high - low, release);
    const descriptor = new Descriptor(storage, layout, -low * 8);
    return releaseOnError(storage, () => aligned(descriptor, isAligned));
  }
  const isMemory = isWasmMemory(data);
  const nbytes = bufferLength(isMemory ? bufferOfMemory(data) : data);
  if (nbytes !== null) {
    if (!device.isHostAccessible) {
      throw new UnsupportedDeviceError(
        device.name,
        `Expected a host device with a buffer but received '${device.name}'`,
      );
    }
    // The caller releases the memory after an error, because a buffer needs nothing but its deleter.
    const storage = isMemory
      ? new WasmStorage(data, 0, nbytes, release)
      : new BufferStorage(data as ArrayBufferLike, 0, nbytes, release);
    const descriptor = new Descriptor(storage, layout, byteOffset * 8).checkReach();
    if (layout.size === 0) return new Descriptor(storage, layout, 0); // alignment does not count
    const { isAligned } = descriptor;
    if (!isAligned && copy === false) throw misaligned(dtype, `byteOffset is ${byteOffset}`);
    return aligned(descriptor, isAligned);
  }
  if (typeof data === 'object' && data !== null && 'gpuBuffer' in data && 'gpuDevice' in data) {
    if (device.kind !== 'webgpu') {
      throw new UnsupportedDeviceError(
        device.name,
        `Expected device 'webgpu' with a GPUBuffer but received '${device.name}'`,
      );
    }
    const { gpuBuffer, gpuDevice } = data;
    if (typeof gpuDevice !== 'object' || gpuDevice === null) {
      throw new ArgumentTypeError('gpuDevice', 'the GPUDevice of the GPUBuffer', gpuDevice);
    }
    const storage = new GpuStorage(gpuBuffer as GPUBufferLike, gpuDevice, Number(gpuBuffer.size), release);
    // The number that was sent is the producer's. Here the GPUDevice itself determines the number.
    const own = deviceOfGPU(gpuDevice);
    const { shape, strides } = layout;
    const descriptor = new Descriptor(storage, findLayout(dtype, own, shape, strides, flags), byteOffset * 8);
    // Without elements, alignment does not count.
    return releaseOnError(storage, () => (layout.size === 0 ? descriptor.checkReach() : descriptor.checkBounds()));
  }
  throw new ArgumentTypeError(
    'data',
    'an ArrayBuffer, a WebAssembly.Memory, { gpuBuffer, gpuDevice } or a bigint address',
    data,
  );
}

function misaligned({ alignment, name }: DTypeInfo, but: string): BufferError {
  return new BufferError(`Expected ${name} data at a multiple of ${alignment} bytes (copy: false) but ${but}`);
}

/** The tensor itself, or an aligned copy when its elements are misaligned for the dtype. */
function aligned(descriptor: Descriptor, isAligned: boolean): Descriptor {
  if (isAligned) return descriptor;
  const copy = copyMisaligned(descriptor);
  descriptor.storage.release();
  return copy;
}

function addressStorage(address: bigint, nbytes: number, release: (() => void) | undefined): Storage {
  const backend = getBackend();
  if (backend === null) {
    throw new BufferError(
      'Expected a buffer but the producer sent a native address, and this runtime has no native code to follow it',
    );
  }
  if (nbytes > 0 && address < 4096n) {
    throw new LayoutError(`Expected an address for data but received ${address === 0n ? 'NULL' : address}`);
  }
  return backend.importAddress(address, nbytes, release ?? (() => {}));
}
