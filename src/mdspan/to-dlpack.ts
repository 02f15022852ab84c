/** Converts spans to DLTensors: a wrapper owns the shape and strides, and refers to the span's memory. */

import type { DLDevice } from '../device.js';
import type { DLDataType } from '../dtype.js';
import { ArgumentTypeError, BufferError, DisposedError, isA } from '../errors.js';
import { DLPACK, DLPACK_DEVICE, type DLPackRequest, type ManagedTensor } from '../protocol/managed.js';
import { disposeSymbol } from '../storage/storage.js';
import type { ElementType } from './element-type.js';
import type { BigShape } from './extents.js';
import type { Integer } from './integers.js';
import type { StridedMapping } from './mapping.js';
import { memoryOf, type Pointer } from './pointer.js';
import { describeSpan, spanDevice } from './produce.js';
import { Mdspan, type SpanKind } from './span.js';

/** The fields of the C struct as a plain object. */
export interface DLTensorFields {
  /**
   * The address of the memory; null when there are no elements. Without native code (browsers) there are no addresses,
   * and `data` holds the bytes from the first element on.
   */
  readonly data: bigint | Uint8Array | null;
  /** Where the memory is. */
  readonly device: DLDevice;
  /** The number of axes. */
  readonly ndim: number;
  /** The element type. */
  readonly dtype: DLDataType;
  /** Null without axes. */
  readonly shape: ArrayLike<number | bigint> | null;
  /** In elements. Null without axes. */
  readonly strides: ArrayLike<number | bigint> | null;
  /** Bytes from `data` to the first element. */
  readonly byteOffset: number | bigint;
}

/**
 * The memory of the DLTensors that were made here; null if a program changed the pointer. An address keeps nothing
 * alive. When a DLTensor becomes a span again, this map provides the memory itself, so that the span cannot use a typed
 * array that the garbage collector has freed.
 */
export const origins = new WeakMap<DLTensorFields, () => Pointer | null>();

/** A span that a DLTensor can describe: its handle is a pointer, and its layout has strides. */
export interface DescribableSpan {
  /** Who may read the memory. */
  readonly kind: SpanKind;
  /** The element type. */
  readonly dtype: ElementType;
  /** The pointer to the first element. */
  readonly dataHandle: Pointer;
  /** Turns indices into offsets. */
  readonly mapping: StridedMapping<BigShape>;
}

/** The fields of a DLTensor whose shape and strides a wrapper owns. */
export interface OwnedFields extends Omit<WritableFields, 'shape' | 'strides'> {
  /** The lengths of the axes, in an array of the wrapper; null without axes. */
  shape: BigInt64Array | null;
  /** The strides, in elements, in an array of the wrapper; null without axes. */
  strides: BigInt64Array | null;
}

/** The fields of a DLTensor, which can be written. */
export type WritableFields = { -readonly [Field in keyof DLTensorFields]: DLTensorFields[Field] };

/**
 * The DLTensor of a {@link DLPackTensor}, like `DLTensor&` in C++: its fields can be written, and show the current
 * values of the wrapper. It is a producer of the protocol while its fields match the span.
 */
export interface OwnedDLTensor extends OwnedFields {
  /**
   * Exports the memory of the span as a producer of the protocol (docs/spec.md).
   *
   * @param request - What the consumer asks for; null for anything.
   * @returns A managed tensor, or an external for native code.
   * @throws BufferError if the fields no longer match the span.
   */
  [DLPACK](request?: DLPackRequest | null): ManagedTensor | object;
  /** Names the device before an exchange (docs/spec.md). */
  [DLPACK_DEVICE](): DLDevice;
}

/** The same DLTensor, read-only, like `const DLTensor&`. */
export type ConstDLTensor = Readonly<OwnedDLTensor>;

/** The fields, and the storage of two of them. */
interface Fields extends Omit<OwnedFields, 'data'> {
  readonly span: Mdspan | null;
  readonly pointer: Pointer | null;
  /** undefined: the pointer's address, read at each use, because the owner may have released the memory since. */
  data: DLTensorFields['data'] | undefined;
  readonly shapeStorage: BigInt64Array;
  readonly stridesStorage: BigInt64Array;
  isChanged: boolean;
}

