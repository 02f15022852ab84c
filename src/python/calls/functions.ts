/**
 * JavaScript values that Python refers to by number: functions that it can call, and values that functions threw.
 *
 * Each Python object for such a value has a pin, which is released when Python deallocates the object. A value without
 * pins is removed. A function that is passed again while its Python object lives becomes the same object.
 */

import { pin, unpin } from '../../native/memory/pins.js';
import { binding } from '../binding.js';
import { JAVASCRIPT_ERROR } from '../error.js';

/** A JavaScript function that Python calls. */
export type PyCallback = (...args: never[]) => unknown;

interface Numbered {
  readonly value: unknown;
  pins: number;
}

const held = new Map<number, Numbered>();
const numbers = new WeakMap<object, number>();
let lastNumber = 0;

/** A value that a function threw, on its way to Python. */
export class Thrown {
  constructor(readonly value: unknown) {}
}

/** The number of a function, or of a thrown value. */
export function numberOf(value: PyCallback | Thrown): number {
  const known = numbers.get(value);
  if (known !== undefined && held.has(known)) return known;
  lastNumber++;
  held.set(lastNumber, { value: value instanceof Thrown ? value.value : value, pins: 0 });
  numbers.set(value, lastNumber);
  return lastNumber;
}

/** Makes a new pin for the value with this number. */
export function pinValue(number: number): number {
  (held.get(number) as Numbered).pins++;
  return pin(() => forget(number));
}

/** Removes a pin that native code did not take over. */
export function unpinValue(number: number, id: number): void {
  unpin(id);
  forget(number);
}

function forget(number: number): void {
  const entry = held.get(number);
  if (entry !== undefined && --entry.pins === 0) held.delete(number);
}

export function nameOf(value: PyCallback | Thrown): string {
  const { name } = value as { name?: unknown };
  return typeof name === 'string' && name !== '' ? name : 'anonymous';
}

/** The function with this number, which Python called. */
export function functionOf(number: number): (...args: unknown[]) => unknown {
  return held.get(number)?.value as (...args: unknown[]) => unknown;
}

/** The value that a JavaScript function threw, if the exception with this type and handle carries one. */
export function causeOf(type: string, exception: number): { cause: unknown } | undefined {
  if (type !== JAVASCRIPT_ERROR) return undefined;
  const entry = held.get(binding().thrownBy(exception));
  return entry === undefined ? undefined : { cause: entry.value };
}
