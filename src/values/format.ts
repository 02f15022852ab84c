/**
 * Numbers as text in columns, aligned at the decimal point. The text has as many digits as distinguish the values of
 * the type, at most eight after the point. It has an exponent where plain digits would hide small or large values.
 */

import { type Complex, type DTypeInfo, dtypeFromName, isComplex, TypeCode } from '../dtype.js';
import { type ElementValue, partOf } from './element.js';
import { miniFloat } from './minifloat.js';

type Format<T> = (value: T) => string;

const PRECISION = 8;

/** Rounds to the nearest value of the type, to which the text must convert back. */
type Round = (value: number) => number;

function roundOf(dtype: DTypeInfo): Round {
  // Types of at most one byte show their values in full. The few digits that distinguish these values would mislead.
  const codec = dtype.bits === 16 ? miniFloat(dtype.base) : undefined;
  if (codec !== undefined) return (value) => codec.decode(codec.encode(value));
  return dtype.bits === 32 ? Math.fround : (value) => value;
}

/** The digits and exponent of a finite magnitude: the fewest digits that convert back to it, at most `most`. */
function shortest(magnitude: number, round: Round, most: number): { digits: string; exponent: number } {
  for (let count = 0; ; count++) {
    if (count < most && round(Number(magnitude.toExponential(count))) !== magnitude) continue;
    const [digits = '', exponent] = halfToEven(magnitude, round, count).split('e');
    return { digits: digits.replace('.', '').replace(/0+$/, ''), exponent: Number(exponent) };
  }
}

/**
 * As `toExponential`, which rounds halves up; this function rounds exact halves to an even digit, unless only the other
 * digit converts back.
 */
function halfToEven(magnitude: number, round: Round, digits: number): string {
  const up = magnitude.toExponential(digits);
  const [exact = '', exponent = ''] = magnitude.toExponential(digits + 30).split('e');
  const even = `${exact.slice(0, digits + 2)}e${exponent}`;
  const isHalf = /^[02468]50*$/.test(exact.slice(digits + 1));
  return isHalf && (round(Number(even)) === magnitude || round(Number(up)) !== magnitude) ? even : up;
}

function plain(magnitude: number, round: Round): [whole: string, fraction: string] {
  if (magnitude === 0) return ['0', ''];
  const { exponent } = shortest(magnitude, round, 20);
  if (exponent < -PRECISION - 1) return ['0', ''];
  const { digits, exponent: rounded } = shortest(magnitude, round, Math.max(0, exponent + PRECISION));
  const padded = rounded < 0 ? '0'.repeat(-rounded) + digits : digits.padEnd(rounded + 1, '0');
  const point = Math.max(rounded, 0) + 1;
  return [padded.slice(0, point), padded.slice(point)];
}

function scientific(magnitude: number, round: Round): [first: string, fraction: string, exponent: string] {
  if (magnitude === 0) return ['0', '', '+00'];
  const { digits, exponent } = shortest(magnitude, round, PRECISION);
  const size = String(Math.abs(exponent)).padStart(2, '0');
  return [digits.slice(0, 1), digits.slice(1), (exponent < 0 ? '-' : '+') + size];
}

/** The magnitude above which NumPy writes exponents. It is lower for narrow types, whose values need fewer digits. */
function limitOf({ base }: DTypeInfo): number {
  return base === 'float32' ? 1e6 : base === 'float16' ? 1e3 : 1e8;
}

/** Not `Math.max(...)`, because arguments are limited, and a tensor with many short axes shows all elements. */
function longest(lengths: readonly number[]): number {
  return lengths.reduce((a, b) => Math.max(a, b), 0);
}

function floatFormat(values: readonly number[], dtype: DTypeInfo, plus = ''): Format<number> {
  const round = roundOf(dtype);
  const finite = values.filter(Number.isFinite);
  const magnitudes = finite.map(Math.abs).filter((value) => value !== 0);
  const [low, high] = magnitudes.reduce(([a, b], m) => [Math.min(a, m), Math.max(b, m)], [Infinity, 0]);
  const isScientific = high > 0 && (high >= limitOf(dtype) || low < round(1e-4) || round(high / low) > 1000);
  const signOf = (value: number) => (value < 0 || Object.is(value, -0) ? '-' : plus);
  const partsOf = (value: number): readonly string[] =>
    isScientific ? scientific(Math.abs(value), round) : plain(Math.abs(value), round);
  const parts = finite.map((value) => [signOf(value), ...partsOf(value)] as const);
  const most = (lengthOf: (part: readonly string[]) => number) => longest(parts.map(lengthOf));
  const fraction = most((part) => (part[2] as string).length);
  const exponent = most((part) => (part[3] ?? '').length);
  const right = fraction + (isScientific ? exponent + 1 : 0);
  const special = (value: number) => (Number.isNaN(value) ? `${plus}nan` : `${signOf(value)}inf`);
  const specials = values.filter((value) => !Number.isFinite(value)).map((value) => special(value).length - right - 1);
  const left = Math.max(
    most(([sign = '', whole = '']) => sign.length + whole.length),
    longest(specials),
  );
  return (value) => {
    if (!Number.isFinite(value)) return special(value).padStart(left + 1 + right);
    const magnitude = Math.abs(value);
    if (!isScientific) {
      const [whole, digits] = plain(magnitude, round);
      return `${(signOf(value) + whole).padStart(left)}.${digits.padEnd(fraction)}`;
    }
    // All columns have as many digits as the longest, so shorter numbers show further exact digits.
    const [mantissa = '', power = ''] = halfToEven(magnitude, round, fraction).split('e');
    const head = (signOf(value) + mantissa.slice(0, 1)).padStart(left);
    return `${head}.${mantissa.slice(2)}e${power.slice(0, 1)}${power.slice(1).padStart(exponent - 1, '0')}`;
  };
}

function complexFormat(values: readonly Complex[], dtype: DTypeInfo): Format<Complex> {
  const part = partOf(dtype);
  const reals = values.map(({ re }) => re);
  const imaginaries = values.map(({ im }) => im);
  const real = floatFormat(reals, part);
  const imaginary = floatFormat(imaginaries, part, '+');
  return ({ re, im }) => {
    const text = imaginary(im);
    const end = text.trimEnd();
    return `${real(re)}${end}j${text.slice(end.length)}`;
  };
}

function scalarFormat(values: readonly ElementValue[], dtype: DTypeInfo): Format<ElementValue> {
  if (isComplex(dtype)) {
    return complexFormat(values as readonly Complex[], dtype) as Format<ElementValue>;
  }
  const isFloat = typeof values[0] === 'number' && dtype.code !== TypeCode.int && dtype.code !== TypeCode.uint;
  if (isFloat) return floatFormat(values as readonly number[], dtype) as Format<ElementValue>;
  const textOf = (value: ElementValue) => (value instanceof Uint8Array ? hexOf(value) : String(value));
  const width = longest(values.map((value) => textOf(value).length));
  return (value) => textOf(value).padStart(width);
}

function hexOf(bytes: Uint8Array): string {
  return `0x${[...bytes]
    .reverse()
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('')}`;
}

/** A format in which all of these values have the same width. */
export function formatFor(values: readonly ElementValue[], dtype: DTypeInfo): Format<ElementValue> {
  if (dtype.lanes === 1) return scalarFormat(values, dtype);
  const format = scalarFormat((values as readonly ElementValue[][]).flat(), dtypeFromName(dtype.base));
  return (value) => `(${(value as readonly ElementValue[]).map(format).join(', ')})`;
}
