/**
 * Pointer: a position in memory and the element type there. Every span that DLPack can describe has a Pointer as its
 * handle.
 */

import { Given } from '../base/given.js';
import { checkOptions, type OptionNames } from '../base/options.js';
import { cpu, DeviceType, deviceFromType } from '../device.js';
import { dtypeOfArray, type NaturalDType, type TypedArray } from '../dtype.js';
import {
  ArgumentTypeError,
  ArgumentValueError,
  BufferError,
  describe,
  isA,
  LayoutError,
  ReadOnlyError,
} from '../errors.js';
import { checkAttached } from '../storage/arrays.js';
import { BufferStorage, bufferLength } from '../storage/storage.js';
import type { WrappableArray } from '../tensor.js';
import { descriptorOf, TensorView } from '../view.js';
import { type ElementInfo, type ElementType, type ElementValueOf, parseElementType } from './element-type.js';
import { addressMemory, Memory } from './memory.js';

/** The private field of a pointer, which no static block reads, because the Babel preset of React Native takes none. */
class Inside extends Given {
  readonly #memory: Memory;

  constructor(pointer: object, memory: Memory) {
    super(pointer);
    this.#memory = memory;
  }

  static memory(pointer: object): Memory {
    return (pointer as Inside).#memory;
  }
}

/** The memory of a pointer. For this module's other files, because user code must not reach a storage. */
export const memoryOf: (pointer: Pointer) => Memory = Inside.memory;

/**
 * A typed pointer that does not own its memory. Made by {@link pointerTo}.
 *
 * @hideconstructor
 * @example
 * ```ts
 * import { type Pointer, pointerTo } from 'dlpack/mdspan';
 * const sum = (at: Pointer<'float32'>) => at.read(0) + at.read(1);
 * const pointer = pointerTo(new Float32Array([1, 2, 3]));
 * console.log(sum(pointer), sum(pointer.plus(1))); // 3 5
 * ```
 */
export class Pointer<D extends ElementType = ElementType> {
  /** Only a type. Without it TypeScript 5.4 rejects a `Pointer<'float32'>` where a `Pointer` is expected. */
  declare protected readonly variance: { [K in D]?: K };

  constructor(
    /** The element type. */
    readonly element: ElementInfo<D>,
    memory: Memory,
    /** Bytes from the start of the memory. */
    readonly byteOffset: number,
    /** True when the elements are constant. */
    readonly isReadOnly: boolean,
  ) {
    new Inside(this, memory);
  }

  /** The number of elements from here to the end of the memory. */
  get available(): number {
    return Math.floor((memoryOf(this).nbytes - this.byteOffset) / this.element.storageBytes);
  }

  /** The address; null without native code. */
  get address(): bigint | null {
    const base = memoryOf(this).address();
    return base === null ? null : base + BigInt(this.byteOffset);
  }

  /**
   * Makes a pointer some elements further.
   *
   * @param elements - How many elements; negative to go back.
   * @throws ArgumentTypeError for anything but an integer, and LayoutError for a place outside of the memory.
   */
  plus(elements: number): Pointer<D> {
    if (!Number.isSafeInteger(elements)) throw new ArgumentTypeError('elements', 'an integer', elements);
    const byteOffset = this.byteOffset + elements * this.element.storageBytes;
    if (byteOffset < 0 || byteOffset > memoryOf(this).nbytes) {
      throw new LayoutError(
        `Expected a pointer inside its memory of ${memoryOf(this).nbytes} bytes but ${elements} elements further is byte ${byteOffset}`,
      );
    }
    return new Pointer(this.element, memoryOf(this), byteOffset, this.isReadOnly);
  }

  /** Makes a pointer to the same position through which the elements cannot be written. */
  asReadOnly(): Pointer<D> {
    return this.isReadOnly ? this : new Pointer(this.element, memoryOf(this), this.byteOffset, true);
  }

