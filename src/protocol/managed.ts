/**
 * The objects that JavaScript libraries exchange: the protocol's symbols and the shape of its objects. docs/spec.md is
 * the normative text.
 */

import type { DLDevice } from '../device.js';
import type { DLDataType } from '../dtype.js';
import { Flag } from '../storage/descriptor.js';
import type { GPUBufferLike } from '../storage/storage.js';

/** `obj[DLPACK](request)` hands out a managed tensor. The JavaScript counterpart of Python's `__dlpack__`. */
export const DLPACK: unique symbol = Symbol.for('dlpack') as never;

/** `obj[DLPACK_DEVICE]()` names the device without exporting. The counterpart of `__dlpack_device__`. */
export const DLPACK_DEVICE: unique symbol = Symbol.for('dlpack.device') as never;

/** The bits of `flags`: `DLPACK_FLAG_BITMASK_*` of dlpack.h. */
export const ManagedFlag = Object.freeze({ ...Flag });

/** The DLPack version implemented here. */
export const DLPACK_VERSION = Object.freeze([1, 3] as const);

/** A consumer's request. Every field is optional, and unknown fields are ignored. */
export interface DLPackRequest {
  /** The newest version that the consumer understands. */
  maxVersion?: readonly [major: number, minor: number];
  /** The device where the consumer wants the data. */
  device?: DLDevice | null;
  /** true: always copy; false: never copy, throw instead; null: copy only when needed. */
  copy?: boolean | null;
  /** The consumer's stream, numbered as in the Python array API. Only for devices that have streams. */
  stream?: bigint | null;
  /**
   * true: the consumer also accepts a native external or an address. Otherwise `data` must be a buffer or a GPUBuffer.
   * 'only': the consumer is native code and accepts only an external.
   */
  native?: boolean | 'only';
}

/** A GPUBuffer and the GPUDevice it belongs to. */
export interface GPUData {
  readonly gpuBuffer: GPUBufferLike;
  readonly gpuDevice: object;
}

/** A tensor in transit. One consumer consumes it, and that consumer calls `deleter` exactly once. */
export interface ManagedTensor {
  readonly version: readonly [major: number, minor: number];
  /** Bits of {@link ManagedFlag}. A bigint, as in `dlpack/abi`, is accepted. */
  readonly flags: number | bigint;
  readonly data: ArrayBufferLike | GPUData | bigint;
  /** Bytes from the start of `data` to the first element. */
  readonly byteOffset: number;
  readonly shape: readonly number[];
  /** In elements. Null or absent means row-major, which older producers use. */
  readonly strides?: readonly number[] | null;
  readonly dtype: DLDataType;
  readonly device: DLDevice;
  /** Releases the memory. It may be absent when the garbage collector does that. */
  readonly deleter?: (() => void) | null;
}

/** An object that can hand out its tensor. */
export interface DLPackProducer {
  /** Returns a {@link ManagedTensor}, or a type-tagged native external when `request.native` is true. */
  [DLPACK](request?: DLPackRequest): ManagedTensor | object;
  [DLPACK_DEVICE](): DLDevice;
}
