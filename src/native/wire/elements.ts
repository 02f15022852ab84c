/** Elements of tensors on the wire, after a message. */

import { privateDataView } from '../../base/primordials.js';
import type { DTypeInfo, TypedArray } from '../../dtype.js';
import { type ElementCodec, elementCodec } from '../../values/element.js';
import { clearAt } from './bytes.js';
import { Wire } from './constants.js';
import { wire } from './memory.js';

const { buffer } = wire;

const view = privateDataView(buffer);

/** The wire as an array of each dtype, by name. Not a Map, because a patched method would receive the wire. */
const arrays: Record<string, TypedArray> = Object.create(null);

/** The wire as an array of a dtype. */
function arrayOf({ name, array }: DTypeInfo): TypedArray {
  // Not the length of the buffer, because a patched getter would receive it.
  arrays[name] ??= new array(buffer, 0, (Wire.WORDS * 8) / array.BYTES_PER_ELEMENT);
  return arrays[name] as TypedArray;
}

/**
 * Stores the numbers of a typed array from a word on. False if one is NaN, whose payload would be lost, or if the array has a
 * `length` of its own.
 */
export function storeNumbers(word: number, array: TypedArray, length: number, dtype: DTypeInfo): boolean {
  const values = arrayOf(dtype);
  const first = (word * 64) / dtype.bits;
  for (let i = 0; i < length; i++) {
    const value = array[i];
    if (value === undefined || Number.isNaN(value)) return false;
    values[first + i] = value;
  }
  return true;
}

/** True for dtypes whose numbers an array stores as they are, apart from NaN. */
function isFloat({ name }: DTypeInfo): boolean {
  return name === 'float32' || name === 'float64';
}

/** Writes elements of a dtype from a word on. */
export class ElementWriter {
  /** The wire as an array, if {@link isFloat}. */
  private readonly floats: TypedArray | null;
  private readonly codec: ElementCodec;
  private readonly step: number;

  constructor(
    private readonly word: number,
    dtype: DTypeInfo,
  ) {
    this.floats = isFloat(dtype) ? arrayOf(dtype) : null;
    this.codec = elementCodec(dtype);
    this.step = dtype.itemBits;
  }

  /** Writes values of a row. The first one becomes the element `place`. */
  write(place: number, row: ArrayLike<unknown>, from: number, to: number): void {
    const { floats, codec, step } = this;
    let bit = this.word * 64 + place * step;
    const first = bit / step - from;
    for (let i = from; i < to; i++, bit += step) {
      const value = row[i];
      // The codec writes everything but plain numbers: NaN has one pattern, and other values are checked.
      if (floats !== null && typeof value === 'number' && !Number.isNaN(value)) floats[first + i] = value;
      else codec.write(view, bit, value);
    }
  }

  /** Clears the first bytes. */
  clear(nbytes: number): void {
    clearAt(this.word, nbytes);
  }
}
