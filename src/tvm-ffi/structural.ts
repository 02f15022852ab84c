/** Values by their structure: compared, hashed, written as JSON, and copied, by the functions of the library. */

import { checkOptions } from '../base/options.js';
import { ArgumentTypeError } from '../errors.js';
import { invoke } from './calls.js';
import { builtin } from './globals.js';

export interface StructuralOptions {
  /** Free variables may be mapped to each other. */
  mapFreeVariables?: boolean;
  /** Do not read the elements of tensors. */
  skipTensorContent?: boolean;
}

function flagsOf(options: StructuralOptions): [boolean, boolean] {
  checkOptions(options, { mapFreeVariables: 'boolean', skipTensorContent: 'boolean' }, '{ skipTensorContent: true }');
  return [options.mapFreeVariables === true, options.skipTensorContent === true];
}

/** True when two values have the same structure: containers, tensors, and objects of types that allow it. */
export function structuralEqual(a: unknown, b: unknown, options: StructuralOptions = {}): boolean {
  return invoke(builtin('ffi.StructuralEqual'), [a, b, ...flagsOf(options)]) as boolean;
}

/** A hash of 64 bits, equal for values with the same structure. */
export function structuralHash(value: unknown, options: StructuralOptions = {}): bigint {
  const signed = invoke(builtin('ffi.StructuralHash'), [value, ...flagsOf(options)]) as number | bigint;
  return BigInt.asUintN(64, BigInt(signed));
}

/** Writes a value, with the objects in it, as JSON that {@link fromJSONGraph} and TVM-FFI in other languages read. */
export function toJSONGraph(value: unknown, metadata: Readonly<Record<string, unknown>> | null = null): string {
  return invoke(builtin('ffi.ToJSONGraphString'), [value, metadata]) as string;
}

/** Reads a value that {@link toJSONGraph} wrote. */
export function fromJSONGraph(text: string): unknown {
  if (typeof text !== 'string') throw new ArgumentTypeError('text', 'JSON of toJSONGraph', text);
  return invoke(builtin('ffi.FromJSONGraphString'), [text]);
}

/** A copy of a value, with copies of the containers and objects in it. */
export function deepCopy<T>(value: T): T {
  return invoke(builtin('ffi.DeepCopy'), [value]) as T;
}
