/**
 * JavaScript values that native code holds, by number. A value stays here until native code has released its last
 * reference to the object that was made for it.
 */

import { pin } from '../../native/memory/pins.js';

/** Values count from 1. */
const values: unknown[] = [undefined];
const freeNumbers: number[] = [];

/** The number of a value that is never forgotten. */
export function keep(value: unknown): number {
  const number = freeNumbers.pop() ?? values.length;
  values[number] = value;
  return number;
}

/**
 * Numbers for a value that native code is about to hold: its own, and that of the pin whose release frees it.
 * `onForget` runs on that release.
 */
export function numbersFor(value: unknown, onForget?: () => void): { number: number; pin: number } {
  const number = keep(value);
  const release = () => {
    values[number] = undefined;
    freeNumbers.push(number);
    onForget?.();
  };
  return { number, pin: pin(release) };
}

/** The value with a number; undefined when native code has released it. */
export function heldValue(number: number): unknown {
  return values[number];
}
