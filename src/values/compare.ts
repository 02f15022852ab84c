/** Compares the elements of two tensors on the host. */

import { checkOptions, type OptionNames } from '../base/options.js';
import type { Complex } from '../dtype.js';
import { ArgumentValueError, UnsupportedDTypeError } from '../errors.js';
import type { Descriptor } from '../storage/descriptor.js';
import { type ElementValue, elementCodec } from './element.js';
import { ElementIterator } from './iterate.js';

/** How far elements may be apart: `|x - y| <= atol + rtol * |y|`, where `y` is the element of the other tensor. */
export interface Tolerance {
  /** The default is 1e-5. */
  rtol?: number;
  /** The default is 1e-8. */
  atol?: number;
  /** true: NaN is close to NaN. The default is false. */
  equalNaN?: boolean;
}

const toleranceNames: OptionNames<Tolerance> = { rtol: true, atol: true, equalNaN: 'boolean' };

/** In what two tensors differ first: a property, or the number of an element in row-major order. */
export type Difference = 'dtype' | 'shape' | number;

/** Compares dtype, shape and values; null when all are equal. NaN is equal to NaN, and zero to negative zero. */
export function differenceOf(a: Descriptor, b: Descriptor): Difference | null {
  if (a.dtype !== b.dtype) return 'dtype';
  if (!haveSameShape(a, b)) return 'shape';
  return haveArrays(a, b) ? firstInArrays(a, b) : firstOf(a, b, isSame);
}

/** Compares shape and values within a tolerance. The dtypes may differ, except in their lanes. */
export function distanceOf(a: Descriptor, b: Descriptor, tolerance: Tolerance): Difference | null {
  checkOptions(tolerance, toleranceNames, '{ rtol: 1e-5, atol: 1e-8 }');
  const { rtol = 1e-5, atol = 1e-8, equalNaN = false } = tolerance;
  checkTolerance(rtol, 'rtol');
  checkTolerance(atol, 'atol');
  checkNumbers(a);
  checkNumbers(b);
  if (a.dtype.lanes !== b.dtype.lanes) return 'dtype';
  if (!haveSameShape(a, b)) return 'shape';
  const isClose = (x: ElementValue, y: ElementValue): boolean => {
    if (Array.isArray(x)) return x.every((lane, i) => isClose(lane, laneOf(y, i)));
    if (isSame(x, y)) return equalNaN || !hasNaN(x);
    const difference = distance(x, y);
    return Number.isFinite(difference) && difference <= atol + rtol * distance(y, 0);
  };
  return firstOf(a, b, isClose);
}

function checkTolerance(value: unknown, name: string): void {
  if (!(typeof value === 'number' && value >= 0)) throw new ArgumentValueError(name, 'a number of zero or more', value);
}

function checkNumbers({ dtype: { base, name } }: Descriptor): void {
  if (base !== 'float128') return;
  throw new UnsupportedDTypeError(name, `Expected a dtype other than ${name}, whose values are bytes; use equals()`);
}

function haveSameShape({ shape }: Descriptor, other: Descriptor): boolean {
  return shape.length === other.shape.length && shape.every((length, axis) => length === other.shape[axis]);
}

/** True for tensors whose typed arrays have entries for each element alone. */
function haveArrays(a: Descriptor, b: Descriptor): boolean {
  return a.size > 0 && !a.dtype.isSubByte && a.isContiguous && b.isContiguous;
}

/** As {@link firstOf} with {@link isSame}, but reads only the elements whose entries in the typed arrays differ. */
function firstInArrays(a: Descriptor, b: Descriptor): number | null {
  const [left, right] = [a.data(), b.data()];
  const entries = left.length / a.size;
  const { read } = elementCodec(a.dtype);
  for (let i = 0; i < left.length; i++) {
    if (left[i] === right[i]) continue;
    const element = Math.floor(i / entries);
    const at = element * a.strideBits;
    if (!isSame(read(a.view(), a.bitOffset + at), read(b.view(), b.bitOffset + at))) return element;
  }
  return null;
}

/** The first element for which `isEqual` is false, in row-major order. */
function firstOf(a: Descriptor, b: Descriptor, isEqual: (x: ElementValue, y: ElementValue) => boolean): number | null {
  const open = (descriptor: Descriptor): Descriptor => descriptor;
  const left = new ElementIterator(a, open);
  const right = new ElementIterator(b, open);
  for (let i = 0; i < a.size; i++) {
    if (!isEqual(left.next().value as ElementValue, right.next().value as ElementValue)) return i;
  }
  return null;
}

/** For two values of the same dtype, or of dtypes with the same lanes. */
function isSame(x: ElementValue, y: ElementValue): boolean {
  if (isComplex(x)) return isComplex(y) && isSame(x.re, y.re) && isSame(x.im, y.im);
  if (typeof x === 'object') return x.every((lane: ElementValue, i: number) => isSame(lane, laneOf(y, i)));
  return x === y || (hasNaN(x) && hasNaN(y));
}

function laneOf(value: ElementValue, i: number): ElementValue {
  return (value as readonly ElementValue[])[i] as ElementValue;
}

function isComplex(value: ElementValue): value is Complex {
  return typeof value === 'object' && 're' in value;
}

function hasNaN(value: ElementValue): boolean {
  return isComplex(value) ? Number.isNaN(value.re) || Number.isNaN(value.im) : Number.isNaN(value);
}

/** Exact for two bigints, whose difference may be far smaller than they are. */
function distance(x: ElementValue, y: ElementValue): number {
  if (typeof x === 'bigint' && typeof y === 'bigint') return Math.abs(Number(x - y));
  const [a, b] = [x, y].map((value) => (isComplex(value) ? value : { re: Number(value), im: 0 })) as [Complex, Complex];
  return Math.hypot(a.re - b.re, a.im - b.im);
}
