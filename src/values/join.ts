/** Tensors copied one after another along an axis: into new memory, or into an existing tensor. */

import type { DeviceInfo } from '../device.js';
import type { DTypeInfo } from '../dtype.js';
import { LayoutError } from '../errors.js';
import { checkShape } from '../layout.js';
import { allocateLike, filled } from '../storage/allocate.js';
import { type Descriptor, Flag } from '../storage/descriptor.js';
import { releaseAfter } from '../storage/storage.js';
import { checkAxis, expandExtent } from '../view-layout.js';
import { convertElements } from './convert.js';
import { checkOut, mayOverlap } from './copy.js';

/** Parts that follow each other along an axis, and the shape of the whole. */
export interface Joint {
  readonly parts: readonly Descriptor[];
  readonly axis: number;
  readonly shape: readonly number[];
}

/** Parts of one shape along a new axis. */
export function stackJoint(sources: readonly Descriptor[], axis: number): Joint {
  const [first] = sources as [Descriptor];
  const at = checkAxis(axis, first.shape.length + 1);
  for (const { shape } of sources) if (!fits(shape, first.shape, -1)) throw unequal('equal shapes', first.shape, shape);
  return jointOf(
    sources.map((source) => source.derive(expandExtent(source.extent, at))),
    at,
  );
}

/** Parts along one of their axes, on which their lengths may differ. */
export function concatJoint(sources: readonly Descriptor[], axis: number): Joint {
  const [first] = sources as [Descriptor];
  if (first.shape.length === 0) {
    throw new LayoutError('Expected tensors with an axis for concat but the first has none; join them with stack');
  }
  const at = checkAxis(axis, first.shape.length);
  for (const { shape } of sources) {
    if (!fits(shape, first.shape, at)) throw unequal(`shapes that differ only on axis ${at}`, first.shape, shape);
  }
  return jointOf(sources, at);
}

/** True for equal shapes, except on the axis `at`. */
function fits(shape: readonly number[], first: readonly number[], at: number): boolean {
  return shape.length === first.length && shape.every((length, i) => i === at || length === first[i]);
}

function unequal(expected: string, first: readonly number[], shape: readonly number[]): LayoutError {
  return new LayoutError(`Expected ${expected} but received [${first.join(', ')}] and [${shape.join(', ')}]`, shape);
}

function jointOf(parts: readonly Descriptor[], axis: number): Joint {
  const shape = [...(parts[0] as Descriptor).shape];
  shape[axis] = parts.reduce((total, part) => total + (part.shape[axis] as number), 0);
  return { parts, axis, shape: checkShape(shape) };
}

/** The parts in new row-major memory. */
export function joinNew(joint: Joint, dtype: DTypeInfo, device: DeviceInfo): Descriptor {
  const { flags } = joint.parts[0] as Descriptor;
  return filled(allocateLike(joint.shape, dtype, flags & Flag.subBytePadded, device), (target) =>
    copyParts(joint, target),
  );
}

/** The parts in an existing tensor. If it shares memory with a part, the result is as if all parts were read first. */
export function joinInto(joint: Joint, target: Descriptor): void {
  const { parts, shape } = joint;
  checkOut(target, shape);
  if (!parts.some((part) => mayOverlap(part.storage, target.storage))) {
    copyParts(joint, target);
    return;
  }
  const joined = joinNew(joint, target.dtype, target.device);
  releaseAfter(joined, () => convertElements(joined, target));
}

function copyParts({ parts, axis }: Joint, target: Descriptor): void {
  const { strides } = target;
  let start = 0;
  for (const part of parts) {
    const { shape, size } = part;
    if (size > 0) convertElements(part, target.derive({ shape, strides, offset: start * (strides[axis] as number) }));
    start += shape[axis] as number;
  }
}
