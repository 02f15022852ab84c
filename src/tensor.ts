/// <reference lib="esnext.disposable" preserve="true" />
/** Tensor: owns one reference to its memory. */

import { checkOptions, type OptionNames } from './base/options.js';
import { cpu, type Device, type DeviceArgument, type DLDevice, parseDevice } from './device.js';
import { type DType, type DTypeInfo, dtypeOfArray, type NaturalDType, parseDType, type TypedArray } from './dtype.js';
import { ArgumentTypeError } from './errors.js';
import { checkShape, checkStrides, inferShape, rowMajorStrides } from './layout.js';
import { type AdaptedSource, adaptObject } from './protocol/adapters.js';
import { DLPACK, DLPACK_DEVICE, type DLPackRequest, type ManagedTensor } from './protocol/managed.js';
import { produce } from './protocol/produce.js';
import { allocateLike, allocateShareable } from './storage/allocate.js';
import { bytesOf, describeArray, type FromOptions, moveBuffer, type WrapOptions } from './storage/arrays.js';
import { getBackend } from './storage/backend.js';
import { type Descriptor, Flag } from './storage/descriptor.js';
import { allocateWith, environment, type NDAllocator } from './storage/nd-alloc.js';
import { disposeSymbol, HeapStorage, releaseAfter, releaseOnError } from './storage/storage.js';
import { convertElementsAsync } from './values/convert.js';
import { convertedCopy, copyTo } from './values/copy.js';
import { measureNested, type NestedDType, type NestedSource, writeFew, writeNested } from './values/nested.js';
import { derive, descriptorOf, TensorView, takeDescriptor } from './view.js';
import { needsCopy, reshapeLayout } from './view-layout.js';

/** Typed arrays that can be wrapped. */
export type WrappableArray = TypedArray | Uint8ClampedArray;

export interface EmptyOptions {
  /** Where the memory is; `'cpu'` when absent. */
  device?: DeviceArgument;
  /** Each element narrower than a byte gets its own byte, as in NumPy, instead of being packed. */
  padded?: boolean;
  /**
   * Allocates memory for `shareTensor(x, { with: 'process' })` of `dlpack/shared`: on `'cuda'`, and on Linux on
   * `'cpu'`. A string is the name under which other processes find host memory, such as Python's `SharedMemory`.
   */
  shareable?: boolean | string;
}

export interface ToAsyncOptions {
  /** true: copies through host memory where the two devices cannot copy directly, such as two GPUDevices. */
  stage?: boolean;
}

const fromNames: OptionNames<FromOptions<DType>> = { shape: true, dtype: true };
const wrapNames: OptionNames<WrapOptions<DType>> = {
  ...fromNames,
  strides: true,
  byteOffset: true,
  readonly: 'boolean',
  padded: 'boolean',
};
const emptyNames: OptionNames<EmptyOptions> = { device: true, padded: 'boolean', shareable: true };

function allocateNew(
  given: readonly number[],
  type: DType,
  options: EmptyOptions | undefined,
  isZeroed: boolean,
): Descriptor {
  const shape = checkShape(given);
  const dtype = parseDType(type);
  if (options === undefined) return allocateLike(shape, dtype, 0, cpu, isZeroed);
  checkOptions(options, emptyNames, "{ device: 'cuda:0' }");
  const { shareable: name } = options;
  const flags = options.padded === true ? Flag.subBytePadded : 0;
  const device = parseDevice(options.device ?? 'cpu');
  // An empty name is a mistake, and does not mean private memory.
  if (name === undefined || name === false) return allocateLike(shape, dtype, flags, device, isZeroed);
  if (name !== true && typeof name !== 'string') throw new ArgumentTypeError('shareable', 'a boolean or a name', name);
  return allocateShareable(shape, dtype, flags, device, isZeroed, name === true ? null : name);
}

/** While a scope runs, every new Tensor is added to this list. */
let recorded: Tensor[] | null = null;

function record(tensor: Tensor): void {
  const list = recorded as Tensor[];
  list[list.length] = tensor;
}

/** Records new Tensors in `list` from now on (null: nowhere) and returns the previous list. For `scope`. */
export function recordTensors(list: Tensor[] | null): Tensor[] | null {
  const before = recorded;
  recorded = list;
  return before;
}

