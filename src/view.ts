/** TensorView: describes memory that another owner keeps alive. */

import * as content from './content.js';
import { type Device, type DeviceArgument, parseDevice } from './device.js';
import { type DType, parseDType, type Scalar, type TypedArray, type TypedArrayOf } from './dtype.js';
import { ArgumentTypeError, adviceFor, IndexError, isA, ReadOnlyError } from './errors.js';
import { type Extent, offsetOf, wrongCount } from './layout.js';
import { describeBytes } from './storage/arrays.js';
import { Descriptor, Flag } from './storage/descriptor.js';
import { getDeviceBackend } from './storage/device-backend.js';
import { differenceOf, distanceOf, type Tolerance } from './values/compare.js';
import { fillElements } from './values/convert.js';
import { copyInto, copyIntoAsync } from './values/copy.js';
import { elementCodec } from './values/element.js';
import { ElementIterator } from './values/iterate.js';
import { jsonOf, nestElements } from './values/nested.js';
import { notCloneable } from './values/not-cloneable.js';
import { haveCommonBytes } from './values/overlap.js';
import { formatTensor, formatTensorAsync, indented } from './values/print.js';
import { tagOf } from './values/summary.js';
import {
  broadcastExtent,
  expandExtent,
  flipExtent,
  needsCopy,
  reshapeExtent,
  type SliceRange,
  sliceExtent,
  squeezeExtent,
  transposeExtent,
} from './view-layout.js';

/**
 * Elements in nested arrays, one level for each axis of a shape; the bare value without axes. Where the number of axes
 * is not known, it is `any`, which can be indexed to any depth.
 */
export type NestedArray<
  T,
  S extends readonly number[] = readonly number[],
  Levels extends unknown[] = [],
> = number extends S['length']
  ? // biome-ignore lint/suspicious/noExplicitAny: no other type can be indexed to any depth
    any
  : Levels['length'] extends S['length']
    ? T
    : NestedArray<T[], S, [...Levels, unknown]>;

/** Reads the private descriptor. Throws `DisposedError` after the release. For this package's other modules. */
export const descriptorOf: (view: TensorView) => Descriptor = content.descriptorOf;
/** The descriptor, before its memory is handed to someone else. The tensor is no longer a copy with one owner. */
export const sharedDescriptorOf: (view: TensorView) => Descriptor = content.sharedDescriptorOf;
/** Removes and returns the descriptor; null if it was removed before, or for a view. For `Tensor.dispose`. */
export const takeDescriptor: (view: TensorView) => Descriptor | null = content.takeDescriptor;

/** Makes another owner of a descriptor's storage. */
export type MakeOwner = (descriptor: Descriptor) => TensorView;

/**
 * A view of a tensor: shape, strides, dtype, device and memory that it does not own.
 *
 * Using a view after its owner was disposed throws `DisposedError`.
 *
 * @hideconstructor
 * @example
 * ```ts
 * import { Tensor, type TensorView } from 'dlpack';
 * const first = (view: TensorView<'float32'>) => view.get(0); // reads, and keeps nothing alive
 * const x = Tensor.from([1, 2, 3], { dtype: 'float32' });
 * console.log(first(x), first(x.view())); // 1 1
 * ```
 */
export class TensorView<D extends DType = DType> {
  /**
   * Only a type. Without it TypeScript 5.4 rejects a `TensorView<'float32'>` where a `TensorView` is expected. It is not
   * optional, so that TypeScript rejects other objects with the same properties.
   */
  declare protected readonly variance: { [K in D]?: K };
  /** Makes `postMessage` and `structuredClone` throw a `DataCloneError`. */
  declare protected readonly notCloneable: () => void;

  /** For this package only; programs call `tensor.view()`. */
  constructor(descriptor: Descriptor, makeOwner: MakeOwner | null = null) {
    if (!(descriptor instanceof Descriptor)) {
      throw new ArgumentTypeError('descriptor', 'a tensor made with Tensor.from, wrap, adopt or empty', descriptor);
    }
    this.notCloneable = notCloneable;
    new content.Content(this, descriptor, makeOwner);
  }

  /** True once the memory was released. */
  get isDisposed(): boolean {
    return (content.peekDescriptor(this)?.storage.refs ?? 0) === 0;
  }

