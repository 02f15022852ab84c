/**
 * Accessors: turn a handle and an offset into a value. A user-written accessor can scale, check, log, or read from
 * something that is not memory at all.
 */

import type { ElementType, ElementValueOf } from './element-type.js';
import type { Pointer } from './pointer.js';

/** Reads and writes the elements of a span, as a C++ accessor policy does. */
export interface Accessor<V, H> {
  /**
   * Returns the value `offset` elements after the handle.
   *
   * @param handle - The handle of the span.
   * @param offset - In elements, zero or more.
   */
  read(handle: H, offset: number): V;
  /**
   * Writes the value. Absent if values cannot be written.
   *
   * @param handle - The handle of the span.
   * @param offset - In elements, zero or more.
   * @param value - The value to write.
   */
  write?(handle: H, offset: number, value: V): void;
  /**
   * Returns the handle `offset` elements further, for `submdspan`.
   *
   * @param handle - The handle of the span.
   * @param offset - In elements, zero or more.
   */
  offset(handle: H, offset: number): H;
}

/** Reads and writes elements as they are. */
export type PointerAccessor<D extends ElementType> = Accessor<ElementValueOf<D>, Pointer<D>>;

/** The values of an accessor. */
export type ValueOf<A> = A extends Accessor<infer V, infer _H> ? V : never;
/** The handles of an accessor. */
export type HandleOf<A> = A extends Accessor<infer _V, infer H> ? H : never;

const pointerAccessor: PointerAccessor<ElementType> = Object.freeze({
  read: (handle: Pointer, offset: number) => handle.read(offset),
  write: (handle: Pointer, offset: number, value: ElementValueOf<ElementType>) => handle.write(offset, value),
  offset: (handle: Pointer, offset: number) => handle.plus(offset),
});

/**
 * Returns the default accessor of spans, which reads and writes elements as they are.
 *
 * @returns The accessor, the same object each time.
 * @example
 * ```ts
 * import { defaultAccessor, extents, hostMdspan, pointerTo } from 'dlpack/mdspan';
 * const { read, offset } = defaultAccessor<'float64'>();
 * const accessor = { offset, read: (handle: Parameters<typeof read>[0], i: number) => read(handle, i) / 2 };
 * const halves = hostMdspan(pointerTo(new Float64Array([2, 4])), extents(2), { accessor });
 * console.log([...halves]); // [1, 2]
 * ```
 */
export function defaultAccessor<D extends ElementType>(): PointerAccessor<D> {
  return pointerAccessor as unknown as PointerAccessor<D>;
}
