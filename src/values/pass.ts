/**
 * Describes a copy or cast as passes over memory. A pass spells out every lane, complex part and bit offset, and merges
 * axes, so that one small loop, here or in native code, serves all dtypes and layouts.
 */

import { type DTypeInfo, dtypeFromName, isComplex, TypeCode } from '../dtype.js';
import { UnsupportedDTypeError } from '../errors.js';
import type { Pass, PassAxis } from '../storage/backend.js';
import type { Descriptor } from '../storage/descriptor.js';
import type { Scaling } from '../storage/scaling.js';
import { partOf } from './element.js';

type Axis = { -readonly [Name in keyof PassAxis]: PassAxis[Name] } & { isScaled?: true };

/** The scalar type of a lane. */
function scalarOf(dtype: DTypeInfo): DTypeInfo {
  return dtypeFromName(dtype.base);
}

/**
 * The passes that write `source` into `target`. Both have the same shape, which is not empty. Only a target in row-major
 * order can be scaled.
 */
export function passesOf(source: Descriptor, target: Descriptor, scaling: Scaling | null = null): Pass[] {
  let from = scalarOf(source.dtype);
  let to = scalarOf(target.dtype);
  const { lanes } = source.dtype;
  if (from !== to || lanes !== target.dtype.lanes) checkConvertible(source.dtype, target.dtype);
  const { strideBits: fromBits } = source;
  const { strideBits: toBits } = target;
  const step = target.isContiguous && (scaling?.axis ?? -1) < 0 ? stepOf(source) : null;
  const axes: Axis[] =
    step !== null
      ? [{ length: source.size, from: step * fromBits, to: toBits }]
      : source.shape.map((length, i) => ({
          length,
          from: (source.strides[i] as number) * fromBits,
          to: (target.strides[i] as number) * toBits,
        }));
  const scaled = scaling === null ? undefined : axes[scaling.axis];
  if (scaled !== undefined) scaled.isScaled = true;
  if (lanes > 1) axes.push({ length: lanes, from: from.bits, to: to.bits });
  if (from !== to && to.code !== TypeCode.bool) {
    // Real and imaginary parts form one more axis. A cast to a real type reads only the real part.
    if (isComplex(from) && isComplex(to)) axes.push({ length: 2, from: from.bits / 2, to: to.bits / 2 });
    if (isComplex(from)) from = partOf(from);
    if (isComplex(to)) to = partOf(to);
  }
  const pass = merge(from, to, source.bitOffset, target.bitOffset, axes);
  return scaling === null ? wholeBytes(pass) : [{ ...pass, scaling: { ...scaling, axis: axisOf(pass) } }];
}

/** The axis that is scaled; -1 when none is, also because it has one element. */
function axisOf({ axes }: Pass): number {
  return axes.findIndex((axis: Axis) => axis.isScaled);
}

/** The stride of all elements in row-major order: 1, 0 for a repeated value, or null when there is no such stride. */
function stepOf({ isContiguous, strides }: Descriptor): number | null {
  if (isContiguous) return 1;
  for (let i = 0; i < strides.length; i++) if (strides[i] !== 0) return null;
  return 0;
}

/** Throws unless values of one dtype can be converted to the other. */
export function checkConvertible(from: DTypeInfo, to: DTypeInfo): void {
  if (from.lanes !== to.lanes) {
    throw new UnsupportedDTypeError(
      to.name,
      `Expected a dtype of ${from.lanes} lanes to convert ${from.name} to but received '${to.name}'`,
    );
  }
  if (from.base === 'float128' || to.base === 'float128') {
    throw new UnsupportedDTypeError(
      'float128',
      `Expected a cast between dtypes with JavaScript values but received one from '${from.name}' to '${to.name}'; such tensors can be copied but not cast`,
    );
  }
}

/**
 * Sorts axes by their stride in the target, reverses axes with a negative stride there, and joins axes that are
 * contiguous on both sides.
 */