/** Makes a Tensor that owns one more reference to the storage. For this package's other modules. */
export function shareDescriptor(descriptor: Descriptor): Tensor {
  descriptor.storage.refs++;
  return new Tensor(descriptor.shared());
}

/**
 * A tensor that owns its memory together with the other Tensors over the same storage. Release it with `dispose()` or
 * `using`; the garbage collector releases it otherwise.
 */
export class Tensor<D extends DType = DType> extends TensorView<D> {
  // Explicit, because the implicit constructor of a derived class costs V8 another 10 ns.
  constructor(descriptor: Descriptor) {
    super(descriptor, shareDescriptor);
    if (recorded !== null) record(this);
  }

  /**
   * Copies numbers, nested arrays, a typed array or another tensor into memory that can be shared natively. Without
   * `dtype`, a typed array keeps its own, numbers become `float64`, bigints `int64` (`uint64` from 2^63 on), booleans
   * `bool`, and `{ re, im }` `complex128`.
   */
  static from<D extends DType>(
    source: NestedSource | WrappableArray | TensorView,
    options: FromOptions<D> & { dtype: D },
  ): Tensor<D>;
  static from<D extends DType>(source: AdaptedSource, options?: FromOptions<D>): Tensor<D>;
  static from<A extends WrappableArray>(source: A, options?: { shape?: readonly number[] }): Tensor<NaturalDType<A>>;
  static from<D extends DType>(source: TensorView<D>, options?: { shape?: readonly number[] }): Tensor<D>;
  static from<S extends NestedSource>(source: S, options?: { shape?: readonly number[] }): Tensor<NestedDType<S>>;
  static from(source: NestedSource | TensorView, options?: { shape?: readonly number[] }): Tensor;
  static from(
    source: NestedSource | WrappableArray | TensorView | AdaptedSource,
    options?: { shape?: readonly number[]; dtype?: DType },
  ): Tensor {
    if (options !== undefined) checkOptions(options, fromNames, "{ dtype: 'float32', shape: [2, 3] }");
    const type = options?.dtype;
    const wanted = options?.shape;
    if (source instanceof TensorView) {
      return shaped(convertedCopy(descriptorOf(source), type === undefined ? type : parseDType(type)), wanted);
    }
    // Most sources are arrays, for which the test for a typed array takes longer than this one.
    const natural = Array.isArray(source) ? undefined : dtypeOfArray(source);
    if (natural !== undefined) {
      const array = source as TypedArray;
      const few = type === undefined ? writeFew(array, natural) : null;
      if (few !== null) return shaped(few, wanted);
      const from = describeArray(array, natural, { shape: [array.length] });
      return shaped(convertedCopy(from, type === undefined ? natural : parseDType(type)), wanted);
    }
    const adapted = adaptObject(source, null);
    if (adapted !== null) {
      return releaseAfter(adapted, () => Tensor.from(new TensorView(adapted), options as { dtype: DType }));
    }
    const { shape, dtype } = measureNested(source as NestedSource, type);
    return shaped(writeNested(source as NestedSource, shape, dtype), wanted);
  }

  /**
   * A tensor over JavaScript memory, without a copy. The caller keeps the array, and using the tensor throws after the
   * buffer was detached or shrunk. Native code that keeps the tensor gets a copy (see `adopt`).
   */
  static wrap<D extends DType>(
    array: WrappableArray | ArrayBufferLike,
    options: WrapOptions<D> & { dtype: D },
  ): Tensor<D>;
  static wrap<A extends WrappableArray>(array: A, options?: WrapOptions<never>): Tensor<NaturalDType<A>>;
  static wrap(array: WrappableArray | ArrayBufferLike, options: WrapOptions<DType> = {}): Tensor {
    checkOptions(options, wrapNames, '{ shape: [2, 3] }');
    const view = ArrayBuffer.isView(array) ? (array as TypedArray) : bytesOf(array);
    const natural = dtypeOfArray(view);
    if (natural === undefined) throw new ArgumentTypeError('array', 'a typed array or an ArrayBuffer', array);
    return new Tensor(describeArray(view, dtypeOf(options, natural), options));
  }

