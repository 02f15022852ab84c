/**
 * How deep values are nested. The library compares, hashes, writes and reads values recursively, and a stack that is too
 * short ends the process. So these functions get only values that {@link checkNesting} or {@link checkGraph} has measured.
 * Neither recurses.
 */

import { ArgumentValueError } from '../errors.js';
import { Type } from './codec/any.js';
import { becomesContainer, MAX_DEPTH, readElements, retain, walkEntries } from './codec/containers.js';
import { FFIObject, objectHandle, RValue, TVM_FFI_OBJECT, TVM_FFI_VALUE } from './codec/values.js';
import { ffi } from './library.js';
import { ArrayView, getLiveField, take } from './native-values.js';
import { disown, standIns } from './objects/objects.js';
import { describeType, hasStructure, MemberFlag } from './objects/types.js';
import { Any } from './wire-layout.js';

/** What the library follows from a value to the values in it. */
export type Follows =
  /** Fields that count for the structure, in objects that have a structure. Cycles never end. */
  | 'structure'
  /** All fields. Cycles never end. */
  | 'everything'
  /** All fields. The library recognises cycles. */
  | 'everything once';

/** Throws if values are nested too deep, or form a cycle where it is not allowed. `keyOf` identifies a value. */
export function checkGraph<N>(
  argument: string,
  root: N,
  childrenOf: (node: N) => N[],
  keyOf: (node: N) => unknown,
  mayBeCyclic = false,
): void {
  const refuse = (received: string) =>
    new ArgumentValueError(argument, `values nested at most ${MAX_DEPTH} deep, without a cycle`, received);
  const OPEN = -1;
  /** How many levels are below a value; OPEN for the values on the path. */
  const heights = new Map<unknown, number>([[keyOf(root), OPEN]]);
  const path = [{ key: keyOf(root), children: childrenOf(root), height: 0 }];
  for (let last = path.at(-1); last !== undefined; last = path.at(-1)) {
    const child = last.children.pop();
    if (child === undefined) {
      path.pop();
      heights.set(last.key, last.height);
      const parent = path.at(-1);
      if (parent !== undefined) parent.height = Math.max(parent.height, last.height + 1);
      continue;
    }
    const key = keyOf(child);
    const height = heights.get(key);
    if (height === OPEN) {
      if (!mayBeCyclic) throw refuse('a value that contains itself');
      continue;
    }
    if (path.length + (height ?? 0) > MAX_DEPTH) throw refuse('one that is deeper');
    if (height !== undefined) last.height = Math.max(last.height, height + 1);
    else {
      heights.set(key, OPEN);
      path.push({ key, children: childrenOf(child), height: 0 });
    }
  }
}

/** A native container, whose address identifies it. */
class Container {
  constructor(
    readonly type: number,
    readonly pointer: number,
  ) {}
}

/** The native object of a value that may hold others, or null. */
function nativeOf(value: unknown): Container | FFIObject | null {
  if (!(value instanceof FFIObject)) return null;
  const { type, pointer } = objectHandle(value);
  return isContainerType(type) ? new Container(type, pointer) : value;
}

function isContainerType(type: number): boolean {
  return type === Type.array || type === Type.list || type === Type.map || type === Type.dict;
}

/** The fields of an object that the library follows. */
function fieldsOf(object: FFIObject, follows: Follows): unknown[] {
  const { type, pointer } = objectHandle(object);
  if (!ffi.isReflective) return [];
  const isStructure = follows === 'structure';
  if (isStructure && !hasStructure(describeType(type).structuralKind)) return [];
  const values: unknown[] = [];
  for (let at = type; at >= 0; at = describeType(at).parent) {
    for (const { flags, getter, offset } of describeType(at).fields) {
      if (isStructure && (flags & MemberFlag.isIgnored) !== 0) continue;
      values.push(getLiveField(pointer, getter, offset));
    }
  }
  return values;
}

/**
 * Throws if a value is nested too deep for a recursive function of the library. Returns the value for the call: a
 * JavaScript container as the native one that was measured, so that nothing can change in between.
 */
export function checkNesting(argument: string, given: unknown, follows: Follows): unknown {
  const value = given instanceof RValue ? given.value : given;
  const isContainer = typeof value === 'object' && value !== null && becomesContainer(value);
  if (!isContainer && !standsForObject(value)) return value;
  const references: number[] = [];
  // Each container gets a reference, because a getter of a field may change the container that holds it.
  const nativeAt = (at: number): Container | FFIObject | null => {
    const type = Any.type(at);
    if (!isContainerType(type)) return type > Type.dict ? nativeOf(take(at)) : null;
    references.push(retain(at));
    return new Container(type, Any.payload(at));
  };
  const childrenOf = (node: Container | FFIObject) => {
    const children: (Container | FFIObject | null)[] = [];
    if (node instanceof FFIObject) children.push(...fieldsOf(node, follows).map(nativeOf));
    else if (node.type === Type.map || node.type === Type.dict)
      walkEntries(node.pointer, (key, entry) => children.push(nativeAt(key), nativeAt(entry)));
    else readElements(node.pointer, children, nativeAt);
    return children.filter((child) => child !== null);
  };
  const keyOf = (node: Container | FFIObject) => (node instanceof FFIObject ? objectHandle(node) : node).pointer;
  const measured = new ArrayView([value]).at(0);
  try {
    const root = nativeOf(measured);
    if (root !== null) checkGraph(argument, root, childrenOf, keyOf, follows === 'everything once');
  } finally {
    for (const reference of references) disown(reference);
  }
  return isContainer ? measured : value;
}

/** True for an object of this module, and for one whose methods give native code another value. */
function standsForObject(value: unknown): boolean {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null || standIns.has(value)) return false;
  if (value instanceof FFIObject) return true;
  const methods = value as { [TVM_FFI_OBJECT]?: unknown; [TVM_FFI_VALUE]?: unknown };
  return typeof methods[TVM_FFI_OBJECT] === 'function' || typeof methods[TVM_FFI_VALUE] === 'function';
}
