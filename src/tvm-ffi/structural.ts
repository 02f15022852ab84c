/** Values by their structure: compared, hashed, written as JSON, and copied, by the functions of the library. */

import { checkOptions } from '../base/options.js';
import { ArgumentTypeError } from '../errors.js';
import { checkNodes, checkText } from './json-graph.js';
import { callBuiltin, MapView } from './native-values.js';
import { checkNesting } from './nesting.js';
import { CallMode } from './wire-layout.js';

/** What a structural comparison looks at. */
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
  const flags = flagsOf(options);
  const values = [checkNesting('a', a, 'structure'), checkNesting('b', b, 'structure')];
  return callBuiltin('ffi.StructuralEqual', [...values, ...flags]) as boolean;
}

/** A hash of 64 bits, equal for values with the same structure. */
export function structuralHash(value: unknown, options: StructuralOptions = {}): bigint {
  const flags = flagsOf(options);
  const checked = checkNesting('value', value, 'structure');
  const signed = callBuiltin('ffi.StructuralHash', [checked, ...flags]) as number | bigint;
  return BigInt.asUintN(64, BigInt(signed));
}

/** Writes a value, with the objects in it, as JSON that {@link fromJSONGraph} and TVM-FFI in other languages read. */
export function toJSONGraph(value: unknown, metadata: Readonly<Record<string, unknown>> | null = null): string {
  const values = [checkNesting('value', value, 'everything'), checkNesting('metadata', metadata, 'everything')];
  return callBuiltin('ffi.ToJSONGraphString', values) as string;
}

/** Reads a value that {@link toJSONGraph} wrote. The text can make objects of every registered type: it must be trusted. */
export function fromJSONGraph(text: string): unknown {
  if (typeof text !== 'string') throw new ArgumentTypeError('text', 'JSON of toJSONGraph', text);
  checkText(text);
  const graph = callBuiltin('ffi.json.Parse', [text], CallMode.forView);
  checkNodes(graph instanceof MapView ? graph.toMap() : graph);
  return callBuiltin('ffi.FromJSONGraph', [graph]);
}

/** A copy of a value, with copies of the containers and objects in it. */
export function deepCopy<T>(value: T): T {
  return callBuiltin('ffi.DeepCopy', [checkNesting('value', value, 'everything once')]) as T;
}
