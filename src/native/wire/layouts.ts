/**
 * The layouts that native code keeps (native/wire/layouts.h). JavaScript numbers them. A tensor on the wire names its layout by
 * the number, and a layout without a number travels whole with the tensor.
 */

import type { Layout } from '../../storage/layouts.js';
import { native } from '../load/load.js';
import { Status, Wire } from './constants.js';
import { isIdle } from './wire.js';
import { LayoutRequest, WireTensor } from './wire-layout.js';

/** By number, modulo its length. */
const kept = new Array<Layout | null>(Wire.KEPT_LAYOUTS).fill(null);
/** Numbers stay small integers on every engine. No number is given twice. */
const MAX_NUMBER = 2 ** 30 - 1;
let lastNumber = 0;
/**
 * When all places are taken, only every eighth layout without a number takes the place of another one. So a program with
 * more layouts in turns than places does not send most of them twice.
 */
const SAMPLE = 8;
let misses = 0;

/** The number of a layout; 0 if it has to travel whole. Runs no user code, and disturbs no request. */
export function numberOf(layout: Layout): number {
  return layout.number !== 0 ? layout.number : keep(layout);
}

/** The layout with a number that native code has written; null if native code does not keep it. */
export function keptLayout(number: number): Layout | null {
  const layout = kept[number % Wire.KEPT_LAYOUTS] as Layout | null;
  return layout !== null && layout.number === number ? layout : null;
}

function keep(layout: Layout): number {
  const number = lastNumber + 1;
  const before = kept[number % Wire.KEPT_LAYOUTS] as Layout | null;
  if (number > MAX_NUMBER || (before !== null && !mayReplace())) return 0;
  LayoutRequest.setNumber(number);
  writeLayout(LayoutRequest.tensorAt(), layout);
  native().keepLayout();
  if (LayoutRequest.status() !== Status.ok) return 0;
  if (before !== null) before.number = 0;
  lastNumber = number;
  kept[number % Wire.KEPT_LAYOUTS] = layout;
  layout.number = number;
  return number;
}

/** A request that was begun may name any layout until it ends, so layouts are replaced only outside of requests. */
function mayReplace(): boolean {
  return isIdle() && ++misses % SAMPLE === 0;
}

/** Writes a layout whole, into the tensor at the word `at`. Each axis takes two words after the tensor. */
export function writeLayout(at: number, { dtype, device, shape, strides, flags }: Layout): void {
  const ndim = shape.length;
  WireTensor.setDtype(at, dtype.packed);
  WireTensor.setNdim(at, ndim);
  WireTensor.setFlags(at, flags);
  WireTensor.setDeviceType(at, device.type);
  WireTensor.setDeviceId(at, device.id);
  for (let i = 0; i < ndim; i++) {
    WireTensor.setShape(at, i, shape[i] as number);
    WireTensor.setShape(at, ndim + i, strides[i] as number);
  }
}