  /** The lengths of the axes, in a frozen array. */
  get shape(): readonly number[] {
    return descriptorOf(this).layout.publicShape;
  }

  /** The strides of the axes in elements, in a frozen array. */
  get strides(): readonly number[] {
    return descriptorOf(this).layout.publicStrides;
  }

  /** The element type, such as `'float32'`. */
  get dtype(): D {
    return descriptorOf(this).dtype.name as D;
  }

  /** The device of the memory, such as `'cpu'` or `'cuda:0'`. */
  get device(): Device {
    return descriptorOf(this).device.name;
  }

  /**
   * The CUDA Array Interface of memory on a CUDA device, once `dlpack/cuda` is loaded; undefined otherwise. For libraries that
   * look for it; programs call `toCudaArrayInterface`.
   *
   * @internal
   */
  get __cuda_array_interface__(): object | undefined {
    const descriptor = descriptorOf(this);
    return getDeviceBackend(descriptor.device)?.arrayInterface(descriptor);
  }

  /** The number of axes. */
  get ndim(): number {
    return descriptorOf(this).shape.length;
  }

  /** The number of elements. */
  get size(): number {
    return descriptorOf(this).size;
  }

  /** The number of bytes of the elements without gaps. */
  get nbytes(): number {
    return descriptorOf(this).nbytes;
  }

  /** The number of bytes from the start of the storage to the first element. */
  get byteOffset(): number {
    return Math.floor(descriptorOf(this).bitOffset / 8);
  }

  /** True when the memory must not be written. */
  get isReadOnly(): boolean {
    return descriptorOf(this).isReadOnly;
  }

  /** True when the producer made this copy for us and it was not shared since. */
  get isCopied(): boolean {
    return (descriptorOf(this).flags & Flag.isCopied) !== 0;
  }

  /** True when each element narrower than a byte has its own byte instead of being packed. */
  get isPadded(): boolean {
    return descriptorOf(this).isPadded;
  }

  /** True when the elements are row-major without gaps. */
  get isContiguous(): boolean {
    return descriptorOf(this).isContiguous;
  }

  /** True when `.data` is a copy, because this runtime forbids buffers over this memory (Electron). */
  get isDataCopied(): boolean {
    const { device, storage } = descriptorOf(this);
    return device.isHostAccessible && storage.isBufferCopied;
  }

  /**
   * The elements as a typed array over the same memory, for contiguous, writable host tensors. The array is detached
   * (length 0) when the last Tensor of the memory is disposed. Electron cannot detach the memory of new tensors.
   *
   * @throws ReadOnlyError for read-only memory, LayoutError unless the tensor is contiguous, UnsupportedDeviceError if the CPU
   * cannot read it, and DisposedError after `dispose()`.
   */
  get data(): TypedArrayOf<D> {
    const descriptor = descriptorOf(this);
    if (descriptor.isReadOnly) {
      throw new ReadOnlyError(
        'Expected a writable tensor for data but this one is read-only; read it with get() and toArray(), take a copy(), ' +
          'or call unsafeData() and do not write',
      );
    }
    return descriptor.data() as TypedArrayOf<D>;
  }

  /**
   * Returns the elements as `data` does, for read-only tensors too. You promise not to write.
   *
   * @throws As `data` does, except ReadOnlyError.
   */
  unsafeData(): TypedArrayOf<D> {
    return descriptorOf(this).data() as TypedArrayOf<D>;
  }

  /**
   * Tells whether the tensor has this dtype, and narrows its type.
   *
   * @param dtype - A dtype name.
   * @throws UnsupportedDTypeError if there is no such dtype.
   */
  is<E extends DType>(dtype: E): this is TensorView<E> {
    return descriptorOf(this).dtype === parseDType(dtype);
  }

  /**
   * Tells whether the memory is on this device.
   *
   * @param device - A device name or a GPUDevice.
   * @throws UnsupportedDeviceError if there is no such device.
   */
  isOn(device: DeviceArgument): boolean {
    return descriptorOf(this).device === parseDevice(device);
  }

