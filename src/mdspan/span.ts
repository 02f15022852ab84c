/**
 * Spans: a handle, a layout and an accessor. The type tells whether JavaScript can access the elements: host and
 * managed spans have `get` and `set`, a device span has neither.
 */

import { DeviceType, type DLDevice } from '../device.js';
import { ArgumentTypeError, IndexError, ReadOnlyError } from '../errors.js';
import { DLPACK, DLPACK_DEVICE, type DLPackRequest, type ManagedTensor } from '../protocol/managed.js';
import { readRequest } from '../protocol/request.js';
import type { Accessor, HandleOf, PointerAccessor, ValueOf } from './accessor.js';
import type { ElementType } from './element-type.js';
import type { BigShape, Extents, IntegerOf, NumberShape, PerAxis } from './extents.js';
import type { Integer } from './integers.js';
import { checkMapping, type LayoutMapping, offsetAt, stridesOf } from './mapping.js';
import { Pointer } from './pointer.js';
import { produceSpan, spanDevice } from './produce.js';

/** The memory of the elements of each kind of span: a device, and its type with the C name. */
export const memoryOfKind = {
  host: { device: 'cpu', type: DeviceType.cpu, constant: 'kDLCPU' },
  device: { device: 'cuda', type: DeviceType.cuda, constant: 'kDLCUDA' },
  managed: { device: 'cuda_managed', type: DeviceType.cuda_managed, constant: 'kDLCUDAManaged' },
} as const;

/** The memory of the elements. */
export type SpanKind = keyof typeof memoryOfKind;

/** The accessor of spans over pointers. */
export type DefaultAccessor<D> = D extends ElementType ? PointerAccessor<D> : Accessor<never, never>;

/**
 * A view of elements that another owner keeps alive. `D` is their dtype (null when the handle is not a pointer), `S`
 * the extents, `M` the layout mapping, `A` the accessor.
 *
 * @example
 * ```ts
 * import { deviceMdspan, extents, hostMdspan, type Mdspan } from 'dlpack/mdspan';
 * const text = ({ kind, dtype, shape }: Mdspan) => `${kind} ${dtype} ${shape}`;
 * console.log(text(hostMdspan(new Float32Array(6), extents(2, 3)))); // host float32 2,3
 * console.log(text(deviceMdspan(4096n, extents(2), { dtype: 'int8' }))); // device int8 2
 * ```
 */
export abstract class Mdspan<
  D extends ElementType | null = ElementType | null,
  S extends BigShape = NumberShape,
  M extends LayoutMapping<S> = LayoutMapping<S>,
  A = DefaultAccessor<D>,
