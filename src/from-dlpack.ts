/** The consumer side of the JavaScript protocol: `fromDLPack`. */

import { checkOptions, type OptionNames } from './base/options.js';
import { type StreamLike, streamHandle } from './base/stream.js';
import { type DeviceArgument, type DeviceInfo, deviceFromType, deviceOfGPU, parseDevice } from './device.js';
import { type DType, type DTypeInfo, dtypeFromCode, strideBits } from './dtype.js';
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
import { checkShape, checkStrides, rowMajorStrides, spanOf } from './layout.js';
import { adaptObject } from './protocol/adapters.js';
import { recordConsumed, releaseOf } from './protocol/deleter.js';
import { rememberTaken, takeLike } from './protocol/like-last.js';
import {
  DLPACK,
  DLPACK_DEVICE,
  DLPACK_VERSION,
  type DLPackProducer,
  type DLPackRequest,
  type ManagedTensor,
} from './protocol/managed.js';
import { getBackend } from './storage/backend.js';
import { Descriptor, Flag, KNOWN_FLAGS } from './storage/descriptor.js';
import { consumerStream, getDeviceBackend, hasDeviceBackend } from './storage/device-backend.js';
import { type ImportRequest, registered } from './storage/foreign.js';
import {
  BufferStorage,
  bufferLength,
  type GPUBufferLike,
  GpuStorage,
  releaseOnError,
  type Storage,
} from './storage/storage.js';
import { shareDescriptor, Tensor } from './tensor.js';
import { copyMisaligned } from './values/copy.js';
import { descriptorOf, TensorView } from './view.js';

export interface FromDLPackOptions {
  /** The target device. When absent, the tensor stays on the producer's device. */
  device?: DeviceArgument;
  /** true: always copy; false: never copy, throw instead; null: copy only when needed. */
  copy?: boolean | null;
  /** The stream that will use this tensor, for devices that have streams. */
  stream?: StreamLike | bigint | null;
}

const optionNames: OptionNames<FromDLPackOptions> = { device: true, copy: 'boolean or null', stream: true };

/** Objects with Python's method names, such as proxies of Python objects. */
interface ForeignProducer {
  __dlpack__(request?: DLPackRequest): unknown;
}

/**
 * A Tensor over the memory of another library's tensor, without a copy.
 *
 * Accepts anything with a `[Symbol.for('dlpack')]` or `__dlpack__` method, and a type-tagged native external.
 */
export function fromDLPack<D extends DType>(source: Tensor<D>, options?: FromDLPackOptions): Tensor<D>;
export function fromDLPack(source: DLPackProducer | object, options?: FromDLPackOptions): Tensor;
export function fromDLPack(source: unknown, options?: FromDLPackOptions): Tensor {
  // Our own tensors share the storage, so no managed tensor is needed.
  if (options === undefined || options === null) {
    // Python objects are functions to JavaScript. `instanceof` would call Python for their prototype, so avoid it.
    if (typeof source === 'function') {
      const foreign = takeForeign(source, null);
      if (foreign !== null) return new Tensor(foreign);
    } else if (source instanceof Tensor && source[DLPACK] === ownExport) {
      return shareDescriptor(descriptorOf(source));
    }
  }
  // Apart, so that V8 inlines the common cases.
  return fromProducer(source, options ?? null);
}

