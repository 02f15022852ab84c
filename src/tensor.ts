/// <reference lib="esnext.disposable" preserve="true" />
/** Tensor: owns one reference to its memory. */

import { checkOptions, type OptionNames } from './base/options.js';
import { cpu, type DeviceArgument, type DLDevice, parseDevice } from './device.js';
import {
  type DType,
  type DTypeInfo,
  dtypeOfArray,
  type NaturalDType,
  parseDType,
  type Scalar,
  type TypedArray,
} from './dtype.js';
import { ArgumentTypeError } from './errors.js';
import { type JoinIntoOptions, type JoinOptions, joinTensors } from './join.js';
import { checkShape, inferShape, rowMajorStrides } from './layout.js';
import { type ArangeIntoOptions, arangeIntoNames, type FullIntoOptions, fullIntoNames, memoryOfOut } from './out.js';
import { type AdaptedSource, adaptObject } from './protocol/adapters.js';
import { DLPACK, DLPACK_DEVICE, type DLPackRequest, type ManagedTensor } from './protocol/managed.js';
import { produce } from './protocol/produce.js';
import { readRequest } from './protocol/request.js';
import { allocateLike, allocateNew, type EmptyOptions, filled } from './storage/allocate.js';
import { bytesOf, describeArray, type FromOptions, moveBuffer, type WrapOptions } from './storage/arrays.js';
import { getBackend } from './storage/backend.js';
import { isDebug, recordTensor } from './storage/debug.js';
import { type Descriptor, Flag } from './storage/descriptor.js';
import type { Scaling } from './storage/scaling.js';
import { inScope } from './storage/scoped.js';
import { disposeSymbol, HeapStorage, releaseAfter, releaseOnError } from './storage/storage.js';
import { convertElementsAsync, fillElements } from './values/convert.js';
import { convertedCopy, copyInto, copyTo } from './values/copy.js';
import { measureNested, type NestedDType, type NestedSource, writeFew, writeNested } from './values/nested.js';
import { type ArangeOptions, rangeOf } from './values/range.js';
import { readScaling, type ScaleOptions } from './values/scaling.js';
import { derive, descriptorOf, sharedDescriptorOf, TensorView, takeDescriptor } from './view.js';
import { needsCopy, reshapeExtent, type SliceRange } from './view-layout.js';

/** Typed arrays that can be wrapped. */
export type WrappableArray = TypedArray | Uint8ClampedArray;

/** How `toAsync` copies. */
export interface ToAsyncOptions {
  /** true: copies through host memory where the two devices cannot copy directly, such as two GPUDevices. The default is false. */
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

/** Makes a Tensor that owns one more reference to the storage. For this package's other modules. */
export function shareDescriptor(descriptor: Descriptor): Tensor {
  descriptor.storage.refs++;
  return new Tensor(descriptor);
}

// Only types: what TensorView derives from an owner is an owner, too. It is not `this`, because it has another shape than the one
// that a spec told the compiler.
export interface Tensor<D extends DType = DType> extends TensorView<D> {
  transpose(axes?: readonly number[]): Tensor<D>;
  slice(...ranges: SliceRange[]): Tensor<D>;
  broadcastTo(shape: readonly number[]): Tensor<D>;
  squeeze(axes?: number | readonly number[]): Tensor<D>;
  expandDims(axis: number): Tensor<D>;
}

/**
 * A tensor that owns its memory together with the other Tensors over the same storage. Release it with `dispose()` or
 * `using`; the garbage collector releases it otherwise.
 *
 * @hideconstructor
 * @example
 * ```ts
 * import { Tensor } from 'dlpack';
 * using x = Tensor.from([[1, 2, 3], [4, 5, 6]], { dtype: 'float32' });
 * const column = x.slice([], 1); // the same memory
 * column.fill(0);
 * console.log(x.toArray()); // [[1, 0, 3], [4, 0, 6]]
 * ```
 */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the class inherits the methods of the interface
export class Tensor<D extends DType = DType> extends TensorView<D> {
  constructor(descriptor: Descriptor) {
    super(descriptor, shareDescriptor);
    inScope(this);
    if (isDebug()) recordTensor(descriptor);
  }