> {
  /** Who may read the memory: the host, a device, or both. */
  abstract readonly kind: SpanKind;

  /** For this package only; programs call `hostMdspan`, `deviceMdspan` and `managedMdspan`. */
  constructor(
    /** The pointer to the first element. */
    readonly dataHandle: HandleOf<A>,
    /** Turns indices into offsets. */
    readonly mapping: M,
    /** Reads and writes an element. */
    readonly accessor: A,
  ) {
    checkMapping(mapping);
    checkAccessor(accessor);
  }

  /** The lengths of the axes. */
  get extents(): Extents<S> {
    return this.mapping.extents;
  }

  /** The lengths of the axes. */
  get shape(): S {
    return this.mapping.extents.lengths;
  }

  /** The strides of the axes, in elements. */
  get strides(): PerAxis<S> {
    return stridesOf(this.mapping) as unknown as PerAxis<S>;
  }

  /** The number of axes. */
  get rank(): S['length'] {
    return this.mapping.extents.rank;
  }

  /** Number of elements. */
  get size(): IntegerOf<S> {
    return this.mapping.extents.size;
  }

  /** The element type; null when the handle is not a pointer. */
  get dtype(): D {
    const handle: unknown = this.dataHandle;
    return (handle instanceof Pointer ? handle.element.name : null) as D;
  }

  /**
   * Returns the length of one axis.
   *
   * @param axis - The number of the axis, from 0.
   * @throws IndexError for an axis that does not exist.
   */
  extent(axis: number): IntegerOf<S> {
    return this.mapping.extents.extent(axis);
  }

  /**
   * Returns the stride of one axis, in elements.
   *
   * @param axis - The number of the axis, from 0.
   * @throws IndexError for an axis that does not exist, and LayoutError for a layout without strides.
   */
  stride(axis: number): IntegerOf<S> {
    return stridesOf(this.mapping)[this.mapping.extents.checkAxis(axis)] as IntegerOf<S>;
  }

  /**
   * Exports the same memory, not a copy, as a producer of the protocol (docs/spec.md).
   *
   * @param request - What the consumer asks for; null for anything.
   * @returns A managed tensor, or an external for native code.
   * @throws ArgumentTypeError for a handle that is no pointer, and LayoutError for a layout without strides or with
   *   elements outside of the memory.
   * @throws DisposedError for memory that its owner has released, and BufferError or UnsupportedDeviceError for a
   *   request that cannot be met.
   */
  [DLPACK](request?: DLPackRequest | null): ManagedTensor | object {
    return produceSpan(this, readRequest(request));
  }

  /** Names the device before an exchange (docs/spec.md). */
  [DLPACK_DEVICE](): DLDevice {
    return spanDevice(this);
  }

  /** Returns the class, the element type and the extents as text. */
  toString(): string {
    return `${this.constructor.name}(${this.dtype ?? 'custom'}, ${this.extents})`;
  }
}

function checkAccessor(accessor: unknown): void {
  const { read, offset } = (accessor ?? {}) as Partial<Accessor<unknown, unknown>>;
  if (typeof read !== 'function' || typeof offset !== 'function') {
    throw new ArgumentTypeError('accessor', 'an object with read(), offset() and perhaps write()', accessor);
  }
}

/**
 * A span whose elements the CPU can access.
 *
 * @example
 * ```ts
 * import { extents, hostMdspan } from 'dlpack/mdspan';
 * const span = hostMdspan(new Float32Array([1, 2, 3, 4]), extents(2, 2));
 * span.set(0, 1, 7);
 * console.log(span.get(0, 1), [...span]); // 7 [1, 7, 3, 4]
 * ```
 */
export abstract class ReachableMdspan<
  D extends ElementType | null,
  S extends BigShape,
  M extends LayoutMapping<S>,
  A,
> extends Mdspan<D, S, M, A> {
  /**
   * Reads one element, with one index from zero for each axis.
   *
   * @param index - One index for each axis.
   * @returns What the accessor reads: for a span over a pointer, the value of the element.
   * @throws IndexError for an index outside of the extents, and LayoutError for an offset outside of the memory.
   */
  get(...index: PerAxis<S>): ValueOf<A> {
    const accessor = this.accessor as Accessor<unknown, never>;
    return accessor.read(this.dataHandle as never, offsetAt(this.mapping, index)) as ValueOf<A>;
  }

  /**
   * Writes one element: `set(i, j, value)`.
   *
   * @param indexAndValue - One index for each axis, then the value.
   * @throws IndexError for an index outside of the extents, and ReadOnlyError if the elements are constant.
   * @throws ArgumentTypeError or ArgumentValueError for a value that the element type cannot hold.
   */
  set(...indexAndValue: [...index: PerAxis<S>, value: ValueOf<A>]): void {
    const accessor = this.accessor as Accessor<unknown, never>;
    const index = indexAndValue.slice(0, -1) as unknown as PerAxis<S>;
    if (index.length !== this.rank) {
      throw new IndexError(
        `Expected ${this.rank} indices and then a value for extents [${this.shape.join(', ')}] but received ${indexAndValue.length} arguments`,
        indexAndValue,
      );
    }
    if (accessor.write === undefined) {
      throw new ReadOnlyError('Expected a writable span for set() but its accessor has no write()');
    }
    accessor.write(this.dataHandle as never, offsetAt(this.mapping, index), indexAndValue.at(-1));
  }

  /** Iterates over the values in row-major index order, for any layout. */
  *[Symbol.iterator](): Generator<ValueOf<A>> {
    const { lengths } = this.extents;
    const index = lengths.map(() => 0);
    for (let left: Integer = this.size; left > 0; left--) {
      yield this.get(...(index as unknown as PerAxis<S>));
      for (let axis = lengths.length - 1; axis >= 0; axis--) {
        const next = (index[axis] as number) + 1;
        index[axis] = next === lengths[axis] ? 0 : next;
        if (index[axis] !== 0) break;
      }
    }
  }
}

