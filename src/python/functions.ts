/**
 * JavaScript values that Python holds by a number: functions that it can call, and what functions threw.
 *
 * Each Python object that stands for a value has a pin, which is released when Python deallocates the object. A value
 * without pins is forgotten. A function that is passed again while its object lives is the same object to Python.
 *
 * @module
 */

import { pin, unpin } from '../native/pins.js';
import { binding } from './binding.js';

export type JavaScriptFunction = (...args: never[]) => unknown;

interface Held {
  readonly value: unknown;
  pins: number;
}

const held = new Map<number, Held>();
const numbers = new WeakMap<object, number>();
let lastNumber = 0;

/** What a function threw, on its way to Python. */
export class Thrown {
  readonly value: unknown;

  constructor(value: unknown) {
    this.value = value;
  }
}

/** The number of a function, or of what a function threw. */
export function numberOf(value: JavaScriptFunction | Thrown): number {
  const known = numbers.get(value);
  if (known !== undefined && held.has(known)) return known;
  lastNumber++;
  held.set(lastNumber, { value: value instanceof Thrown ? value.value : value, pins: 0 });
  numbers.set(value, lastNumber);
  return lastNumber;
}

/** A new pin for the value of this number. */
export function pinValue(number: number): number {
  (held.get(number) as Held).pins++;
  return pin(() => forget(number));
}

/** Takes a pin back that native code did not take. */
export function unpinValue(number: number, id: number): void {
  unpin(id);
  forget(number);
}

function forget(number: number): void {
  const entry = held.get(number);
  if (entry !== undefined && --entry.pins === 0) held.delete(number);
}

export function nameOf(value: JavaScriptFunction | Thrown): string {
  const { name } = value as { name?: unknown };
  return typeof name === 'string' && name !== '' ? name : 'anonymous';
}

/** The function of a number that Python called. */
export function functionOf(number: number): (...args: unknown[]) => unknown {
  return held.get(number)?.value as (...args: unknown[]) => unknown;
}

/** What a JavaScript function threw, where the exception of this handle stands for it. */
export function causeOf(exception: number): { cause: unknown } | undefined {
  const entry = held.get(binding().thrownBy(exception));
  return entry === undefined ? undefined : { cause: entry.value };
}
