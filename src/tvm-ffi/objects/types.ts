/** The types that native code registered, with the fields and methods that they declare. */

import type { Referenced } from '../binding.js';
import { ffi } from '../library.js';
import { orRaised, TVMFFIError } from './errors.js';

/** Bits of the flags of members. */
export const MemberFlag = { writable: 1, isStatic: 4, /** not part of the structure */ isIgnored: 8 } as const;

export interface Member {
  readonly name: string;
  /** Bits of {@link MemberFlag}. */
  readonly flags: number;
  /** JSON with the type of the member. */
  readonly metadata: string;
}

interface Field extends Member {
  /** The address of the function that reads it, as the double with the same bits. */
  readonly getter: number;
  readonly offset: number;
  /** The number of the type that all its values have; -1 if it is not known. */
  readonly valueType: number;
}

export interface TypeDescription {
  readonly key: string;
  /** -1 for the root. */
  readonly parent: number;
  readonly fields: readonly Field[];
  readonly methods: readonly Member[];
  /** How the library compares two objects: see {@link hasStructure}. */
  readonly structuralKind: number;
}

/** False for objects that cannot be compared by their fields, or are compared by their addresses. */
export const hasStructure = (structuralKind: number): boolean => structuralKind !== 0 && structuralKind !== 5;

const descriptions = new Map<number, TypeDescription>();

/** The library's description of a type, which is read once. */
export function describeType(type: number): TypeDescription {
  let description = descriptions.get(type);
  if (description === undefined) {
    const [key, parent, fields, methods, structuralKind] = orRaised(ffi.readType(type));
    description = {
      key,
      parent,
      fields: membersOf<Field>(fields, ['name', 'flags', 'metadata', 'getter', 'offset', 'valueType']),
      methods: membersOf<Member>(methods, ['name', 'flags', 'metadata']),
      structuralKind,
    };
    descriptions.set(type, description);
  }
  return description;
}

/** The members in a flat array, which has their properties one after the other. */
function membersOf<M>(flat: readonly (string | number)[], names: readonly (keyof M)[]): M[] {
  const members: M[] = [];
  for (let i = 0; i < flat.length; i += names.length) {
    members.push(Object.fromEntries(names.map((name, j) => [name, flat[i + j]])) as M);
  }
  return members;
}

/** The number of the type with a key, or null. */
export function findType(key: string): number | null {
  const type = orRaised(ffi.findType(key));
  return type < 0 ? null : type;
}

/** The constructor of a type, or null. Its reference is never released, because types are never removed. */
export function constructorOf(type: number): Referenced | null {
  return orRaised(ffi.getConstructor(type));
}

/** A method of a type. Its reference is never released either. */
export function methodOf(type: number, index: number): Referenced {
  const found = orRaised(ffi.getMethod(type, index));
  if (found !== null) return found;
  throw new TVMFFIError('TypeError', `Expected a function as method ${index} of type ${type} but it is another value`);
}