function merge(from: DTypeInfo, to: DTypeInfo, fromStart: number, toStart: number, axes: Axis[]): Pass {
  const [only] = axes;
  if (axes.length === 1 && only !== undefined && only.length !== 1 && only.to >= 0) {
    return { from, to, fromBit: fromStart, toBit: toStart, axes };
  }
  let fromBit = fromStart;
  let toBit = toStart;
  for (const axis of axes) {
    if (axis.to >= 0) continue;
    fromBit += (axis.length - 1) * axis.from;
    toBit += (axis.length - 1) * axis.to;
    axis.from = -axis.from;
    axis.to = -axis.to;
  }
  const merged: Axis[] = [];
  for (const axis of axes.filter(({ length }) => length !== 1).sort((a, b) => b.to - a.to)) {
    const outer = merged[merged.length - 1];
    const isAlone = axis.isScaled || outer?.isScaled;
    if (
      !isAlone &&
      outer !== undefined &&
      outer.from === axis.from * axis.length &&
      outer.to === axis.to * axis.length
    ) {
      outer.length *= axis.length;
      outer.from = axis.from;
      outer.to = axis.to;
    } else merged.push({ ...axis });
  }
  return { from, to, fromBit, toBit, axes: merged };
}

/** Copies packed sub-byte elements by whole bytes where both sides are contiguous, and the rest by bits. */
function wholeBytes(pass: Pass): Pass[] {
  const { from, to, fromBit, toBit, axes } = pass;
  const { bits } = from;
  const inner = axes[axes.length - 1];
  if (from !== to || bits >= 8 || inner?.from !== bits || inner.to !== bits) return [pass];
  const outer = axes.slice(0, -1);
  const isAligned = [{ from: fromBit, to: toBit }, ...outer].every((at) => at.from % 8 === 0 && at.to % 8 === 0);
  if (!isAligned) return [pass];
  const { length } = inner;
  const inBytes = length - (length % (bits === 6 ? 4 : 8 / bits));
  const byte = dtypeFromName('uint8');
  const passes: Pass[] = [];
  if (inBytes > 0) {
    passes.push({ ...pass, from: byte, to: byte, axes: [...outer, { length: (inBytes * bits) / 8, from: 8, to: 8 }] });
  }
  if (inBytes < length) {
    const offsets = { fromBit: fromBit + inBytes * bits, toBit: toBit + inBytes * bits };
    passes.push({ ...pass, ...offsets, axes: [...outer, { ...inner, length: length - inBytes }] });
  }
  return passes;
}

/** The same pass in pieces of at most `limit` elements, so that other code can run between them. */
export function* piecesOf(pass: Pass, limit: number): Generator<Pass> {
  const [first, ...rest] = pass.axes;
  const size = pass.axes.reduce((product, { length }) => product * length, 1);
  if (size <= limit || first === undefined) {
    yield pass;
    return;
  }
  const { length, from, to } = first;
  const rows = Math.max(1, Math.floor(limit / (size / length)));
  for (let row = 0; row < length; row += rows) {
    const piece = { ...pass, fromBit: pass.fromBit + row * from, toBit: pass.toBit + row * to };
    const count = Math.min(rows, length - row);
    const scaling = pass.scaling && { scaling: partOfScaling(pass.scaling, row, count, rows === 1) };
    if (rows === 1) yield* piecesOf({ ...piece, ...scaling, axes: rest }, limit);
    else yield { ...piece, ...scaling, axes: [{ ...first, length: count }, ...rest] };
  }
}

/** The scaling of some rows of the first axis. `isOne`: the axis disappears. */
function partOfScaling(scaling: Scaling, row: number, count: number, isOne: boolean): Scaling {
  const { scale, offset, axis } = scaling;
  if (axis !== 0) return isOne && axis > 0 ? { ...scaling, axis: axis - 1 } : scaling;
  const end = row + count;
  return { scale: scale.subarray(row, end), offset: offset.subarray(row, end), axis: isOne ? -1 : 0 };
}