  /**
   * Reads one element, without copying others.
   *
   * @param index - One index for each axis. Negative indices count from the end.
   * @returns A number, a bigint for 64 bits and more, a boolean, or `{ re, im }`.
   * @throws IndexError for an index outside of the tensor, or too many or too few of them.
   * @throws UnsupportedDeviceError if the CPU cannot read the memory; copy it with `to('cpu')` first.
   * @example
   * ```ts
   * import { Tensor } from 'dlpack';
   * const x = Tensor.from([[1, 2, 3], [4, 5, 6]]);
   * console.log(x.get(0, 2), x.get(-1, -1)); // 3 6
   * ```
   */
  get(...index: number[]): Scalar<D> {
    const descriptor = descriptorOf(this);
    const { layout } = descriptor;
    if (index.length !== layout.shape.length) throw wrongCount(layout.shape, index, false);
    const bit = descriptor.bitOffset + offsetOf(layout.shape, layout.strides, index) * layout.strideBits;
    const part = descriptor.storage.peek?.(layout, bit);
    return elementCodec(layout.dtype).read(part ?? descriptor.view(), part ? bit % 8 : bit) as Scalar<D>;
  }

  /**
   * Writes one element: `set(i, j, value)`. Everybody who shares the memory sees it.
   *
   * @param indexAndValue - One index for each axis, then the value.
   * @throws ArgumentTypeError or ArgumentValueError for a value that the dtype cannot hold.
   * @throws IndexError for an index outside of the tensor, and ReadOnlyError for read-only memory.
   * @example
   * ```ts
   * import { Tensor } from 'dlpack';
   * const x = Tensor.from([[1, 2, 3], [4, 5, 6]]);
   * x.transpose().set(2, 0, 9);
   * console.log(x.get(0, 2)); // 9
   * ```
   */
  set(...indexAndValue: [...index: number[], value: Scalar<D>]): void {
    const descriptor = writable(this, 'set()');
    const { layout } = descriptor;
    if (indexAndValue.length !== layout.shape.length + 1) throw wrongCount(layout.shape, indexAndValue, true);
    const offset = offsetOf(layout.shape, layout.strides, indexAndValue as number[]);
    const bit = descriptor.bitOffset + offset * layout.strideBits;
    elementCodec(layout.dtype).write(descriptor.view(), bit, indexAndValue[indexAndValue.length - 1]);
    descriptor.storage.commit();
  }

  /**
   * Writes one value into every element.
   *
   * @param value - As for `set`.
   * @returns This tensor.
   * @throws As `set` does.
   * @example
   * ```ts
   * import { Tensor } from 'dlpack';
   * const x = Tensor.from([[1, 2, 3], [4, 5, 6]]);
   * x.slice(null, 1).fill(0);
   * console.log(x.toArray()); // [[1, 0, 3], [4, 0, 6]]
   * ```
   */
  fill(value: Scalar<D>): this {
    fillElements(writable(this, 'fill()'), value);
    return this;
  }

  /**
   * Copies the elements of another tensor into this tensor, broadcast to this shape and converted as by `astype`.
   *
   * @param source - A tensor on any device.
   * @returns This tensor.
   * @throws ArgumentTypeError for anything but a tensor, and ReadOnlyError for read-only memory.
   * @throws LayoutError if the shapes do not broadcast, or if several indices of this tensor share one element.
   * @example
   * ```ts
   * import { Tensor } from 'dlpack';
   * const x = Tensor.zeros([2, 2], 'float32');
   * x.copyFrom(Tensor.from([1, 2])); // a row for both rows
   * console.log(x.toArray()); // [[1, 2], [1, 2]]
   * ```
   */
  copyFrom(source: TensorView): this {
    copyInto(descriptorOf(checkTensor(source, 'source')), writable(this, 'copyFrom()'));
    return this;
  }

  /**
   * Copies as `copyFrom` does, without blocking the event loop: from a GPU into this tensor's host memory, too. You may
   * dispose both tensors meanwhile.
   *
   * @param source - A tensor on any device.
   * @returns A promise of this tensor.
   * @throws As `copyFrom` does.
   */
  async copyFromAsync(source: TensorView): Promise<this> {
    await copyIntoAsync(descriptorOf(checkTensor(source, 'source')), writable(this, 'copyFromAsync()'));
    return this;
  }

