/**
 * Accessors: turn a handle and an offset into a value. A user-written accessor can scale, check, log, or read from
 * something that is not memory at all.
 */

import type { ElementType, ElementValueOf } from './element-type.js';
import type { Pointer } from './pointer.js';

/** Reads and writes the elements of a span, as a C++ accessor policy does. */
export interface Accessor<V, H> {
  /** The value `offset` elements after the handle. */
  read(handle: H, offset: number): V;
  /** Writes the value. Absent if values cannot be written. */
  write?(handle: H, offset: number, value: V): void;
  /** The handle `offset` elements further, for `submdspan`. */
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

/** The default accessor of spans. */
export function defaultAccessor<D extends ElementType>(): PointerAccessor<D> {
  return pointerAccessor as unknown as PointerAccessor<D>;
}