  /**
   * Reads the element at an offset. Host memory only.
   *
   * @param offset - In elements.
   * @returns The value as `Tensor.get` returns it, such as a number; for a vector, an array of its values.
   * @throws LayoutError for an offset outside of the memory, DisposedError for memory that its owner has released, and
   *   BufferError for memory that JavaScript cannot read.
   */
  read(offset: number): ElementValueOf<D> {
    return this.element.codec.read(this.#viewAt(offset), 0) as ElementValueOf<D>;
  }

  /**
   * Writes the element at an offset. Host memory only.
   *
   * @param offset - In elements.
   * @param value - The value; an element type with several numbers takes an array.
   * @throws ReadOnlyError if the elements are constant, and LayoutError for an offset outside of the memory.
   * @throws ArgumentTypeError or ArgumentValueError for a value that the element type cannot hold.
   */
  write(offset: number, value: ElementValueOf<D>): void {
    if (this.isReadOnly) throw new ReadOnlyError('Expected a writable span for set() but its elements are constant');
    this.element.codec.write(this.#viewAt(offset), 0, value);
    memoryOf(this).storage().commit();
  }

  /** Checks the offset, because it may come from a user-written accessor and must stay inside the memory. */
  #viewAt(offset: number): DataView {
    const at = Number.isSafeInteger(offset) ? this.byteOffset + offset * this.element.storageBytes : -1;
    if (at < 0 || at + this.element.storageBytes > memoryOf(this).nbytes) {
      throw new LayoutError(`Expected an offset inside the memory under this pointer but received ${describe(offset)}`);
    }
    const storage = memoryOf(this).storage();
    return new DataView(storage.buffer(), storage.start + at);
  }
}

/** The element type that a typed array naturally has. */
export type NaturalElementType<A> = NaturalDType<A> extends ElementType ? NaturalDType<A> : ElementType;

/** What a pointer points to. */
export interface PointerOptions<D extends ElementType> {
  /** The element type. The default is that of the source. */
  dtype?: D;
  /** Makes the elements constant: they cannot be written, and managed tensors are flagged as read-only. The default is false. */
  readonly?: boolean;
}

/** What lies at an address. */
export interface AddressOptions<D extends ElementType> extends PointerOptions<D> {
  /** The element type. */
  dtype: D;
  /** The number of elements at the address. */
  size: number;
  /** The number of the CUDA device. By default the driver finds it. */
  deviceId?: number;
}

const pointerNames: OptionNames<PointerOptions<ElementType>> = { dtype: true, readonly: 'boolean' };
const addressNames: OptionNames<AddressOptions<ElementType>> = { ...pointerNames, size: true, deviceId: true };

/**
 * Makes a pointer to the first element of a typed array, an ArrayBuffer or a contiguous tensor. Unsafe for an address,
 * because it is trusted and the caller must keep the memory alive.
 *
 * @param address - An address, with `dtype` and `size`.
 * @param options - The element type (that of the source when absent), whether elements are constant (`readonly`, false
 *   when absent), and for an address the number of elements and of the CUDA device.
 * @returns A pointer that shares the memory and owns nothing.
 * @throws ArgumentTypeError for anything else, and ArgumentValueError for a dtype that the tensor does not have or an
 *   impossible size.
 * @throws LayoutError for a tensor with gaps, and BufferError for misaligned or detached memory.
 * @throws UnsupportedDTypeError for an unknown element type.
 * @example
 * ```ts
 * import { pointerTo } from 'dlpack/mdspan';
 * const pointer = pointerTo(new Float32Array([1, 2, 3])).plus(1);
 * console.log(pointer.read(0), pointer.available); // 2 2
 * ```
 */
export function pointerTo<D extends ElementType>(address: bigint, options: AddressOptions<D>): Pointer<D>;
/**
 * Makes a pointer to memory whose bytes have another element type.
 *
 * @param source - A typed array, an ArrayBuffer or a contiguous tensor.
 * @param options - The element type, and whether elements are constant (false when absent).
 * @returns A pointer that shares the memory and owns nothing.
 */
export function pointerTo<D extends ElementType>(
  source: WrappableArray | ArrayBufferLike | TensorView,
  options: PointerOptions<D> & { dtype: D },
): Pointer<D>;
/**
 * Makes a pointer to the first element of a tensor.
 *
 * @param tensor - A contiguous tensor.
 * @param options - The element type, and whether elements are constant (false when absent).
 * @returns A pointer that shares the memory and owns nothing.
 */
export function pointerTo<D extends ElementType>(tensor: TensorView<D>, options?: PointerOptions<D>): Pointer<D>;
/**
 * Makes a pointer to the first element of a typed array.
 *
 * @param array - The array.
 * @param options - The element type, and whether elements are constant (false when absent).
 * @returns A pointer that shares the memory and owns nothing.
 */
export function pointerTo<A extends WrappableArray>(
  array: A,
  options?: PointerOptions<never>,
): Pointer<NaturalElementType<A>>;
export function pointerTo(
  source: bigint | WrappableArray | ArrayBufferLike | TensorView,
  options: Partial<AddressOptions<ElementType>> = {},
): Pointer {
  checkOptions(options, typeof source === 'bigint' ? addressNames : pointerNames, "{ dtype: 'float32' }");
  if (typeof source === 'bigint') return pointerToAddress(source, options);
  if (isA(source, TensorView)) return pointerToTensor(source, options);
  return pointerToArray(source, options);
}

function pointerToAddress(address: bigint, options: Partial<AddressOptions<ElementType>>): Pointer {
  const { dtype, size = 0, deviceId, readonly } = options; // read once, because getters may return different values
  if (dtype === undefined) throw new ArgumentTypeError('dtype', 'a dtype for an address', dtype);
  const element = parseElementType(dtype);
  if (!Number.isSafeInteger(size * element.storageBytes) || size < 0) {
    throw new ArgumentValueError('size', 'a number of elements', size);
  }
  const device = deviceId === undefined ? null : deviceFromType(DeviceType.cuda, deviceId);
  const memory = addressMemory(address, size * element.storageBytes, device);
  return new Pointer(element, memory, 0, readonly === true);
}

function pointerToTensor(tensor: TensorView, options: PointerOptions<ElementType>): Pointer {
  if (!tensor.isContiguous) {
    throw new LayoutError(
      `Expected a contiguous tensor under another layout but strides are [${tensor.strides.join(', ')}]; ` +
        'give the tensor alone to keep them, or copy it with contiguous()',
      tensor.shape,
      tensor.strides,
    );
  }
  // Only the elements of the tensor, even if its storage holds more.
  return pointerToElements(tensor, options, tensor.nbytes);
}

/** A pointer to the first element of a tensor with any strides. */
export function pointerToElements(
  tensor: TensorView,
  options: PointerOptions<ElementType>,
  nbytes = Number.POSITIVE_INFINITY,
): Pointer {
  const descriptor = descriptorOf(tensor);
  const element = parseElementType(options.dtype ?? descriptor.dtype.name);
  if (element.dtype !== descriptor.dtype) {
    throw new ArgumentValueError('dtype', `the tensor's dtype '${descriptor.dtype.name}'`, element.name);
  }
  if (!element.isDescribable || descriptor.strideBits !== element.storageBytes * 8) {
    throw new LayoutError(
      `Expected ${element.name} elements of ${element.storageBytes} bytes each, as C++ has them, but this tensor packs them`,
      descriptor.shape,
      descriptor.strides,
    );
  }
  const { device, storage, bitOffset } = descriptor;
  const byteOffset = bitOffset / 8;
  const memory = new Memory(storage, Math.min(storage.nbytes, byteOffset + nbytes), device);
  return new Pointer(element, memory, byteOffset, descriptor.isReadOnly || options.readonly === true);
}

function pointerToArray(source: WrappableArray | ArrayBufferLike, options: PointerOptions<ElementType>): Pointer {
  const array = ArrayBuffer.isView(source) ? (source as TypedArray) : byteArray(source);
  const natural = array === null ? undefined : dtypeOfArray(array);
  if (array === null || natural === undefined) {
    throw new ArgumentTypeError('source', 'a typed array, an ArrayBuffer, a tensor or an address', source);
  }
  const element = parseElementType(options.dtype ?? natural.name);
  const { alignment } = element.dtype;
  // Alignment counts from the start of the buffer, as for typed arrays.
  if (array.byteOffset % alignment !== 0) {
    throw new BufferError(
      `Expected memory aligned to ${alignment} bytes for ${element.name} but the array starts at byte ${array.byteOffset} of its buffer`,
    );
  }
  const { buffer, byteOffset, byteLength } = array;
  const memory = new Memory(new BufferStorage(buffer, byteOffset, byteLength), byteLength, cpu);
  return new Pointer(element, memory, 0, options.readonly === true);
}

/** The bytes of a buffer; null for another value. */
function byteArray(buffer: ArrayBufferLike): TypedArray | null {
  if (bufferLength(buffer) === null) return null;
  checkAttached(buffer);
  return new Uint8Array(buffer);
}