  /**
   * Tells whether dtype, shape and values are equal. NaN equals NaN, and zero equals negative zero.
   *
   * @param other - A tensor on the host.
   * @returns True for equal tensors.
   * @throws ArgumentTypeError for anything but a tensor, and UnsupportedDeviceError if the CPU cannot read the memory.
   * @example
   * ```ts
   * import { Tensor } from 'dlpack';
   * console.log(Tensor.from([1, NaN]).equals(Tensor.from([1, NaN]))); // true
   * ```
   */
  equals(other: TensorView): boolean {
    return differenceOf(descriptorOf(this), descriptorOf(checkTensor(other))) === null;
  }

  /**
   * Tells whether the shapes are equal and the values close, as in NumPy. The dtypes may differ.
   *
   * @param other - A tensor on the host.
   * @param tolerance - How far apart values may be.
   * @returns True for close tensors.
   * @throws ArgumentTypeError for anything but a tensor, and UnsupportedDeviceError if the CPU cannot read the memory.
   * @example
   * ```ts
   * import { Tensor } from 'dlpack';
   * console.log(Tensor.from([1, 2]).allClose(Tensor.from([1, 2.000001]))); // true
   * ```
   */
  allClose(other: TensorView, tolerance: Tolerance = {}): boolean {
    return distanceOf(descriptorOf(this), descriptorOf(checkTensor(other)), tolerance) === null;
  }

  /**
   * Tells whether this tensor and another tensor, a typed array or a buffer lie in the same memory, so that neither is
   * a copy of the other. Compares bytes from the first element to the last: two columns of one matrix share memory.
   *
   * @param other - A tensor, a typed array or a buffer.
   * @returns True if both have bytes in common.
   * @throws ArgumentTypeError for anything but a tensor, a typed array or a buffer.
   * @example
   * ```ts
   * import { Tensor } from 'dlpack';
   * const array = new Float32Array(4);
   * console.log(Tensor.wrap(array).sharesMemory(array), Tensor.from(array).sharesMemory(array)); // true false
   * ```
   */
  sharesMemory(other: TensorView | TypedArray | Uint8ClampedArray | ArrayBufferLike): boolean {
    return haveCommonBytes(descriptorOf(this), memoryOf(other));
  }

  /**
   * Returns the value of a tensor with exactly one element.
   *
   * @throws IndexError if there are more elements, or none, and UnsupportedDeviceError if the CPU cannot read the
   *   memory.
   * @example
   * ```ts
   * import { Tensor } from 'dlpack';
   * console.log(Tensor.from([[42]]).item()); // 42
   * ```
   */
  item(): Scalar<D> {
    const descriptor = descriptorOf(this);
    if (descriptor.size !== 1) {
      throw new IndexError(`Expected a tensor of one element for item() but this one has ${descriptor.size}`, null);
    }
    return elementCodec(descriptor.dtype).read(descriptor.view(), descriptor.bitOffset) as Scalar<D>;
  }

  /**
   * Iterates over the elements in row-major order, without a copy. NumPy iterates over rows; here every step is one value.
   *
   * @returns An iterator that reads the memory as it is at each step.
   * @throws UnsupportedDeviceError if the CPU cannot read the memory, and DisposedError after `dispose()`.
   */
  [Symbol.iterator](): Generator<Scalar<D>> {
    return new ElementIterator(this, descriptorOf) as unknown as Generator<Scalar<D>>;
  }

  /**
   * Copies the elements into nested arrays, one level for each axis: `x.toArray()[0][1]`. `expectTensor` makes their depth known.
   *
   * @returns Arrays with their own memory.
   * @throws UnsupportedDeviceError if the CPU cannot read the memory.
   * @example
   * ```ts
   * import { Tensor } from 'dlpack';
   * const x = Tensor.from([[1, 2, 3], [4, 5, 6]]);
   * console.log(x.slice(1).toArray()); // [4, 5, 6]
   * ```
   */
  toArray(): NestedArray<Scalar<D>, this['shape']> {
    return nestElements(descriptorOf(this)) as NestedArray<Scalar<D>, this['shape']>;
  }

  /**
   * Makes nested arrays for `JSON.stringify`, as `toArray()` does. JSON has no bigints, so an integer that a number
   * cannot hold exactly becomes decimal text. JSON itself writes NaN and infinities as null.
   *
   * @returns Arrays with their own memory.
   * @throws As `toArray` does.
   */
  toJSON(): unknown {
    return jsonOf(this.toArray());
  }