  /**
   * Takes over the memory of a typed array, without a copy: the buffer is moved, and every array over it becomes
   * detached. Native code may then keep the tensor without limit. In a worker the memory is copied once instead,
   * because its heap ends with the worker.
   */
  static adopt<D extends DType>(array: WrappableArray, options: FromOptions<D> & { dtype: D }): Tensor<D>;
  static adopt<A extends WrappableArray>(array: A, options?: { shape?: readonly number[] }): Tensor<NaturalDType<A>>;
  static adopt(array: WrappableArray, options: FromOptions<DType> = {}): Tensor {
    checkOptions(options, fromNames, '{ shape: [2, 3] }');
    const natural = dtypeOfArray(array);
    if (natural === undefined) throw new ArgumentTypeError('array', 'a typed array', array);
    const dtype = dtypeOf(options, natural);
    // Check everything that can fail before the array is taken from the caller.
    const before = describeArray(array as TypedArray, dtype, options);
    const buffer = moveBuffer(array as TypedArray);
    const moved = new HeapStorage(buffer);
    // Check again, because getters of the options may have resized the buffer meanwhile.
    const taken = before.withStorage(moved).checkBounds();
    const backend = getBackend();
    const storage = backend === null ? moved : backend.adopt(buffer);
    if (storage !== null) return new Tensor(taken.withStorage(storage));
    return new Tensor(copyTo(taken, taken.dtype, taken.device));
  }

  /** A tensor in uninitialised memory. It can show old bytes of this process, such as values of a released tensor. */
  static empty<D extends DType>(shape: readonly number[], dtype: D, options?: EmptyOptions): Tensor<D> {
    return new Tensor<D>(allocateNew(shape, dtype, options, false));
  }

  /** Memory filled with zero bits. The system clears the pages of a large tensor when they are first used. */
  static zeros<D extends DType>(shape: readonly number[], dtype: D, options?: EmptyOptions): Tensor<D> {
    return new Tensor<D>(allocateNew(shape, dtype, options, true));
  }

  /**
   * A row-major tensor in uninitialised memory from a user's allocator. `freeData` is called once, when the last owner
   * releases the memory.
   */
  static fromNDAlloc<D extends DType>(
    allocator: NDAllocator,
    shape: readonly number[],
    dtype: D,
    device: Device = 'cpu',
  ): Tensor<D> {
    return Tensor.fromNDAllocStrided(allocator, shape, rowMajorStrides(checkShape(shape)), dtype, device);
  }

  /** As `fromNDAlloc`, with strides in elements. */
  static fromNDAllocStrided<D extends DType>(
    allocator: NDAllocator,
    shape: readonly number[],
    strides: readonly number[],
    dtype: D,
    device: Device = 'cpu',
  ): Tensor<D> {
    const lengths = checkShape(shape);
    const steps = checkStrides(strides, lengths);
    return new Tensor<D>(allocateWith(allocator, lengths, steps, parseDType(dtype), parseDevice(device)));
  }

  /** A tensor in uninitialised memory from the allocator that kernels use: see `setAllocator` of dlpack/tvm-ffi. */
  static fromEnvAlloc<D extends DType>(shape: readonly number[], dtype: D, device: Device = 'cpu'): Tensor<D> {
    const { allocator } = environment;
    if (allocator === null) return Tensor.empty(shape, dtype, { device });
    return new Tensor<D>(allocator(checkShape(shape), parseDType(dtype), parseDevice(device)));
  }

  /** The values converted to another dtype, in new memory, by the rules of docs/concepts/values.md. */
  astype<E extends DType>(dtype: E): Tensor<E> {
    return new Tensor<E>(convertedCopy(descriptorOf(this), parseDType(dtype)));
  }

  /** As `astype`, without blocking the event loop. The tensor may be disposed meanwhile, but not written. */
  async astypeAsync<E extends DType>(dtype: E): Promise<Tensor<E>> {
    return convertedAsync(descriptorOf(this), parseDType(dtype)) as Promise<Tensor<E>>;
  }

  /** A row-major copy of the elements in new memory. */
  copy(): Tensor<D> {
    return new Tensor<D>(convertedCopy(descriptorOf(this)));
  }

  /** As `copy`, without blocking the event loop. */
  async copyAsync(): Promise<Tensor<D>> {
    return convertedAsync(descriptorOf(this)) as Promise<Tensor<D>>;
  }

