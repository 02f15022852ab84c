/**
 * What travels between JavaScript libraries: the protocol's symbols and the shape of its objects. docs/spec.md is the
 * normative text.
 *
 * @module
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
export const ManagedFlag = Object.freeze({
  readonly: Flag.readOnly,
  isCopied: Flag.isCopied,
  subBytePadded: Flag.subBytePadded,
});

/** The DLPack version implemented here. */
export const DLPACK_VERSION = Object.freeze([1, 3] as const);

/** What a consumer asks for. Every field is optional; unknown fields are ignored. */
export interface DLPackRequest {
  /** The newest version the consumer understands. */
  maxVersion?: readonly [major: number, minor: number];
  /** Where the consumer wants the data. */
  device?: DLDevice | null;
  /** true: a copy, always; false: never, throw instead; null: only when needed. */
  copy?: boolean | null;
  /** The consumer's stream, numbered as in the Python array API. Only for devices that have streams. */
  stream?: bigint | null;
  /**
   * true: the consumer can take a native external or an address, too; without it `data` must be a buffer or a GPUBuffer.
   * 'only': the consumer is native code and takes nothing but an external.
   */
  native?: boolean | 'only';
}

/** A GPUBuffer and the GPUDevice it belongs to. */
export interface GPUData {
  readonly gpuBuffer: GPUBufferLike;
  readonly gpuDevice: object;
}

/** A tensor handed over: consumed exactly once, by whoever calls `deleter` exactly once. */
export interface ManagedTensor {
  readonly version: readonly [major: number, minor: number];
  /** Bits of {@link ManagedFlag}. A bigint, as `dlpack/abi` has them, is accepted. */
  readonly flags: number | bigint;
  readonly data: ArrayBufferLike | GPUData | bigint;
  /** From the start of `data` to the first element. */
  readonly byteOffset: number;
  readonly shape: readonly number[];
  /** In elements. Null or absent means row-major, accepted for older producers. */
  readonly strides?: readonly number[] | null;
  readonly dtype: DLDataType;
  readonly device: DLDevice;
  /** Releases the memory. May be absent when the collector does that. */
  readonly deleter?: (() => void) | null;
}

/** An object that can hand out its tensor. */
export interface DLPackProducer {
  /** A {@link ManagedTensor}, or a type-tagged native external when `request.native` is true. */
  [DLPACK](request?: DLPackRequest): ManagedTensor | object;
  [DLPACK_DEVICE](): DLDevice;
}