/**
 * Views plain host memory. Made by {@link hostMdspan}.
 *
 * @example
 * ```ts
 * import { extents, type HostMdspan, hostMdspan } from 'dlpack/mdspan';
 * const trace = (matrix: HostMdspan<'float64', readonly [2, 2]>) => matrix.get(0, 0) + matrix.get(1, 1);
 * console.log(trace(hostMdspan(new Float64Array([1, 2, 3, 4]), extents(2, 2)))); // 5
 * ```
 */
export class HostMdspan<
  D extends ElementType | null = ElementType | null,
  S extends BigShape = NumberShape,
  M extends LayoutMapping<S> = LayoutMapping<S>,
  A = DefaultAccessor<D>,
> extends ReachableMdspan<D, S, M, A> {
  /** Who may read the memory. */
  readonly kind = 'host';
}

/**
 * Views memory on a CUDA device. JavaScript cannot access its elements, so it has no `get` and no `set`. Made by {@link
 * deviceMdspan}.
 *
 * @example
 * ```ts
 * import { type DeviceMdspan, deviceMdspan, extents } from 'dlpack/mdspan';
 * const span: DeviceMdspan<'float32', readonly [2, 3]> = deviceMdspan(4096n, extents(2, 3), { dtype: 'float32' });
 * console.log(span.kind, span.size, 'get' in span); // device 6 false
 * ```
 */
export class DeviceMdspan<
  D extends ElementType | null = ElementType | null,
  S extends BigShape = NumberShape,
  M extends LayoutMapping<S> = LayoutMapping<S>,
  A = DefaultAccessor<D>,
> extends Mdspan<D, S, M, A> {
  /** Who may read the memory. */
  readonly kind = 'device';
}

/**
 * Views CUDA managed memory, which host and device can both access. Made by {@link managedMdspan}.
 *
 * @example
 * ```ts
 * import { Tensor } from 'dlpack';
 * import 'dlpack/cuda';
 * import { managedMdspan } from 'dlpack/mdspan';
 * const x = Tensor.zeros([2, 3], 'float32', { device: 'cuda_managed' });
 * const span = managedMdspan(x); // kernels can take it, and so can JavaScript
 * console.log(span.kind, span.shape); // managed [2, 3]
 * ```
 */
export class ManagedMdspan<
  D extends ElementType | null = ElementType | null,
  S extends BigShape = NumberShape,
  M extends LayoutMapping<S> = LayoutMapping<S>,
  A = DefaultAccessor<D>,
> extends ReachableMdspan<D, S, M, A> {
  /** Who may read the memory. */
  readonly kind = 'managed';
}

/** The span class of a kind. */
export type SpanOf<
  K extends SpanKind,
  D extends ElementType | null,
  S extends BigShape,
  M extends LayoutMapping<S>,
  A,
> = {
  /** In host memory. */
  host: HostMdspan<D, S, M, A>;
  /** In memory of a device. */
  device: DeviceMdspan<D, S, M, A>;
  /** In memory that host and device can read. */
  managed: ManagedMdspan<D, S, M, A>;
}[K];

export const spanClasses = { host: HostMdspan, device: DeviceMdspan, managed: ManagedMdspan } as const;