  /** A second owner of this memory if it is row-major, a row-major copy otherwise. */
  contiguous(): Tensor<D> {
    const descriptor = descriptorOf(this);
    return descriptor.isContiguous && (descriptor.bitOffset & 7) === 0
      ? (shareDescriptor(descriptor) as Tensor<D>)
      : this.copy();
  }

  /**
   * The tensor on another device, row-major: a second owner if it is already there, a copy otherwise. A copy to the
   * host is complete when this returns. A copy to a device is complete for all later work on its current stream.
   */
  to(device: DeviceArgument): Tensor<D> {
    const descriptor = descriptorOf(this);
    const target = parseDevice(device);
    if (target === descriptor.device) return shareDescriptor(descriptor) as Tensor<D>;
    return new Tensor<D>(copyTo(descriptor, descriptor.dtype, target));
  }

  /**
   * As `to`, without blocking the event loop. The copy is complete when the promise resolves. You may dispose the
   * tensor meanwhile.
   */
  async toAsync(device: DeviceArgument, options: ToAsyncOptions = {}): Promise<Tensor<D>> {
    checkOptions(options, { stage: 'boolean' }, '{ stage: true }');
    const descriptor = descriptorOf(this);
    const target = parseDevice(device);
    if (target === descriptor.device) return shareDescriptor(descriptor) as Tensor<D>;
    const isStaged = options.stage === true && !target.isHostAccessible && !descriptor.device.isHostAccessible;
    if (!isStaged) return convertedAsync(descriptor, descriptor.dtype, target) as Promise<Tensor<D>>;
    const staged = await convertedAsync(descriptor, descriptor.dtype, cpu);
    try {
      return (await staged.toAsync(target.name)) as Tensor<D>;
    } finally {
      staged.dispose();
    }
  }

  /**
   * Another shape, over the same memory where strides allow it, otherwise as a copy. `copy`: true always copies, and
   * false throws where a copy is needed.
   */
  override reshape(shape: readonly number[], options?: { copy?: boolean }): this {
    if (options !== undefined) checkOptions(options, { copy: 'boolean' }, '{ copy: false }');
    const { layout } = descriptorOf(this);
    const reshaped = reshapeLayout(layout, shape);
    const copy = options?.copy;
    if (reshaped !== null && copy !== true) return derive(this, reshaped) as this;
    if (copy === false) throw needsCopy(layout, shape);
    // Not the descriptor from before, because getters of the shape may have disposed this tensor.
    return shaped(convertedCopy(descriptorOf(this)), shape) as this;
  }

  /** Releases this owner's reference. The last release frees the memory and detaches `.data`. */
  dispose(): void {
    takeDescriptor(this)?.storage.release();
  }

  [disposeSymbol](): void {
    this.dispose();
  }

  /** The producer side of the protocol (docs/spec.md). */
  [DLPACK](request: DLPackRequest = {}): ManagedTensor | object {
    return produce(descriptorOf(this), request);
  }

  [DLPACK_DEVICE](): DLDevice {
    const { type, id } = descriptorOf(this).device;
    return { type, id };
  }
}

/** Holds a reference to the source until the copy is made, so that the caller may dispose it meanwhile. */
async function convertedAsync(source: Descriptor, dtype = source.dtype, device = source.device): Promise<Tensor> {
  source.storage.refs++;
  try {
    const copy = allocateLike(source.shape, dtype, source.flags & Flag.subBytePadded, device);
    try {
      await convertElementsAsync(source, copy, true);
      return new Tensor(copy);
    } catch (error) {
      copy.storage.release();
      throw error;
    }
  } finally {
    source.storage.release();
  }
}

/** The dtype of the options, which is read once, because getters may return different values. */
function dtypeOf({ dtype }: FromOptions<DType>, natural: DTypeInfo): DTypeInfo {
  return dtype === undefined ? natural : parseDType(dtype);
}

/** A new tensor in the wanted shape. The memory is released if the shape does not fit. */
function shaped(descriptor: Descriptor, shape: readonly number[] | undefined): Tensor {
  if (shape === undefined) return new Tensor(descriptor);
  return releaseOnError(descriptor, () => {
    const target = inferShape(shape, descriptor.size);
    return new Tensor(descriptor.derive({ shape: target, strides: rowMajorStrides(target), offset: 0 }).checkBounds());
  });
}
