/**
 * Python objects: `dlpack/python` registers here, so that `fromDLPack` and `dlpack/cuda` can take their tensors without
 * importing it.
 */

import type { DeviceInfo } from '../device.js';
import type { Descriptor } from './descriptor.js';
import type { Storage } from './storage.js';

/** A consumer's request to a foreign object, in the terms of the array API. */
export interface ForeignRequest {
  readonly copy: boolean | null;
  readonly device: DeviceInfo | null;
  /** The stream that the consumer named, -1 for none; null for the current stream. */
  readonly stream: bigint | null;
}

/** The entries of a `__cuda_array_interface__`, each of its own type and otherwise unchecked. */
export interface ArrayEntries {
  readonly shape: readonly number[];
  readonly typestr: string;
  readonly pointer: bigint;
  readonly isReadOnly: boolean;
  readonly version: number;
  /** In bytes; null means row-major. */
  readonly strides: readonly number[] | null;
  /** The producer's stream; null when there is nothing to wait for. */
  readonly stream: bigint | null;
  /** An object with its own interface. */
  readonly mask: unknown;
}

/** The CUDA Array Interface of a Python object. It keeps the object until one of the functions is called. */
export interface ForeignArray {
  /** The interface as JavaScript values. */
  readonly raw: unknown;
  /** Makes a storage that keeps the object, over memory that is set later. */
  makeStorage(nbytes: number): Storage;
  /** Drops the object. */
  drop(): void;
}

/** Takes tensors from Python objects. Each function returns null for anything else. */
export interface ForeignObjects {
  /** The tensor of an object, taken by native code instead of through the JavaScript protocol. */
  take(source: object, request: ForeignRequest | null): Descriptor | null;
  /** The tensor of an object with a CUDA Array Interface; also null when the interface must be read entry by entry. */
  takeArray(source: object): Descriptor | null;
  /** The CUDA Array Interface of an object. `isInterface`: the object is the interface itself. */
  readArray(source: object, isInterface: boolean): ForeignArray | null;
}

/** `dlpack/python` sets `objects`. */
export const foreignLibrary: { objects: ForeignObjects | null } = { objects: null };