/** The fields of a span. Without a span all are zero, as in a default-constructed C++ wrapper. */
function fieldsOf(span: Mdspan | null): Fields {
  const described = span === null ? null : describeSpan(span as never);
  const { code, bits, lanes } = described?.pointer.element.dtype ?? { code: 0, bits: 0, lanes: 0 };
  const shapeStorage = BigInt64Array.from(described?.shape ?? [], BigInt);
  const stridesStorage = BigInt64Array.from(described?.strides ?? [], BigInt);
  const hasAxes = shapeStorage.length > 0;
  return {
    span,
    pointer: described?.pointer ?? null,
    data: (described?.size ?? 0) === 0 ? null : undefined,
    device: Object.freeze(span === null ? { type: 0, id: 0 } : spanDevice(span as never)),
    ndim: shapeStorage.length,
    dtype: Object.freeze({ code, bits, lanes }),
    shapeStorage,
    stridesStorage,
    // Without axes both pointers are NULL.
    shape: hasAxes ? shapeStorage : null,
    strides: hasAxes ? stridesStorage : null,
    byteOffset: 0,
    isChanged: false,
  };
}

/** A copy of the fields with its own storage. Pointers to the old storage then point to the new storage. */
function copyFields(fields: Fields): Fields {
  const shapeStorage = fields.shapeStorage.slice();
  const stridesStorage = fields.stridesStorage.slice();
  return {
    ...fields,
    shapeStorage,
    stridesStorage,
    shape: fields.shape === fields.shapeStorage ? shapeStorage : fields.shape,
    strides: fields.strides === fields.stridesStorage ? stridesStorage : fields.strides,
  };
}

/** Detaches arrays that a program kept, so that they do not describe memory that may no longer exist. */
function releaseFields({ shapeStorage, stridesStorage }: Fields): void {
  for (const { buffer } of [shapeStorage, stridesStorage]) {
    if (buffer.byteLength > 0) structuredClone(buffer, { transfer: [buffer as ArrayBuffer] });
  }
}

function dataOf({ data, pointer }: Fields): bigint | Uint8Array | null {
  if (data !== undefined || pointer === null) return data ?? null;
  if (pointer.address !== null) return pointer.address;
  const storage = memoryOf(pointer).storage();
  const { byteOffset } = pointer;
  return new Uint8Array(storage.buffer(), storage.start + byteOffset, memoryOf(pointer).nbytes - byteOffset);
}

const fieldNames = ['data', 'device', 'ndim', 'dtype', 'shape', 'strides', 'byteOffset'] as const;

/** A DLTensor over the fields that `read` returns. `read` throws once there are none. */
function makeTensor(read: () => Fields, isConst: boolean): OwnedDLTensor {
  const tensor = {} as OwnedDLTensor;
  for (const name of fieldNames) {
    const get = () => (name === 'data' ? dataOf(read()) : read()[name]);
    const set = (value: never) => {
      const fields = read();
      fields[name] = value;
      fields.isChanged = true;
    };
    Object.defineProperty(tensor, name, { enumerable: true, get, ...(isConst ? {} : { set }) });
  }
  const source = (): Mdspan => {
    const { span, isChanged, shape, strides } = read();
    // A program can write the arrays, too.
    const isSame = (values: ArrayLike<bigint> | null, expected: readonly Integer[]) =>
      expected.every((value, axis) => values?.[axis] === BigInt(value));
    if (span !== null && !isChanged && isSame(shape, span.shape) && isSame(strides, span.strides)) return span;
    throw new BufferError(
      'Expected the DLTensor of a span but its fields were changed; make a span of it first: toHostMdspan(tensor, { dtype })',
    );
  };
  Object.defineProperty(tensor, DLPACK, { value: (request?: DLPackRequest | null) => source()[DLPACK](request) });
  Object.defineProperty(tensor, DLPACK_DEVICE, { value: () => source()[DLPACK_DEVICE]() });
  origins.set(tensor, () => (read().data === undefined ? read().pointer : null));
  return Object.freeze(tensor);
}

/**
 * Owns the shape and stride storage of one DLTensor, but not the elements. A DLTensor keeps its wrapper's storage
 * alive, so a DLTensor of a temporary wrapper stays valid. After `dispose()` or `move()` its fields throw.
 *
 * @example
 * ```ts
 * import { fromDLPack } from 'dlpack';
 * import { DLPackTensor, extents, hostMdspan } from 'dlpack/mdspan';
 * using wrapper = new DLPackTensor(hostMdspan(new Int32Array([1, 2, 3, 4]), extents(2, 2)));
 * console.log(fromDLPack(wrapper.get()).toArray()); // [[1, 2], [3, 4]]
 * ```
 */
