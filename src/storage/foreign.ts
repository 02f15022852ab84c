/**
 * Objects of another language: the module that knows them (`dlpack/python`) registers here, so that `fromDLPack` and
 * `dlpack/cuda` can take their tensors without importing it.
 *
 * @module
 */

import type { DeviceInfo } from '../device.js';
import type { Descriptor } from './descriptor.js';
import type { Storage } from './storage.js';

/** What a consumer asks a foreign object for, in the words of the array API. */
export interface ImportRequest {
  readonly copy: boolean | null;
  readonly device: DeviceInfo | null;
  /** The stream that the consumer named, -1 for none; null: the current one. */
  readonly stream: bigint | null;
}

let importObject: ((source: object, request: ImportRequest | null) => Descriptor | null) | null = null;

/** Called by a module that knows objects of another world (Python's): their tensors without the detour over the protocol. */
export function setObjectImporter(load: (source: object, request: ImportRequest | null) => Descriptor | null): void {
  importObject = load;
}

/** The tensor of an object that such a module knows, or null. */
export function importForeign(source: object, request: ImportRequest | null): Descriptor | null {
  return importObject === null ? null : importObject(source, request);
}

/** The entries of a `__cuda_array_interface__`, each of its own type and otherwise unchecked. */
export interface ArrayEntries {
  readonly shape: readonly number[];
  readonly typestr: string;
  readonly pointer: bigint;
  readonly isReadOnly: boolean;
  readonly version: number;
  /** Bytes; null: row-major. */
  readonly strides: readonly number[] | null;
  /** The maker's; null when there is nothing to wait for. */
  readonly stream: bigint | null;
  /** An object with an interface of its own. */
  readonly mask: unknown;
}

/** The CUDA Array Interface of an object of another world, which is kept until one of the functions is called. */
export interface ForeignArray {
  /** The interface as JavaScript values. */
  readonly raw: unknown;
  /** A storage that keeps the object, over memory that it does not know yet. */
  hold(nbytes: number): Storage;
  /** Lets go of the object. */
  drop(): void;
}

type ArrayReader = (source: object, isInterface: boolean) => ForeignArray | null;

type ArrayTaker = (source: object) => Descriptor | null;

let readArray: ArrayReader | null = null;
let takeArray: ArrayTaker | null = null;

/** Called by a module that knows objects of another world: how their CUDA Array Interface is read, or taken, in one go. */
export function setArrayReader(read: ArrayReader, take: ArrayTaker): void {
  readArray = read;
  takeArray = take;
}

/** The memory of an object that such a module knows, checked; null where something needs a closer look. */
export function takeForeignArray(source: object): Descriptor | null {
  return takeArray === null ? null : takeArray(source);
}

/** The interface of an object that such a module knows, or null. `isInterface`: the object is the interface itself. */
export function readForeignArray(source: object, isInterface: boolean): ForeignArray | null {
  return readArray === null ? null : readArray(source, isInterface);
}
