/** TensorView: describes memory that another owner keeps alive. */

import { type Device, type DeviceArgument, parseDevice } from './device.js';
import { type DType, parseDType, type Scalar, type TypedArrayOf } from './dtype.js';
import { ArgumentTypeError, adviceFor, DisposedError, IndexError, isA, ReadOnlyError } from './errors.js';
import { type Layout, offsetOf } from './layout.js';
import { Descriptor, Flag } from './storage/descriptor.js';
import { getDeviceBackend } from './storage/device-backend.js';
import { fillElements } from './values/convert.js';
import { copyInto } from './values/copy.js';
import { elementCodec } from './values/element.js';
import { ElementIterator } from './values/iterate.js';
import { nestElements } from './values/nested.js';
import { formatTensor, formatTensorAsync } from './values/print.js';
import {
  broadcastLayout,
  expandLayout,
  flipLayout,
  needsCopy,
  reshapeLayout,
  type SliceRange,
  sliceLayout,
  squeezeLayout,
  transposeLayout,
} from './view-layout.js';

/** Elements in nested arrays, one level for each axis. A tensor without axes gives the bare value. */
export type NestedArray<T> = T | NestedArray<T>[];

/** Reads the private descriptor. Throws `DisposedError` after the release. For this package's other modules. */
export let descriptorOf: (view: TensorView) => Descriptor;
/**
 * The descriptor, unless it was removed, even after its memory was released. Throws for a proxy of a view. So small that V8
 * inlines it everywhere.
 */
export let rawDescriptorOf: (view: TensorView) => Descriptor | null;
/** Removes and returns the descriptor; null if it was removed before, or for a view. For `Tensor.dispose`. */
export let takeDescriptor: (view: TensorView) => Descriptor | null;
/** The descriptor, even after its memory was released. Throws for other values, such as a proxy of a view. */
let peekDescriptor: (view: TensorView) => Descriptor | null;
let makerOf: (view: TensorView) => MakeOwner | null;

/** Makes another owner of a descriptor's storage. */
export type MakeOwner = (descriptor: Descriptor) => TensorView;

/** Returns the object that it is given, so that a derived class adds its private fields to that object. */
class Given {
  constructor(object: object) {
    // biome-ignore lint/correctness/noConstructorReturn: the object is not made here
    return object;
  }
}

/**
 * The private fields of a view. They are not fields of TensorView, because V8 does not inline the constructor of a base
 * class with private fields. docs/decisions/descriptor-and-tensor.md has the figures.
 */
class Content extends Given {
  #descriptor: Descriptor | null;
  /** Null for a view, which does not own its memory. */
  readonly #makeOwner: MakeOwner | null;

  constructor(view: object, descriptor: Descriptor, makeOwner: MakeOwner | null) {
    super(view);
    this.#descriptor = descriptor;
    this.#makeOwner = makeOwner;
  }

  static {
    peekDescriptor = (view) => {
      try {
        return (view as object as Content).#descriptor;
      } catch {
        throw new ArgumentTypeError('tensor', 'a Tensor or TensorView itself, not a proxy of one', view);
      }
    };
    rawDescriptorOf = (view) => (view as object as Content).#descriptor;
    descriptorOf = (view) => {
      let descriptor: Descriptor | null;
      try {
        descriptor = (view as object as Content).#descriptor;
      } catch {
        descriptor = peekDescriptor(view); // throws a typed error; separate, to keep this hot path small
      }
      if (descriptor === null || descriptor.storage.refs === 0) throw disposed();
      return descriptor;
    };
    takeDescriptor = (view) => {
      const descriptor = peekDescriptor(view);
      const content = view as object as Content;
      content.#descriptor = null;
      return content.#makeOwner === null ? null : descriptor;
    };
    makerOf = (view) => (view as object as Content).#makeOwner;
  }
}

/**
 * A view of a tensor: shape, strides, dtype, device and memory that it does not own.
 *
 * Using a view after its owner was disposed throws `DisposedError`.
 */
export class TensorView<D extends DType = DType> {
  /**
   * Only a type. Without it TypeScript 5.4 rejects a `TensorView<'float32'>` where a `TensorView` is expected. It is not
   * optional, so that TypeScript rejects other objects with the same properties.
   */
  declare protected readonly variance: { [K in D]?: K };

  /** For this package only; programs call `tensor.view()`. */
  constructor(descriptor: Descriptor, makeOwner: MakeOwner | null = null) {
    if (!(descriptor instanceof Descriptor)) {
      throw new ArgumentTypeError('descriptor', 'a tensor made with Tensor.from, wrap, adopt or empty', descriptor);
    }
    new Content(this, descriptor, makeOwner);
  }