export class DLPackTensor {
  #fields: Fields | null;
  #tensor: OwnedDLTensor | null = null;
  #constant: ConstDLTensor | null = null;

  /**
   * Makes a wrapper of a span, as {@link toDLPackTensor} does. Without a span every field is zero, as in C++.
   *
   * @param span - A span over a pointer, whose layout has strides.
   * @throws As `toDLPackTensor` does.
   */
  constructor(span?: DescribableSpan) {
    if (span !== undefined && !isA(span, Mdspan)) throw new ArgumentTypeError('span', 'an mdspan', span);
    this.#fields = fieldsOf((span ?? null) as Mdspan | null);
  }

  /**
   * Returns the DLTensor with writable fields: `DLTensor& get()`. The same object each time.
   *
   * @throws DisposedError after `dispose()` or `move()`, and BufferError when the DLTensor is exported after its fields
   *   were changed.
   */
  get(): OwnedDLTensor {
    this.#live();
    this.#tensor ??= makeTensor(() => this.#live(), false);
    return this.#tensor;
  }

  /**
   * Returns the DLTensor with read-only fields: `const DLTensor& get() const`. The same object each time.
   *
   * @throws DisposedError after `dispose()` or `move()`, and BufferError when the DLTensor is exported after the fields
   *   were changed.
   */
  getConst(): ConstDLTensor {
    this.#live();
    this.#constant ??= makeTensor(() => this.#live(), true);
    return this.#constant;
  }

  /**
   * Makes a second wrapper of the same elements with its own storage.
   *
   * @throws DisposedError after `dispose()` or `move()`.
   */
  copy(): DLPackTensor {
    const copy = new DLPackTensor();
    copy.#fields = copyFields(this.#live());
    return copy;
  }

  /**
   * Makes a wrapper that takes over this wrapper's storage. This wrapper has none until it is assigned again.
   *
   * @throws DisposedError after `dispose()` or `move()`.
   */
  move(): DLPackTensor {
    const moved = new DLPackTensor();
    moved.#fields = this.#live();
    this.#fields = null;
    return moved;
  }

  /**
   * Copies another wrapper's fields and storage into this one: `dl = other`. `dl.assign(other.move())` moves them.
   *
   * @param other - The wrapper to copy from.
   * @returns This wrapper.
   * @throws ArgumentTypeError for anything but a wrapper, and DisposedError for one without storage.
   */
  assign(other: DLPackTensor): this {
    if (typeof other !== 'object' || other === null || !(#fields in other)) {
      throw new ArgumentTypeError('other', 'a DLPackTensor', other);
    }
    const fields = other.#live();
    if (other === this) return this;
    if (this.#fields !== null) releaseFields(this.#fields);
    this.#fields = copyFields(fields);
    return this;
  }

  /** True after `dispose()` or `move()`, until something is assigned. */
  get isDisposed(): boolean {
    return this.#fields === null;
  }

  /** Releases shape and strides. May be called twice. */
  dispose(): void {
    if (this.#fields !== null) releaseFields(this.#fields);
    this.#fields = null;
  }

  /** Releases it at the end of a block that begins with `using`. */
  [disposeSymbol](): void {
    this.dispose();
  }

  #live(): Fields {
    if (this.#fields !== null) return this.#fields;
    throw new DisposedError(
      'Expected a live DLPackTensor but it was disposed or moved; a DLTensor must not outlive the wrapper that owns its shape and strides',
    );
  }
}

/**
 * Makes a DLTensor view of a span, and the owner of its shape and strides. `byteOffset` is 0, because `data` is the
 * address of the element whose indices are all zero.
 *
 * @param span - A span over a pointer, whose layout has strides.
 * @returns A wrapper that shares the memory of the elements and owns the shape and the strides. Dispose it.
 * @throws ArgumentTypeError for anything but a span over a pointer, and LayoutError for a layout without strides or
 *   with elements outside of the memory.
 * @throws UnsupportedDeviceError for a device pointer of an unknown device, if no driver knows it.
 * @example
 * ```ts
 * import { extents, hostMdspan, toDLPackTensor } from 'dlpack/mdspan';
 * using dl = toDLPackTensor(hostMdspan(new Int32Array(6), extents(2, 3)));
 * console.log(dl.get().strides); // BigInt64Array(2) [ 3n, 1n ]
 * ```
 */
export function toDLPackTensor(span: DescribableSpan): DLPackTensor {
  if (!isA(span, Mdspan)) throw new ArgumentTypeError('span', 'an mdspan', span);
  return new DLPackTensor(span);
}
