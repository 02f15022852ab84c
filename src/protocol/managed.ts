/**
 * The objects that JavaScript libraries exchange: the protocol's symbols and the shape of its objects. docs/spec.md is
 * the normative text.
 */

import type { DLDevice } from '../device.js';
import type { DLDataType } from '../dtype.js';
import { Flag } from '../storage/descriptor.js';
import type { GPUBufferLike } from '../storage/storage.js';
import type { LinearMemory } from '../storage/wasm-storage.js';
import type { AdaptedSource } from './adapters.js';

/** `obj[DLPACK](request)` hands out a managed tensor. The JavaScript counterpart of Python's `__dlpack__`. */
export const DLPACK: unique symbol = Symbol.for('dlpack') as never;

/** `obj[DLPACK_DEVICE]()` names the device without exporting. The counterpart of `__dlpack_device__`. */
export const DLPACK_DEVICE: unique symbol = Symbol.for('dlpack.device') as never;

/** The bits of `flags`: `DLPACK_FLAG_BITMASK_*` of dlpack.h. */
export const ManagedFlag = Object.freeze({ ...Flag });

/** The DLPack version implemented here. */
export const DLPACK_VERSION = Object.freeze([1, 3] as const);

/**
 * A consumer's request. Every field is optional, null means absent, and unknown fields are ignored. A known field of the
 * wrong kind is an error.
 */
export interface DLPackRequest {
  /** The newest version that the consumer understands. */
  maxVersion?: readonly [major: number, minor: number] | null;
  /** The device where the consumer wants the data. */
  device?: DLDevice | null;
  /** With a device on WebGPU: the consumer's GPUDevice, because libraries number GPUDevices differently. */
  gpuDevice?: object | null;
  /** true: always copy; false: never copy, throw instead; null: copy only when needed. */
  copy?: boolean | null;
  /** The consumer's stream, numbered as in the Python array API. Only for devices that have streams. */
  stream?: bigint | null;
  /**
   * true: the consumer also accepts a native external or an address. Otherwise `data` must be a buffer or a GPUBuffer.
   * 'only': the consumer is native code and accepts only an external.
   */
  native?: boolean | 'only' | null;
  /** true: the consumer also accepts a `WebAssembly.Memory` as `data`, and follows it when it grows. */
  memory?: boolean | null;
}

/** A GPUBuffer and the GPUDevice it belongs to. */
export interface GPUData {
  /** The memory. */
  readonly gpuBuffer: GPUBufferLike;
  /** The GPUDevice that made it. */
  readonly gpuDevice: object;
}

/** A tensor in transit. One consumer consumes it, and that consumer calls `deleter` exactly once. */
export interface ManagedTensor {
  /** The version of DLPack, such as `[1, 3]`. */
  readonly version: readonly [major: number, minor: number];
  /** Bits of {@link ManagedFlag}. A bigint, as in `dlpack/abi`, is accepted. */
  readonly flags: number | bigint;
  /** A memory only for a request with `memory: true`, an address only for one with `native: true`. */
  readonly data: ArrayBufferLike | LinearMemory | GPUData | bigint;
  /** Bytes from the start of `data` to the first element. */
  readonly byteOffset: number;
  /** The lengths of the axes. */
  readonly shape: readonly number[];
  /** In elements. Null or absent means row-major, which older producers use. */
  readonly strides?: readonly number[] | null;
  /** The element type. */
  readonly dtype: DLDataType;
  /** Where the memory is. */
  readonly device: DLDevice;
  /** Releases the memory. It may be absent when the garbage collector does that. */
  readonly deleter?: (() => void) | null;
}

/** An object with Python's method names, such as a proxy of a Python object. */
export interface ForeignProducer {
  /**
   * Exports the tensor: a native external, or what the library itself understands.
   *
   * @param request - As for `[DLPACK]`.
   * @returns What a consumer takes, once.
   */
  __dlpack__(request?: DLPackRequest): unknown;
  /** Returns the numbers of the device, or a tuple of both. */
  __dlpack_device__(): DLDevice | readonly number[];
}

/** An object that can hand out its tensor. */
export interface DLPackProducer {
  /**
   * Returns a {@link ManagedTensor}, or a type-tagged native external when `request.native` is true.
   *
   * @param request - What the consumer wants: device, copy, stream, and the newest version that it knows. Nothing
   *   special when absent.
   */
  [DLPACK](request?: DLPackRequest | null): ManagedTensor | object;
  /** Names the device of the memory, before an exchange. */
  [DLPACK_DEVICE](): DLDevice;
}

declare const external: unique symbol;

/** A type-tagged Node-API external that holds a managed tensor. `toExternal` of `dlpack/native` and other addons make it. */
export interface NativeExternal {
  /** Only a type: the external has no properties. */
  readonly [external]: 'DLManagedTensorVersioned';
}

declare const advice: unique symbol;

/** Nothing is of this type. The compiler shows the advice where a program passes something else than a producer. */
export interface NoProducer<Advice extends string> {
  /** Only a type. */
  readonly [advice]: Advice;
}

/**
 * An object of which the compiler cannot tell more: the method of a class that writes `[Symbol.for('dlpack')]()` has no name
 * for it. `{}` and `object`, arrays, typed arrays, buffers and promises are none.
 */
export type OpaqueProducer<T extends object> = keyof T extends never
  ? DLPackSource
  : T extends {
        /** Of arrays and typed arrays. */
        readonly length: unknown;
      }
    ? NoProducer<'Use Tensor.from for an array of values, Tensor.wrap for a typed array'>
    : T extends {
          /** Of buffers. */
          readonly byteLength: unknown;
        }
      ? NoProducer<'Use Tensor.wrap for a buffer'>
      : T extends {
            /** Of promises. */
            readonly then: unknown;
          }
        ? NoProducer<'Await a promise first'>
        : T;

/** Objects that get the methods of the protocol at run time, by library. `dlpack/pyodide` adds to it (`declare module`). */
// biome-ignore lint/suspicious/noEmptyInterface: modules add to it
export interface AttachedSources {}

/** An object that has the methods of the protocol since its library was attached. */
export type AttachedSource = AttachedSources[keyof AttachedSources];

/**
 * What `fromDLPack` takes: a tensor, an object with one of the two methods, a native external, and after
 * `import 'dlpack/adapters/register'` an object of a library. Python objects are among them, also those of Pyodide in a
 * program that imports `dlpack/pyodide`.
 */
export type DLPackSource =
  | (Pick<DLPackProducer, typeof DLPACK> & Partial<DLPackProducer>)
  | ForeignProducer
  | AdaptedSource
  | AttachedSource
  | NativeExternal;
