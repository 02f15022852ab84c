/**
 * JavaScript values that Python holds by a number: functions that it can call, and what functions threw.
 *
 * A value is forgotten when its Python object is deallocated. A function that is passed again while that object lives is
 * the same object to Python.
 *
 * @module
 */

import { BufferError } from '../errors.js';
import { pin } from '../native/pins.js';
import { binding } from './binding.js';
import { releaseHandle } from './reference.js';

export type JavaScriptFunction = (...args: never[]) => unknown;

interface Held {
  readonly value: unknown;
  /** The handle of Python's weak reference to the object that stands for the value. */
  weak: number;
}

const held = new Map<number, Held>();
const numbers = new WeakMap<JavaScriptFunction, number>();
let lastNumber = 0;

/** Called from the event loop, when Python has deallocated the object of a number. */
function forget(number: number): void {
  const weak = held.get(number)?.weak ?? 0;
  held.delete(number);
  if (weak !== 0) releaseHandle(weak);
}

/** The handle of a new Python object that stands for a JavaScript value and keeps it alive. */
export function holdValue(value: unknown, name: string): number {
  const number = ++lastNumber;
  const entry: Held = { value, weak: 0 };
  held.set(number, entry);
  const made = binding().makeFunction(
    number,
    pin(() => forget(number)),
    name,
  );
  if (made === undefined) throw new BufferError('Out of memory: could not make a Python object for a function');
  [, entry.weak] = made;
  if (typeof value === 'function') numbers.set(value as JavaScriptFunction, number);
  return made[0];
}

/** The handle of a new reference to the Python callable of a function: the one that Python has, or a new one. */
export function makeCallable(target: JavaScriptFunction): number {
  const weak = held.get(numbers.get(target) ?? 0)?.weak ?? 0;
  const alive = weak === 0 ? 0 : binding().reviveFunction(weak);
  return alive === 0 ? holdValue(target, nameOf(target)) : alive;
}

function nameOf(target: JavaScriptFunction): string {
  const { name } = target as { name: unknown };
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