  /**
   * Copies numbers, nested arrays, a typed array or another tensor into memory that can be shared natively. Without
   * `dtype`, a typed array keeps its own, numbers become `float64`, bigints `int64` (`uint64` from 2^63 on), booleans
   * `bool`, and `{ re, im }` `complex128`.
   *
   * @param source - The values.
   * @param options - The dtype and the shape; those of the values when absent.
   * @returns A tensor that owns its memory.
   * @throws ArgumentTypeError or ArgumentValueError for values that the dtype cannot hold.
   * @throws LayoutError for nested arrays of different lengths, or a shape of another size.
   * @example
   * ```ts
   * import { Tensor } from 'dlpack';
   * const x = Tensor.from([[1, 2, 3], [4, 5, 6]], { dtype: 'float32' });
   * console.log(x.shape, x.dtype); // [2, 3] float32
   * ```
   */
  static from<D extends DType>(
    source: NestedSource | WrappableArray | TensorView | AdaptedSource,
    options: FromOptions<D> & { dtype: D },
  ): Tensor<D>;
  static from(source: AdaptedSource, options?: FromOptions<never>): Tensor;
  static from<A extends WrappableArray>(source: A, options?: FromOptions<never>): Tensor<NaturalDType<A>>;
  static from<D extends DType>(source: TensorView<D>, options?: FromOptions<never>): Tensor<D>;
  static from<S extends NestedSource>(source: S, options?: FromOptions<never>): Tensor<NestedDType<S>>;
  static from(source: NestedSource | WrappableArray | TensorView | AdaptedSource, options?: FromOptions<DType>): Tensor;
  static from(
    source: NestedSource | WrappableArray | TensorView | AdaptedSource,
    options?: FromOptions<DType>,
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
   * Makes a tensor over JavaScript memory. Shares it: you keep the array, and using the tensor throws after the
   * buffer was detached or shrunk. Native code that keeps the tensor gets a copy (see `adopt`).
   *
   * @param array - A typed array or a buffer.
   * @param options - Shape, strides, dtype and offset; one axis of the array's own dtype when absent.
   * @returns A tensor that shares the memory of the array.
   * @throws ArgumentTypeError for anything but a typed array or a buffer.
   * @throws LayoutError if the elements would reach outside of the array, and BufferError if it is misaligned or
   *   detached.
   * @example
   * ```ts
   * import { Tensor } from 'dlpack';
   * const array = new Float32Array(6);
   * const x = Tensor.wrap(array, { shape: [2, 3] });
   * x.set(1, 2, 7);
   * console.log(array[5]); // 7
   * ```
   */
  static wrap<D extends DType>(
    array: WrappableArray | ArrayBufferLike,
    options: WrapOptions<D> & { dtype: D },
  ): Tensor<D>;
  static wrap<A extends WrappableArray>(array: A, options?: WrapOptions<never>): Tensor<NaturalDType<A>>;
  static wrap(array: WrappableArray | ArrayBufferLike, options?: WrapOptions<DType>): Tensor;
  static wrap(array: WrappableArray | ArrayBufferLike, given?: WrapOptions<DType>): Tensor {
    if (given !== undefined) checkOptions(given, wrapNames, '{ shape: [2, 3] }');
    const options = given ?? {};
    const view = ArrayBuffer.isView(array) ? (array as TypedArray) : bytesOf(array);
    const natural = dtypeOfArray(view);
    if (natural === undefined) throw new ArgumentTypeError('array', 'a typed array or an ArrayBuffer', array);
    return new Tensor(describeArray(view, dtypeOf(options, natural), options));
  }

  /**
   * Takes over the memory of a typed array, without a copy: the buffer is moved, and every array over it becomes
   * detached. Native code may then keep the tensor without limit. In a worker the memory is copied once instead,
   * because its heap ends with the worker.
   *
   * @param array - A typed array that covers its whole buffer.
   * @param options - The shape and the dtype; those of the array when absent.
   * @returns A tensor that owns the memory of the array.
   * @throws ArgumentTypeError for anything but a typed array, and LayoutError for a shape of another size.
   * @throws BufferError if the buffer cannot be moved: shared, larger than the array, or locked by its owner.
   * @example
   * ```ts
   * import { Tensor } from 'dlpack';
   * const array = new Float32Array([1, 2, 3]);
   * const x = Tensor.adopt(array);
   * console.log(array.length, x.toArray()); // 0 [1, 2, 3]
   * ```
   */
  static adopt<D extends DType>(array: WrappableArray, options: FromOptions<D> & { dtype: D }): Tensor<D>;
  static adopt<A extends WrappableArray>(array: A, options?: FromOptions<never>): Tensor<NaturalDType<A>>;
  static adopt(array: WrappableArray, options?: FromOptions<DType>): Tensor;
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

  /**
   * Allocates memory without filling it. It can show old bytes of this process, such as values of a released tensor.
   *
   * @param shape - The lengths of the axes.
   * @param dtype - The element type.
   * @param options - The device, and whether other processes can open the memory.
   * @returns A tensor that owns its memory.
   * @throws ArgumentTypeError, ArgumentValueError or LayoutError for an impossible shape.
   * @throws UnsupportedDTypeError or UnsupportedDeviceError for an unknown dtype or device, or a device that this
   *   process cannot reach.
   * @throws OutOfMemoryError if there is not enough memory.
   * @example
   * ```ts
   * import { Tensor } from 'dlpack';
   * const x = Tensor.empty([2, 3], 'float32');
   * console.log(x.shape, x.nbytes); // [2, 3] 24
   * ```
   */
  static empty<D extends DType>(shape: readonly number[], dtype: D, options?: EmptyOptions): Tensor<D> {
    return new Tensor<D>(allocateNew(shape, dtype, options, false));
  }

  /**
   * Allocates memory filled with zero bits. The system clears the pages of a large tensor when they are first used.
   *
   * @param shape - The lengths of the axes.
   * @param dtype - The element type.
   * @param options - As for `empty`.
   * @returns A tensor that owns its memory.
   * @throws As `empty` does.
   * @example
   * ```ts
   * import { Tensor } from 'dlpack';
   * console.log(Tensor.zeros([2, 2], 'int8').toArray()); // [[0, 0], [0, 0]]
   * ```
   */
  static zeros<D extends DType>(shape: readonly number[], dtype: D, options?: EmptyOptions): Tensor<D> {
    return new Tensor<D>(allocateNew(shape, dtype, options, true));
  }

  /**
   * Allocates memory in which every element is `value`.
   *
   * @param shape - The lengths of the axes.
   * @param value - As for `set`.
   * @param dtype - The element type.
   * @param options - As for `empty`, or `out`, which is filled in place of new memory.
   * @returns A new tensor, or `out`.
   * @throws ArgumentTypeError or ArgumentValueError for a value that the dtype cannot hold.
   * @example
   * ```ts
   * import { Tensor } from 'dlpack';
   * console.log(Tensor.full([3], 7, 'uint8').toArray()); // [7, 7, 7]
   * ```
   */
  static full<D extends DType, T extends TensorView<D>>(
    shape: readonly number[],
    value: Scalar<D>,
    dtype: D,
    options: FullIntoOptions<T>,
  ): T;
  static full<D extends DType>(shape: readonly number[], value: Scalar<D>, dtype: D, options?: EmptyOptions): Tensor<D>;
  static full(
    shape: readonly number[],
    value: Scalar<DType>,
    dtype: DType,
    options?: EmptyOptions & Partial<FullIntoOptions<TensorView>>,
  ): TensorView {
    const out = options?.out;
    if (out === undefined) {
      return new Tensor(filled(allocateNew(shape, dtype, options, false), (target) => fillElements(target, value)));
    }
    checkOptions(options as FullIntoOptions<TensorView>, fullIntoNames, '{ out: x }');
    fillElements(memoryOfOut(out, checkShape(shape), parseDType(dtype)), value);
    return out;
  }

  /**
   * Makes a tensor of evenly spaced values, up to `stop`, which is not included.
   *
   * @param stop - The end.
   * @param dtype - The element type.
   * @param options - The first value (0 when absent), the step (1 when absent), and the device, or `out` as for `full`.
   * @returns A new tensor with its own memory, or `out`.
   * @throws ArgumentValueError for values that the dtype cannot hold.
   * @example
   * ```ts
   * import { Tensor } from 'dlpack';
   * console.log(Tensor.arange(3, 'int32').toArray()); // [0, 1, 2]
   * ```
   */
  static arange<D extends DType, T extends TensorView<D>>(stop: number, dtype: D, options: ArangeIntoOptions<T>): T;
  static arange<D extends DType>(stop: number, dtype: D, options?: ArangeOptions): Tensor<D>;
  static arange(
    stop: number,
    dtype: DType,
    options: ArangeOptions & Partial<ArangeIntoOptions<TensorView>> = {},
  ): TensorView {
    const out = options?.out;
    if (out === undefined) return new Tensor(rangeOf(stop, parseDType(dtype), options));
    checkOptions(options as ArangeIntoOptions<TensorView>, arangeIntoNames, '{ out: x }');
    const { start, step } = options;
    const values = rangeOf(stop, parseDType(dtype), { start, step } as ArangeOptions);
    return releaseAfter(values, () => {
      copyInto(values, memoryOfOut(out, values.shape, values.dtype));
      return out;
    });
  }

  /**
   * Copies tensors of one shape into one tensor, along a new axis: a batch of its parts.
   *
   * @param tensors - At least one, all of one shape.
   * @param options - The new axis (0 when absent), a dtype, or `out`, which receives the elements in place of new memory.
   * @returns A new tensor, or `out`.
   * @throws LayoutError if the shapes differ.
   * @example
   * ```ts
   * import { Tensor } from 'dlpack';
   * const batch = Tensor.stack([Tensor.from([1, 2]), Tensor.from([3, 4])]);
   * console.log(batch.toArray()); // [[1, 2], [3, 4]]
   * ```
   */
  static stack<T extends TensorView>(tensors: readonly TensorView[], options: JoinIntoOptions<T>): T;
  static stack<D extends DType>(tensors: readonly TensorView[], options: JoinOptions<D> & { dtype: D }): Tensor<D>;
  static stack<D extends DType>(tensors: readonly TensorView<D>[], options?: JoinOptions<never>): Tensor<D>;
  static stack(tensors: readonly TensorView[], options?: JoinOptions): Tensor;
  static stack(tensors: readonly TensorView[], options?: JoinOptions): TensorView {
    return joinedBy(tensors, options, true);
  }

  /**
   * Copies tensors one after another into one tensor, along one of their axes.
   *
   * @param tensors - At least one; only the lengths of that axis may differ.
   * @param options - The axis (0 when absent), a dtype, or `out`, as for `stack`.
   * @returns A new tensor, or `out`.
   * @throws LayoutError if other lengths differ.
   * @example
   * ```ts
   * import { Tensor } from 'dlpack';
   * const joined = Tensor.concat([Tensor.from([1, 2]), Tensor.from([3])]);
   * console.log(joined.toArray()); // [1, 2, 3]
   * ```
   */
  static concat<T extends TensorView>(tensors: readonly TensorView[], options: JoinIntoOptions<T>): T;
  static concat<D extends DType>(tensors: readonly TensorView[], options: JoinOptions<D> & { dtype: D }): Tensor<D>;
  static concat<D extends DType>(tensors: readonly TensorView<D>[], options?: JoinOptions<never>): Tensor<D>;
  static concat(tensors: readonly TensorView[], options?: JoinOptions): Tensor;
  static concat(tensors: readonly TensorView[], options?: JoinOptions): TensorView {
    return joinedBy(tensors, options, false);
  }

  /**
   * Converts the values to another dtype, in new memory, by the rules of docs/concepts/values.md. With `scale` and
   * `offset` the result is `x * scale + offset`, in the same pass.
   *
   * @param dtype - The new element type.
   * @param options - A scale and an offset, for all elements or for each index of an axis; none when absent.
   * @returns A tensor in new memory.
   * @throws UnsupportedDTypeError for `float128`, which has no values in JavaScript, and for an unknown dtype.
   * @throws ArgumentTypeError or LayoutError for a scale or an offset that does not fit.
   * @example
   * ```ts
   * import { Tensor } from 'dlpack';
   * console.log(Tensor.from([1.5, 300]).astype('uint8').toArray()); // [1, 255]
   * ```
   * @example
   * ```ts fragment: needs an image
   * // (x / 255 - mean) / std for each of three channels, from rows, columns, channels to channels, rows, columns
   * const scale = std.map((s) => 1 / (255 * s));
   * const offset = mean.map((m, i) => -m / std[i]);
   * const input = image.transpose([2, 0, 1]).astype('float32', { scale, offset, axis: 0 });
   * ```
   */
  astype<E extends DType>(dtype: E, options?: ScaleOptions): Tensor<E> {
    const type = parseDType(dtype);
    const source = descriptorOf(this);
    const scaling = options === undefined ? null : readScaling(options, source, type);
    if (scaling === null) return new Tensor<E>(convertedCopy(source, type));
    return new Tensor<E>(copyTo(descriptorOf(this), type, source.device, 0, scaling)); // getters may have disposed it
  }

  /**
   * Converts as `astype` does, without blocking the event loop. The tensor may be disposed meanwhile, but not written.
   *
   * @param dtype - The new element type.
   * @param options - As for `astype`.
   * @returns A promise of a tensor in new memory.
   * @throws As `astype` does.
   * @example
   * ```ts
   * import { Tensor } from 'dlpack';
   * const y = await Tensor.from([1.5, 300]).astypeAsync('uint8');
   * console.log(y.toArray()); // [1, 255]
   * ```
   */
  async astypeAsync<E extends DType>(dtype: E, options?: ScaleOptions): Promise<Tensor<E>> {
    const type = parseDType(dtype);
    const scaling = options === undefined ? null : readScaling(options, descriptorOf(this), type);
    const source = descriptorOf(this);
    return convertedAsync(source, type, source.device, scaling) as Promise<Tensor<E>>;
  }

  /**
   * Makes another owner of the same memory, with the same elements. Dispose both.
   *
   * @returns A tensor that shares the memory.
   * @throws DisposedError after `dispose()`.
   * @example
   * ```ts
   * import { Tensor } from 'dlpack';
   * const x = Tensor.from([1, 2]);
   * const y = x.share();
   * x.dispose();
   * console.log(y.toArray()); // [1, 2]
   * ```
   */
  share(): Tensor<D> {
    return shareDescriptor(sharedDescriptorOf(this)) as Tensor<D>;
  }

  /**
   * Copies the elements into new memory, row-major.
   *
   * @returns A tensor that owns its memory.
   * @throws OutOfMemoryError if there is not enough memory, and DisposedError after `dispose()`.
   * @example
   * ```ts
   * import { Tensor } from 'dlpack';
   * const x = Tensor.from([1, 2]);
   * const y = x.copy();
   * x.set(0, 9);
   * console.log(y.toArray()); // [1, 2]
   * ```
   */
  copy(): Tensor<D> {
    return new Tensor<D>(convertedCopy(descriptorOf(this)));
  }

  /**
   * Copies as `copy` does, without blocking the event loop.
   *
   * @returns A promise of a tensor that owns its memory.
   * @throws As `copy` does.
   */
  async copyAsync(): Promise<Tensor<D>> {
    return convertedAsync(descriptorOf(this)) as Promise<Tensor<D>>;
  }

  /**
   * Returns the elements row-major without gaps: a second owner of this memory if they are, a copy otherwise.
   *
   * @returns A tensor that shares this memory, or a copy.
   * @throws As `copy` does.
   * @example
   * ```ts
   * import { Tensor } from 'dlpack';
   * const x = Tensor.from([[1, 2], [3, 4]]);
   * console.log(x.contiguous().sharesMemory(x), x.transpose().contiguous().sharesMemory(x)); // true false
   * ```
   */
  contiguous(): Tensor<D> {
    const descriptor = descriptorOf(this);
    return descriptor.isContiguous && (descriptor.bitOffset & 7) === 0 ? this.share() : this.copy();
  }

  /**
   * Returns the tensor on another device: a second owner if it is already there, a row-major copy otherwise. A copy to the
   * host is complete when this returns. A copy to a device is complete for all later work on its current stream.
   *
   * @param device - A device name or a GPUDevice.
   * @returns A tensor that shares this memory, or a copy on the other device.
   * @throws UnsupportedDeviceError if this process cannot reach the device, and LoadError without its driver.
   * @throws OutOfMemoryError if there is not enough memory, and DisposedError after `dispose()`.
   * @example
   * ```ts no-run: needs a GPU
   * import { Tensor } from 'dlpack';
   * const x = Tensor.from([1, 2], { dtype: 'float32' }).to('cuda:0');
   * console.log(x.device, x.to('cpu').toArray()); // cuda:0 [1, 2]
   * ```
   */
  to(device: DeviceArgument): Tensor<D> {
    const descriptor = descriptorOf(this);
    const target = parseDevice(device);
    if (target === descriptor.device) return this.share();
    return new Tensor<D>(copyTo(descriptor, descriptor.dtype, target));
  }

  /**
   * Copies as `to` does, without blocking the event loop. The copy is complete when the promise resolves. You may dispose the
   * tensor meanwhile.
   *
   * @param device - A device name or a GPUDevice.
   * @param options - Whether to copy through host memory where two devices cannot copy directly; false when absent.
   * @returns A promise of a tensor that shares this memory, or of a copy on the other device.
   * @throws As `to` does.
   */
  async toAsync(device: DeviceArgument, options: ToAsyncOptions = {}): Promise<Tensor<D>> {
    checkOptions(options, { stage: 'boolean' }, '{ stage: true }');
    const descriptor = descriptorOf(this);
    const target = parseDevice(device);
    if (target === descriptor.device) return this.share();
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
   * Gives the elements another shape. Shares the memory where strides allow it, and copies otherwise.
   *
   * @param shape - The new lengths. One of them may be -1.
   * @param options - `copy: true` always copies, and `copy: false` throws where a copy is needed.
   * @returns A tensor that shares this memory where strides allow it, or a copy.
   * @throws LayoutError if the sizes differ, or if a copy is needed and not allowed.
   * @throws ArgumentTypeError or ArgumentValueError for a shape that is no array of lengths with at most one -1.
   * @example
   * ```ts
   * import { Tensor } from 'dlpack';
   * const x = Tensor.from([[1, 2, 3], [4, 5, 6]]);
   * console.log(x.reshape([3, -1]).shape, x.reshape([6]).sharesMemory(x)); // [3, 2] true
   * ```
   */
  override reshape(shape: readonly number[], options?: { copy?: boolean }): Tensor<D> {
    if (options !== undefined) checkOptions(options, { copy: 'boolean' }, '{ copy: false }');
    const { extent } = descriptorOf(this);
    const reshaped = reshapeExtent(extent, shape);
    const copy = options?.copy;
    if (reshaped !== null && copy !== true) return derive(this, reshaped) as Tensor<D>;
    if (copy === false) throw needsCopy(extent, shape);
    // Not the descriptor from before, because getters of the shape may have disposed this tensor.
    return shaped(convertedCopy(descriptorOf(this)), shape) as Tensor<D>;
  }

  /**
   * Releases this owner's reference. The last release frees the memory and detaches `.data`, before this returns. A second
   * call does nothing.
   */
  dispose(): void {
    takeDescriptor(this)?.storage.release();
  }

  /** Disposes the tensor at the end of a block that begins with `using`. */
  [disposeSymbol](): void {
    this.dispose();
  }

  /**
   * Exports the tensor as a producer of the protocol (docs/spec.md).
   *
   * @param request - What the consumer wants; the memory as it is when absent.
   * @returns A managed tensor that shares the memory unless the request asks for a copy, or a native external.
   * @throws BufferError for a request that this tensor cannot meet without a copy.
   */
  [DLPACK](request?: DLPackRequest | null): ManagedTensor | object {
    const wanted = readRequest(request);
    const produced = produce(descriptorOf(this), wanted);
    if (wanted.copy !== true) sharedDescriptorOf(this);
    return produced;
  }

  /**
   * Names the device before an exchange (docs/spec.md).
   *
   * @returns The two numbers.
   * @throws DisposedError after `dispose()`.
   */
  [DLPACK_DEVICE](): DLDevice {
    const { type, id } = descriptorOf(this).device;
    return { type, id };
  }
}

function joinedBy(tensors: readonly TensorView[], options: JoinOptions | undefined, isStack: boolean): TensorView {
  const joined = joinTensors(tensors, options, isStack);
  return 'out' in joined ? joined.out : new Tensor(joined.made);
}

/** Holds a reference to the source until the copy is made, so that the caller may dispose it meanwhile. */
async function convertedAsync(
  source: Descriptor,
  dtype = source.dtype,
  device = source.device,
  scaling: Scaling | null = null,
): Promise<Tensor> {
  source.storage.refs++;
  try {
    const copy = allocateLike(source.shape, dtype, source.flags & Flag.subBytePadded, device);
    try {
      await convertElementsAsync(source, copy, true, scaling);
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
