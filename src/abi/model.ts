/** Data models: the size of a pointer. All models align 64-bit integers to eight bytes and are little-endian. */

import { ArgumentTypeError, isUsable } from '../errors.js';
import { bufferLength } from '../storage/storage.js';

/** How a program lays out its structs. */
export interface DataModel {
  /** Its name. */
  readonly name: 'lp64' | 'wasm32' | 'wasm64';
  /** Bytes of a pointer, which is also its alignment. */
  readonly pointerSize: 4 | 8;
}

/** 64-bit Linux, macOS and Windows. Windows is not LP64, but no field here is a C `long`. */
export const lp64: DataModel = Object.freeze({ name: 'lp64', pointerSize: 8 });

/** WebAssembly with 32-bit memory. */
export const wasm32: DataModel = Object.freeze({ name: 'wasm32', pointerSize: 4 });

/** WebAssembly with 64-bit memory. */
export const wasm64: DataModel = Object.freeze({ name: 'wasm64', pointerSize: 8 });

/** A position in memory, with the data model. */
export interface Place {
  /** The memory, such as that of a WebAssembly module. */
  readonly buffer: ArrayBufferLike;
  /** Bytes from the start of the buffer. */
  readonly byteOffset: number;
  /** The data model of the program that owns the memory. */
  readonly model: DataModel;
}

/** Returns a checked copy. Reads each field once, because getters may return different values. */
export function checkPlace(place: Place): Place {
  const { buffer, byteOffset, model } = (isUsable(place) ? place : {}) as Place;
  if (bufferLength(buffer) === null || typeof byteOffset !== 'number' || !model?.pointerSize) {
    throw new ArgumentTypeError('place', '{ buffer, byteOffset, model } with the model lp64, wasm32 or wasm64', place);
  }
  return { buffer, byteOffset, model };
}