function fromProducer(source: unknown, options: FromDLPackOptions | null): Tensor {
  if (options !== null) checkOptions(options, optionNames, '{ copy: true }');
  const place = options?.device; // read once, because getters may return different values
  const device = place === undefined ? null : parseDevice(place);
  const copy = options?.copy ?? null;
  const descriptor = takeTensor(source, device, copy, streamHandle(options?.stream));
  const tensor = new Tensor(descriptor);
  if (device !== null && descriptor.device !== device) {
    tensor.dispose();
    throw new BufferError(
      `Expected a tensor on '${device.name}' but the producer sent one on '${descriptor.device.name}'`,
    );
  }
  if (copy === false && tensor.isCopied) {
    tensor.dispose();
    throw new BufferError(
      'Expected the memory itself (copy: false) but the producer sent a tensor that is marked as a copy',
    );
  }
  // The producer can ignore the request (NumPy and PyTorch would not notice), so copy here.
  return copy === true && !tensor.isCopied ? copyOf(tensor) : tensor;
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
function takeForeign(source: object, request: ImportRequest | null): Descriptor | null {
  const { objects } = registered;
  if (objects === null) return null;
  try {
    return objects.take(source, request);
  } catch (error) {
    if (!(error instanceof MisalignedError) || (request !== null && request.copy !== null)) throw error;
    return objects.take(source, { device: null, stream: null, ...request, copy: true });
  }
}

/** The tensor of a source that is not a Tensor of this package. The caller owns it. */
export function takeTensor(
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
  if (adapted === null) return request(source, device, copy, stream);
  if (device === null || device === adapted.device) return adapted;
  const tensor = new Tensor(adapted);
  try {
    return request(tensor, device, copy, stream);
  } finally {
    tensor.dispose();
  }
}

/** Sends one protocol request and takes the result. */
function request(source: unknown, device: DeviceInfo | null, copy: boolean | null, stream: bigint | null): Descriptor {
  const backend = getBackend();
  const wanted = device === null ? null : { type: device.type, id: device.id };
  const named = stream ?? streamFor(source, device);
  const offered = ask(source, {
    maxVersion: DLPACK_VERSION,
    device: wanted,
    copy,
    stream: named,
    native: backend !== null,
  });
  // An external has no properties. Asking native code takes longer than the rest of an exchange.
  const external = isManaged(offered) ? null : backend?.importExternal(offered, copy);
  return followed(external ?? consume(offered, source, copy), named);
}

function isManaged(offered: unknown): offered is ManagedTensor {
  return typeof offered === 'object' && offered !== null && 'version' in offered && 'data' in offered;
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
  const producer = source as Partial<DLPackProducer> | null;
  if (typeof producer?.[DLPACK_DEVICE] !== 'function') return null;
  const { type, id } = producer[DLPACK_DEVICE]();
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
    release?.();
    if (isDLPackError(error)) throw error;
    throw new ForeignError('producer', `Expected a readable ManagedTensor but reading it failed: ${textOf(error)}`, {
      cause: error,
    });
  }
}

/** Reads each field once, so a getter that later returns something else changes nothing. */
function describeManaged(managed: ManagedTensor, release: (() => void) | undefined, copy: boolean | null): Descriptor {
  const { version } = managed;
  if (!Array.isArray(version) || version.length < 2) {
    throw new ArgumentTypeError('version', '[major, minor]', version);
  }
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
  const like =
    offeredFlags === 0 && byteOffset === 0
      ? takeLike(data, offeredDType, offeredDevice, offeredShape, offeredStrides, release)
      : null;
  if (like !== null) return like;
  const flags = KNOWN_FLAGS & (typeof offeredFlags === 'bigint' ? Number(offeredFlags & 0xffn) : offeredFlags);
  // Without a deleter nothing can be released twice. But a copy belongs to one consumer.
  if (release === undefined && (flags & Flag.isCopied) !== 0) recordConsumed(managed);
  const dtype = dtypeFromCode(offeredDType.code, offeredDType.bits, offeredDType.lanes);
  const device = deviceFromType(offeredDevice.type, offeredDevice.id);
  const shape = checkShape(offeredShape);
  const strides = offeredStrides == null ? rowMajorStrides(shape) : checkStrides(offeredStrides, shape);
  checkCount(byteOffset, 'byteOffset');

  if (typeof data === 'bigint') {
    // Make a storage over exactly the bytes that the elements occupy.
    const step = strideBits(dtype, (flags & Flag.subBytePadded) !== 0);
    const span = spanOf(shape, strides);
    const low = Math.floor(((span?.low ?? 0) * step) / 8);
    const high = span === null ? 0 : Math.ceil((span.high * step + dtype.itemBits) / 8);
    const first = data + BigInt(byteOffset);
    const isAligned = first % BigInt(dtype.alignment) === 0n;
    if (!isAligned && copy === false) throw misaligned(dtype, `the address is ${first}`);
    const storage = addressStorage(first + BigInt(low), high - low, release);
    const descriptor = new Descriptor(storage, dtype, device, shape, strides, -low * 8, flags);
    return releaseOnError(storage, () => aligned(descriptor, isAligned));
  }
  const nbytes = bufferLength(data);
  if (nbytes !== null) {
    if (!device.isHostAccessible) {
      throw new UnsupportedDeviceError(
        device.name,
        `Expected a host device with a buffer but received '${device.name}'`,
      );
    }
    const storage = new BufferStorage(data as ArrayBufferLike, 0, nbytes, release);
    return releaseOnError(storage, () => {
      const descriptor = new Descriptor(storage, dtype, device, shape, strides, byteOffset * 8, flags).checkReach();
      const { isAligned } = descriptor;
      if (!isAligned && copy === false) throw misaligned(dtype, `byteOffset is ${byteOffset}`);
      if (flags === 0 && byteOffset === 0) rememberTaken(descriptor, offeredStrides == null);
      return aligned(descriptor, isAligned);
    });
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
    const descriptor = new Descriptor(storage, dtype, own, shape, strides, byteOffset * 8, flags);
    return releaseOnError(storage, () => descriptor.checkBounds());
  }
  throw new ArgumentTypeError('data', 'an ArrayBuffer, { gpuBuffer, gpuDevice } or a bigint address', data);
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