  /** True once the memory was released. */
  get isDisposed(): boolean {
    return (peekDescriptor(this)?.storage.refs ?? 0) === 0;
  }

  /** The lengths of the axes, in a frozen array. */
  get shape(): readonly number[] {
    return descriptorOf(this).publicShape;
  }

  /** The strides of the axes in elements, in a frozen array. */
  get strides(): readonly number[] {
    return descriptorOf(this).publicStrides;
  }

  /** The element type, such as `'float32'`. */
  get dtype(): D {
    return descriptorOf(this).dtype.name as D;
  }

  /** The device of the memory, such as `'cpu'` or `'cuda:0'`. */
  get device(): Device {
    return descriptorOf(this).device.name;
  }

  /** The CUDA Array Interface of memory on a CUDA device, once `dlpack/cuda` is loaded; undefined otherwise. */
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
  get readonly(): boolean {
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

  /** True when `.data` is a copy, because this runtime forbids buffers over native memory (Electron). */
  get isDataCopied(): boolean {
    const { device, storage } = descriptorOf(this);
    return device.isHostAccessible && storage.isBufferCopied;
  }

  /**
   * The elements as a typed array over the same memory, for contiguous, writable host tensors. The array is detached
   * (length 0) when the last Tensor of the memory is disposed.
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

  /** As `data`, for read-only tensors too. The caller promises not to write. */
  unsafeData(): TypedArrayOf<D> {
    return descriptorOf(this).data() as TypedArrayOf<D>;
  }

  /** True when the tensor has this dtype; narrows the type. */
  is<E extends DType>(dtype: E): this is TensorView<E> {
    return descriptorOf(this).dtype === parseDType(dtype);
  }

  /** True when the memory is on this device. */
  on(device: DeviceArgument): boolean {
    return descriptorOf(this).device === parseDevice(device);
  }

  /** Reads one element. Negative indices count from the end. */
  get(...index: number[]): Scalar<D> {
    const descriptor = descriptorOf(this);
    if (index.length !== descriptor.shape.length) throw wrongCount(descriptor, index, false);
    const offset = offsetOf(descriptor.shape, descriptor.strides, index);
    const bit = descriptor.bitOffset + offset * descriptor.strideBits;
    const part = descriptor.storage.peek?.(descriptor, bit);
    return elementCodec(descriptor.dtype).read(part ?? descriptor.view(), part ? bit % 8 : bit) as Scalar<D>;
  }

  /** Writes one element: `set(i, j, value)`. Throws for a value of the wrong type or out of the dtype's range. */
  set(...indexAndValue: [...index: number[], value: Scalar<D>]): void {
    const descriptor = writable(this, 'set()');
    if (indexAndValue.length !== descriptor.shape.length + 1) throw wrongCount(descriptor, indexAndValue, true);
    const offset = offsetOf(descriptor.shape, descriptor.strides, indexAndValue as number[]);
    const bit = descriptor.bitOffset + offset * descriptor.strideBits;
    elementCodec(descriptor.dtype).write(descriptor.view(), bit, indexAndValue[indexAndValue.length - 1]);
    descriptor.storage.commit();
  }

  /** Writes one value into every element, with the checks of `set`. */
  fill(value: Scalar<D>): this {
    fillElements(writable(this, 'fill()'), value);
    return this;
  }

  /** Copies the elements of another tensor into this tensor, broadcast to this shape and converted as by `astype`. */
  copyFrom(source: TensorView): this {
    if (!isA(source, TensorView)) {
      throw new ArgumentTypeError(
        'source',
        'a tensor (Tensor.wrap makes one of a typed array, Tensor.from of values)',
        source,
        adviceFor(source),
      );
    }
    copyInto(descriptorOf(source), writable(this, 'copyFrom()'));
    return this;
  }

  /** The value of a tensor with exactly one element. */
  item(): Scalar<D> {
    const descriptor = descriptorOf(this);
    if (descriptor.size !== 1) {
      throw new IndexError(`Expected a tensor of one element for item() but this one has ${descriptor.size}`, null);
    }
    return elementCodec(descriptor.dtype).read(descriptor.view(), descriptor.bitOffset) as Scalar<D>;
  }

  /** Iterates over the elements in row-major order, without a copy. */
  [Symbol.iterator](): Generator<Scalar<D>> {
    return new ElementIterator(this, descriptorOf) as unknown as Generator<Scalar<D>>;
  }

  /** Nested arrays of values, one level for each axis. */
  toArray(): NestedArray<Scalar<D>> {
    return nestElements(descriptorOf(this)) as NestedArray<Scalar<D>>;
  }

  /**
   * Nested arrays for `JSON.stringify`, as `toArray()` makes them. JSON has no bigints, so an integer that a number
   * cannot hold exactly becomes decimal text. JSON itself writes NaN and infinities as null.
   */
  toJSON(): unknown {
    const plain = (value: unknown): unknown =>
      typeof value === 'bigint'
        ? Number.isSafeInteger(Number(value))
          ? Number(value)
          : String(value)
        : Array.isArray(value)
          ? value.map(plain)
          : value instanceof Uint8Array
            ? [...value]
            : value;
    return plain(this.toArray());
  }

  /** A view of the same elements that does not own them. */
  view(): TensorView<D> {
    return new TensorView<D>(descriptorOf(this));
  }

  /** The axes in another order; reversed without an argument. */
  transpose(axes?: readonly number[]): this {
    return derive(this, transposeLayout(descriptorOf(this).layout, axes)) as this;
  }

  /** A part of the tensor: for each axis an index, `[start, stop, step]` as in Python, or null for the whole axis. */
  slice(...ranges: SliceRange[]): this {
    return derive(this, sliceLayout(descriptorOf(this).layout, ranges)) as this;
  }

  /** Another shape over the same memory. One length may be -1. Throws when no strides describe the result. */
  reshape(shape: readonly number[]): this {
    const { layout } = descriptorOf(this);
    const reshaped = reshapeLayout(layout, shape);
    if (reshaped === null) throw needsCopy(layout, shape);
    return derive(this, reshaped) as this;
  }

  /** Repeats axes of length one without a copy (stride 0). */
  broadcastTo(shape: readonly number[]): this {
    return derive(this, broadcastLayout(descriptorOf(this).layout, shape)) as this;
  }

  /** Without axes of length one: all of them, or the named axes. */
  squeeze(axes?: number | readonly number[]): this {
    return derive(this, squeezeLayout(descriptorOf(this).layout, axes)) as this;
  }

  /** Adds a new axis of length one before `axis`. */
  expandDims(axis: number): this {
    return derive(this, expandLayout(descriptorOf(this).layout, axis)) as this;
  }

  /** In reverse order along all axes, or along the named axes. */
  flip(axes?: number | readonly number[]): this {
    return derive(this, flipLayout(descriptorOf(this).layout, axes)) as this;
  }

  toString(): string {
    const descriptor = peekDescriptor(this);
    const kind = kindOf(this);
    return descriptor === null || descriptor.storage.refs === 0 ? `${kind}(disposed)` : formatTensor(kind, descriptor);
  }

  /** Prints the tensor with the console. Copies the shown elements first where `console.log` cannot read them. */
  async print(): Promise<void> {
    const descriptor = descriptorOf(this);
    console.log(await formatTensorAsync(kindOf(this), descriptor));
  }

  /** `console.log` in Node and Bun. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }

  /** `console.log` in Deno. */
  [Symbol.for('Deno.customInspect')](): string {
    return this.toString();
  }
}

/** Derives a view or Tensor over other elements. A function, because user code must not choose the layout. For `Tensor`. */
export function derive(view: TensorView, layout: Layout): TensorView {
  const descriptor = descriptorOf(view).derive(layout);
  const makeOwner = makerOf(view);
  return makeOwner === null ? new TensorView(descriptor) : makeOwner(descriptor);
}

function kindOf(view: TensorView): string {
  return makerOf(view) === null ? 'TensorView' : 'Tensor';
}

function writable(view: TensorView, action: string): Descriptor {
  const descriptor = descriptorOf(view);
  if (!descriptor.isReadOnly) return descriptor;
  throw new ReadOnlyError(`Expected a writable tensor for ${action} but this one is read-only; write to a copy()`);
}

function wrongCount({ shape }: Descriptor, given: readonly unknown[], hasValue: boolean): IndexError {
  const [value, noun] = hasValue ? [' and then a value', ' arguments'] : ['', ''];
  return new IndexError(
    `Expected ${shape.length} indices${value} for shape [${shape.join(', ')}] but received ${given.length}${noun}`,
    given,
  );
}

function disposed(): DisposedError {
  return new DisposedError(
    'Expected a live tensor but its memory was released by dispose(), using or scope(); ' +
      'keep a second owner with fromDLPack(tensor), or a copy()',
  );
}