  /**
   * Returns a view that shares the elements and does not own them. It needs no `dispose()`, and using it after its
   * owner was disposed throws.
   *
   * @throws DisposedError after `dispose()`.
   */
  view(): TensorView<D> {
    return new TensorView<D>(descriptorOf(this).asShared());
  }

  /**
   * Puts the axes into another order. Shares the memory: only the strides change.
   *
   * @param axes - The old axis for each new one; reversed when absent.
   * @returns A tensor, or a view of a view, that shares the memory.
   * @throws ArgumentTypeError or ArgumentValueError unless `axes` names each axis once.
   * @example
   * ```ts
   * import { Tensor } from 'dlpack';
   * const x = Tensor.from([[1, 2, 3], [4, 5, 6]]);
   * console.log(x.transpose().shape, x.transpose().strides); // [3, 2] [1, 3]
   * ```
   */
  transpose(axes?: readonly number[]): TensorView<D> {
    return derive(this, transposeExtent(descriptorOf(this).extent, axes)) as TensorView<D>;
  }

  /**
   * Takes a part of the tensor. Shares the memory.
   *
   * @param ranges - For each axis an index, which drops the axis, `[start, stop, step]` as in Python, or null for the whole axis.
   * Axes without a range stay whole.
   * @returns A tensor, or a view of a view, that shares the memory.
   * @throws IndexError for an index outside of the tensor, or for more ranges than axes.
   * @throws ArgumentTypeError or ArgumentValueError for anything but ranges, or a step of zero.
   * @example
   * ```ts
   * import { Tensor } from 'dlpack';
   * const x = Tensor.from([[1, 2, 3], [4, 5, 6]]);
   * console.log(x.slice(null, [0, 2]).toArray()); // [[1, 2], [4, 5]]
   * console.log(x.slice(-1, [null, null, -1]).toArray()); // [6, 5, 4]
   * ```
   */
  slice(...ranges: SliceRange[]): TensorView<D> {
    return derive(this, sliceExtent(descriptorOf(this).extent, ranges)) as TensorView<D>;
  }

  /**
   * Gives the elements another shape. Shares the memory.
   *
   * @param shape - The new lengths. One of them may be -1.
   * @returns A tensor, or a view of a view, that shares the memory.
   * @throws LayoutError if the sizes differ, or if no strides describe the result.
   * @throws ArgumentTypeError or ArgumentValueError for a shape that is no array of lengths with at most one -1.
   */
  reshape(shape: readonly number[]): TensorView<D> {
    const { extent } = descriptorOf(this);
    const reshaped = reshapeExtent(extent, shape);
    if (reshaped === null) throw needsCopy(extent, shape);
    return derive(this, reshaped) as TensorView<D>;
  }

  /**
   * Repeats axes of length one. Shares the memory: a repeated axis has stride 0.
   *
   * @param shape - The new lengths; new axes come first.
   * @returns A tensor, or a view of a view, that shares the memory.
   * @throws LayoutError if an axis of another length would have to change, and ArgumentTypeError or ArgumentValueError
   *   for an impossible shape.
   * @example
   * ```ts
   * import { Tensor } from 'dlpack';
   * const bias = Tensor.from([1, 2]).broadcastTo([3, 2]);
   * console.log(bias.toArray(), bias.strides); // [[1, 2], [1, 2], [1, 2]] [0, 1]
   * ```
   */
  broadcastTo(shape: readonly number[]): TensorView<D> {
    return derive(this, broadcastExtent(descriptorOf(this).extent, shape)) as TensorView<D>;
  }

  /**
   * Removes axes of length 1. Shares the memory.
   *
   * @param axes - The axes to remove; all of length 1 when absent.
   * @returns A tensor, or a view of a view, that shares the memory.
   * @throws LayoutError if a named axis has another length, and IndexError for an axis that does not exist.
   * @example
   * ```ts
   * import { Tensor } from 'dlpack';
   * console.log(Tensor.zeros([1, 3, 1], 'int8').squeeze().shape); // [3]
   * ```
   */
  squeeze(axes?: number | readonly number[]): TensorView<D> {
    return derive(this, squeezeExtent(descriptorOf(this).extent, axes)) as TensorView<D>;
  }

