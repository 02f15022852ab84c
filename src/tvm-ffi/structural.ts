/** Values by their structure: compared, hashed, written as JSON, and copied, by the functions of the library. */

import { checkOptions } from '../base/options.js';
import { ArgumentTypeError } from '../errors.js';
import { checkNodes, checkText } from './json-graph.js';
import { callBuiltin, MapView } from './native-values.js';
import { checkNesting } from './nesting.js';
import { CallMode } from './wire-layout.js';

/** What a structural comparison looks at. */
export interface StructuralOptions {
  /** true: free variables may be mapped to each other. The default is false. */
  mapFreeVariables?: boolean;
  /** true: does not read the elements of tensors. The default is false. */
  skipTensorContent?: boolean;
}

function flagsOf(options: StructuralOptions): [boolean, boolean] {
  checkOptions(options, { mapFreeVariables: 'boolean', skipTensorContent: 'boolean' }, '{ skipTensorContent: true }');
  return [options.mapFreeVariables === true, options.skipTensorContent === true];
}

/**
 * Tells whether two values have the same structure: containers, tensors, and objects of types that allow it.
 *
 * @param a - Any value with a type in TVM-FFI.
 * @param b - Any value with a type in TVM-FFI.
 * @param options - Whether free variables may be mapped to each other (`mapFreeVariables`) and tensors are not read
 *   (`skipTensorContent`); both false when absent.
 * @returns True for equal structures.
 * @throws ArgumentTypeError for a value without a type in TVM-FFI, and ArgumentValueError for one that is nested too
 *   deep or contains itself.
 * @throws TVMFFIError for an object whose type cannot be compared, and LoadError without libtvm_ffi.
 * @example
 * ```ts
 * import { structuralEqual } from 'dlpack/tvm-ffi';
 * console.log(structuralEqual([1, { a: 2 }], [1, { a: 2 }])); // true
 * ```
 */
export function structuralEqual(a: unknown, b: unknown, options: StructuralOptions = {}): boolean {
  const flags = flagsOf(options);
  const values = [checkNesting('a', a, 'structure'), checkNesting('b', b, 'structure')];
  return callBuiltin('ffi.StructuralEqual', [...values, ...flags]) as boolean;
}

/**
 * Returns a hash of 64 bits, equal for values with the same structure.
 *
 * @param value - Any value with a type in TVM-FFI.
 * @param options - As for {@link structuralEqual}.
 * @returns The hash, from 0n to 2n ** 64n - 1n.
 * @throws As `structuralEqual` does.
 * @example
 * ```ts
 * import { structuralHash } from 'dlpack/tvm-ffi';
 * console.log(structuralHash([1, 2]) === structuralHash([1, 2])); // true
 * ```
 */
export function structuralHash(value: unknown, options: StructuralOptions = {}): bigint {
  const flags = flagsOf(options);
  const checked = checkNesting('value', value, 'structure');
  const signed = callBuiltin('ffi.StructuralHash', [checked, ...flags]) as number | bigint;
  return BigInt.asUintN(64, BigInt(signed));
}

/**
 * Writes a value, with the objects in it, as JSON that {@link fromJSONGraph} and TVM-FFI in other languages read.
 *
 * @param value - Any value with a type in TVM-FFI that JSON can carry.
 * @param metadata - What the text shall say about itself; null for nothing.
 * @returns The text.
 * @throws ArgumentTypeError for a value without a type in TVM-FFI, and ArgumentValueError for one that is nested too
 *   deep or contains itself.
 * @throws TVMFFIError for an object that cannot be written, and LoadError without libtvm_ffi.
 * @example
 * ```ts
 * import { fromJSONGraph, toJSONGraph } from 'dlpack/tvm-ffi';
 * console.log(fromJSONGraph(toJSONGraph([1, 'two']))); // [1, 'two']
 * ```
 */
export function toJSONGraph(value: unknown, metadata: Readonly<Record<string, unknown>> | null = null): string {
  const values = [checkNesting('value', value, 'everything'), checkNesting('metadata', metadata, 'everything')];
  return callBuiltin('ffi.ToJSONGraphString', values) as string;
}

/**
 * Reads a value that {@link toJSONGraph} wrote. The text can make objects of every registered type: it must be trusted.
 *
 * @param text - What `toJSONGraph`, or TVM-FFI in another language, wrote.
 * @returns The value, a new one.
 * @throws ArgumentTypeError for anything but a string, and ArgumentValueError for a text that is nested too deep.
 * @throws TVMFFIError for a text that cannot be read, and LoadError without libtvm_ffi.
 * @example
 * ```ts
 * import { fromJSONGraph, toJSONGraph } from 'dlpack/tvm-ffi';
 * console.log(fromJSONGraph(toJSONGraph(new Map([['a', 1]])))); // Map(1) { 'a' => 1 }
 * ```
 */
export function fromJSONGraph(text: string): unknown {
  if (typeof text !== 'string') throw new ArgumentTypeError('text', 'JSON of toJSONGraph', text);
  checkText(text);
  const graph = callBuiltin('ffi.json.Parse', [text], CallMode.forView);
  checkNodes(graph instanceof MapView ? graph.toMap() : graph);
  return callBuiltin('ffi.FromJSONGraph', [graph]);
}

/**
 * Copies a value, with the containers and objects in it.
 *
 * @param value - Any value with a type in TVM-FFI.
 * @returns The copy, which shares no container or object with the original.
 * @throws ArgumentTypeError for a value without a type in TVM-FFI, and ArgumentValueError for one that is nested too
 *   deep.
 * @throws TVMFFIError for an object that cannot be copied, such as a tensor, and LoadError without libtvm_ffi.
 * @example
 * ```ts
 * import { deepCopy, List } from 'dlpack/tvm-ffi';
 * const list = new List([1, 2]);
 * const copy = deepCopy(list);
 * copy.push(3);
 * console.log(list.length, copy.length); // 2 3
 * ```
 */
export function deepCopy<T>(value: T): T {
  return callBuiltin('ffi.DeepCopy', [checkNesting('value', value, 'everything once')]) as T;
}
