/** native/conformance/peer.cc as the cases see it: it makes externals of any kind, and takes those of a library. */

import { rowMajor } from '../probe.js';
import { matrix, type Recipe, widthOf } from '../recipes.js';
import { gather, IS_PADDED, placesOf } from '../reference.js';

/** Native code beside the library under test: `conformancePeer()` of `dlpack/native` makes it. */
export interface Peer {
  /**
   * Makes a native external from numbers: any header, shape and strides, also wrong ones.
   *
   * @param header - The fields of the struct: version, flags, device, axes, dtype and offset.
   * @param shape - The lengths of the axes; null for a NULL pointer.
   * @param strides - In elements; null for a NULL pointer.
   * @param bytes - The memory; null for a NULL pointer.
   */
  make(
    header: BigInt64Array,
    shape: BigInt64Array | null,
    strides: BigInt64Array | null,
    bytes: Uint8Array | null,
  ): object;
  /**
   * Makes an external with a tensor but without a type tag, or with the tag of somebody else.
   *
   * @param hasTag - Whether it has the tag of somebody else.
   */
  makeUntagged(hasTag: boolean): object;
  /**
   * Returns true for a native external.
   *
   * @param value - Any value.
   */
  isExternal(value: unknown): boolean;
  /**
   * Consumes an external.
   *
   * @param external - The external.
   * @returns Its numbers, with its token as the last of the header; null if it is no tensor.
   */
  take(external: object): [header: BigInt64Array, shape: BigInt64Array | null, strides: BigInt64Array | null] | null;
  /**
   * Copies bytes out of a taken tensor.
   *
   * @param token - The last number of the header that `take` returned.
   * @param offset - Bytes from the first element.
   * @param length - How many bytes.
   * @returns The copy.
   */
  read(token: bigint, offset: number, length: number): ArrayBuffer;
  /**
   * Writes one byte of a taken tensor.
   *
   * @param token - The last number of the header that `take` returned.
   * @param offset - Bytes from the first element.
   * @param byte - The value.
   */
  write(token: bigint, offset: number, byte: number): void;
  /**
   * Calls the deleter of a taken tensor.
   *
   * @param token - The last number of the header that `take` returned.
   */
  release(token: bigint): void;
  /**
   * Calls the deleters of taken tensors on `count` threads at once.
   *
   * @param tokens - The last numbers of the headers that `take` returned.
   * @param count - How many threads.
   */
  releaseOnThreads(tokens: BigUint64Array, count: number): void;
  /** Returns how many tensors of this peer were released. */
  deleted(): number;
  /** Returns how many tensors of this peer had changed fields when they were released. */
  changed(): number;
}

/** The fields of a struct that differ from those of the recipe. `null` is a NULL pointer. */
export interface StructChanges {
  readonly major?: number;
  readonly minor?: number;
  readonly flags?: bigint;
  readonly deviceType?: number;
  readonly deviceId?: number;
  readonly ndim?: number;
  readonly code?: number;
  readonly bits?: number;
  readonly lanes?: number;
  readonly byteOffset?: bigint;
  /** Bytes from an aligned address to `data`. */
  readonly misaligned?: number;
  readonly hasDeleter?: boolean;
  readonly shape?: readonly bigint[] | null;
  readonly strides?: readonly bigint[] | null;
  readonly bytes?: Uint8Array | null;
}

const integers = (values: readonly (number | bigint)[]): BigInt64Array => BigInt64Array.from(values, BigInt);

/** An external over memory of the peer. */
export function makeExternal(peer: Peer, changes: StructChanges = {}, recipe: Recipe = matrix): object {
  const { dtype, isPadded } = recipe;
  const shape = changes.shape === undefined ? integers(recipe.shape) : changes.shape && integers(changes.shape);
  const strides =
    changes.strides === undefined ? integers(rowMajor(recipe.shape)) : changes.strides && integers(changes.strides);
  const header = integers([
    changes.major ?? 1,
    changes.minor ?? 3,
    BigInt.asIntN(64, changes.flags ?? (isPadded ? BigInt(IS_PADDED) : 0n)),
    changes.deviceType ?? 1,
    changes.deviceId ?? 0,
    changes.ndim ?? shape?.length ?? recipe.shape.length,
    changes.code ?? dtype.code,
    changes.bits ?? dtype.bits,
    changes.lanes ?? dtype.lanes,
    BigInt.asIntN(64, changes.byteOffset ?? 0n),
    changes.misaligned ?? 0,
    changes.hasDeleter === false ? 0 : 1,
  ]);
  return peer.make(header, shape, strides, changes.bytes === undefined ? recipe.bytes : changes.bytes);
}

/** What the peer took out of an external. */
export interface Struct {
  readonly major: number;
  readonly minor: number;
  readonly flags: number;
  readonly device: { readonly type: number; readonly id: number };
  readonly dtype: { readonly code: number; readonly bits: number; readonly lanes: number };
  readonly shape: readonly number[];
  /** Null if the struct has none. */
  readonly strides: readonly number[] | null;
  readonly byteOffset: number;
  readonly data: bigint;
  /** The address of the struct, by which the peer knows it. */
  readonly token: bigint;
}

/** Takes a tensor; null if the external has none, or is no external. */
export function takeStruct(peer: Peer, external: object): Struct | null {
  const taken = peer.take(external);
  if (taken === null) return null;
  const [header, shape, strides] = taken;
  const [major, minor, flags, type, id, , code, bits, lanes, byteOffset] = Array.from(header, Number) as number[];
  return {
    major,
    minor,
    flags,
    device: { type, id },
    dtype: { code, bits, lanes },
    shape: Array.from(shape ?? [], Number),
    strides: strides === null ? null : Array.from(strides, Number),
    byteOffset,
    data: header[10],
    token: BigInt.asUintN(64, header[11] as bigint),
  } as Struct;
}

/** The elements of a struct in row-major order without gaps. */
export function readStruct(peer: Peer, struct: Struct): Uint8Array {
  const width = widthOf(struct.dtype, (struct.flags & IS_PADDED) !== 0);
  const places = placesOf(struct.shape, struct.strides ?? rowMajor(struct.shape));
  if (places.length === 0) return new Uint8Array();
  const low = Math.floor((Math.min(...places) * width) / 8);
  const high = Math.ceil(((Math.max(...places) + 1) * width) / 8);
  const bytes = new Uint8Array(peer.read(struct.token, low, high - low));
  return gather(bytes, -low, width, places);
}