  /**
   * Adds an axis of length 1. Shares the memory.
   *
   * @param axis - The place of the new axis. Negative numbers count from the end.
   * @returns A tensor, or a view of a view, that shares the memory.
   * @throws IndexError for a place that does not exist, and LayoutError for too many axes.
   * @example
   * ```ts
   * import { Tensor } from 'dlpack';
   * console.log(Tensor.zeros([2, 3], 'int8').expandDims(0).shape); // [1, 2, 3]
   * ```
   */
  expandDims(axis: number): TensorView<D> {
    return derive(this, expandExtent(descriptorOf(this).extent, axis)) as TensorView<D>;
  }

  /**
   * Reverses the order of the elements. Shares the memory: strides become negative.
   *
   * @param axes - The axes to reverse; all when absent.
   * @returns A tensor, or a view of a view, that shares the memory.
   * @throws IndexError for an axis that does not exist.
   * @example
   * ```ts
   * import { Tensor } from 'dlpack';
   * console.log(Tensor.from([1, 2, 3]).flip().toArray()); // [3, 2, 1]
   * ```
   */
  flip(axes?: number | readonly number[]): this {
    return derive(this, flipExtent(descriptorOf(this).extent, axes)) as this;
  }

  /** Returns the text that `console.log` prints: the values as NumPy prints them, with shape and dtype. */
  toString(): string {
    const descriptor = content.peekDescriptor(this);
    const kind = kindOf(this);
    return descriptor === null || descriptor.storage.refs === 0 ? `${kind}(disposed)` : formatTensor(kind, descriptor);
  }

  /** Differs for different tensors, so that `assert.deepStrictEqual` sees the difference. */
  get [Symbol.toStringTag](): string {
    return tagOf(() => descriptorOf(this));
  }

  /**
   * Prints the tensor with the console. On a device, copies the shown elements to the host first, which `console.log` cannot do.
   *
   * @returns A promise that resolves when the text was printed.
   * @throws DisposedError after `dispose()`.
   */
  async print(): Promise<void> {
    console.log(await formatTensorAsync(kindOf(this), descriptorOf(this)));
  }

  /** `console.log` in Node and Bun. Node, and Bun's `util.inspect`, indent the lines of a nested text themselves. */
  [Symbol.for('nodejs.util.inspect.custom')](
    depth?: number,
    options?: { depth?: number; breakLength?: number },
  ): string {
    const isIndented = options === undefined || 'breakLength' in options;
    return indented(this.toString(), isIndented ? 0 : 2 * ((options.depth ?? 0) - (depth ?? 0)));
  }

  /** `console.log` in Deno. */
  [Symbol.for('Deno.customInspect')](_inspect?: unknown, options?: { indentationLvl?: number }): string {
    return indented(this.toString(), options?.indentationLvl ?? 0);
  }
}

/** Derives a view or Tensor over other elements. A function, because user code must not choose the extent. For `Tensor`. */
export function derive(view: TensorView, extent: Extent): TensorView {
  const descriptor = descriptorOf(view).derive(extent);
  const makeOwner = content.makerOf(view) as MakeOwner | null;
  return makeOwner === null ? new TensorView(descriptor) : makeOwner(descriptor);
}

/** The argument, if it is a tensor of this copy of the package. */
export function checkTensor(value: unknown, argument = 'other'): TensorView {
  if (isA(value, TensorView)) return value;
  const expected = 'a tensor (Tensor.wrap makes one of a typed array, Tensor.from of values)';
  throw new ArgumentTypeError(argument, expected, value, adviceFor(value));
}

function memoryOf(value: unknown): Descriptor {
  return isA(value, TensorView) ? descriptorOf(value) : (describeBytes(value) ?? descriptorOf(checkTensor(value)));
}

function kindOf(view: TensorView): string {
  return content.makerOf(view) === null ? 'TensorView' : 'Tensor';
}

/** The descriptor of a tensor that may be written. */
export function writable(view: TensorView, action: string): Descriptor {
  const descriptor = descriptorOf(view);
  if (!descriptor.isReadOnly) return descriptor;
  throw new ReadOnlyError(`Expected a writable tensor for ${action} but this one is read-only; write to a copy()`);
}
