/**
 * Copies of elements between two descriptors of the same shape, converting the dtype where they differ.
 *
 * @module
 */

import type { Descriptor } from './descriptor.js';
import { type DTypeInfo, TypeCode } from './dtype.js';
import { type ElementValue, elementCodec, readBits, writeBits } from './element.js';

/** Writes every element of `source` into `target`, which is row-major and writable. */
export function copyElements(source: Descriptor, target: Descriptor): void {
  if (source.size === 0) return;
  const from = source.view();
  const to = target.view();
  const same = source.dtype === target.dtype && source.isPadded === target.isPadded;
  if (same && source.isContiguous && (source.bitOffset & 7) === 0) {
    copyBytes(from, source.bitOffset, to, target.bitOffset, source.nbytes);
  } else {
    const { itemBits, isSubByte, bits, lanes } = source.dtype;
    if (!same) copyEach(source, target, convertElement(source.dtype, from, target.dtype, to));
    // Bits, not values: a NaN keeps its payload.
    else if (!isSubByte) copyEach(source, target, (at, into) => copyBytes(from, at, to, into, itemBits / 8));
    else {
      copyEach(source, target, (at, into) => {
        for (let i = 0; i < lanes; i++) writeBits(to, into + i * bits, bits, readBits(from, at + i * bits, bits));
      });
    }
  }
  target.storage.commit();
}

function copyBytes(from: DataView, fromBit: number, to: DataView, toBit: number, count: number): void {
  const bytes = new Uint8Array(from.buffer, from.byteOffset + fromBit / 8, count);
  new Uint8Array(to.buffer, to.byteOffset + toBit / 8, count).set(bytes);
}

function copyEach(source: Descriptor, target: Descriptor, copyOne: (at: number, into: number) => void): void {
  const { shape, strides } = source;
  const step = target.strideBits;
  let into = target.bitOffset;
  const walk = (axis: number, at: number): void => {
    if (axis === shape.length) {
      copyOne(at, into);
      into += step;
      return;
    }
    const stride = (strides[axis] as number) * source.strideBits;
    for (let i = 0; i < (shape[axis] as number); i++) walk(axis + 1, at + i * stride);
  };
  walk(0, source.bitOffset);
}

/** An integer that does not fit throws at the write; a fraction is cut off on the way to an integer type. */
function convertElement(
  fromType: DTypeInfo,
  from: DataView,
  toType: DTypeInfo,
  to: DataView,
): (at: number, into: number) => void {
  const reader = elementCodec(fromType);
  const writer = elementCodec(toType);
  const toInteger = toType.code === TypeCode.int || toType.code === TypeCode.uint;
  const convert = (value: ElementValue): unknown => {
    if (toType.code === TypeCode.bool) return typeof value === 'object' ? value : Number(value) !== 0;
    if (typeof value === 'boolean') return Number(value);
    return toInteger && typeof value === 'number' ? Math.trunc(value) : value;
  };
  return (at, into) => writer.write(to, into, convert(reader.read(from, at)));
}
