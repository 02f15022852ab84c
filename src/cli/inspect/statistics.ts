/** Numbers about the elements of a tensor, and a histogram of one line. */

import { shareOf } from '../../base/share-of.js';
import type { Tensor } from '../../tensor.js';

export interface Statistics {
  readonly min: number;
  readonly max: number;
  readonly mean: number;
  readonly std: number;
  readonly zeros: number;
  /** NaN, Infinity and -Infinity, which the other numbers leave out. */
  readonly notFinite: number;
  /** Counts of equal steps from the least to the greatest element. */
  readonly histogram: readonly number[];
}

/** Elements that are converted at a time, so that a weight of gigabytes needs little memory. */
const PART = 1 << 18;
const BINS = 24;

/** Calls `take` with all elements as float64, part by part. */
function eachPart(tensor: Tensor, take: (values: Float64Array) => void): void {
  using contiguous = tensor.contiguous();
  using flat = contiguous.reshape([tensor.size]);
  for (let at = 0; at < tensor.size; at += PART) {
    using part = flat.slice([at, Math.min(tensor.size, at + PART)]);
    using values = part.astype('float64');
    take(values.data as Float64Array);
  }
}

/** Null for tensors without a finite element, and for complex ones, which have no order. */
export function statisticsOf(tensor: Tensor): Statistics | null {
  if (/^b?complex/.test(tensor.dtype)) return null;
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  let sum = 0;
  let zeros = 0;
  let finite = 0;
  eachPart(tensor, (values) => {
    for (const value of values) {
      if (!Number.isFinite(value)) continue;
      finite++;
      sum += value;
      if (value < min) min = value;
      if (value > max) max = value;
      if (value === 0) zeros++;
    }
  });
  if (finite === 0) return null;
  const mean = sum / finite;
  const histogram = new Array<number>(BINS).fill(0);
  let squares = 0;
  eachPart(tensor, (values) => {
    for (const value of values) {
      if (!Number.isFinite(value)) continue;
      squares += (value - mean) ** 2;
      const bin = Math.min(BINS - 1, Math.floor(BINS * shareOf(value, min, max)));
      histogram[bin] = (histogram[bin] as number) + 1;
    }
  });
  return { min, max, mean, std: Math.sqrt(squares / finite), zeros, notFinite: tensor.size - finite, histogram };
}

const blocks = ' ▁▂▃▄▅▆▇█';

/** A bar for each step. A step with any element has a visible bar. */
function histogramText(histogram: readonly number[]): string {
  const most = Math.max(...histogram);
  return histogram.map((count) => blocks[Math.ceil((count / most) * (blocks.length - 1))]).join('');
}

const short = (value: number): string => String(Number(value.toPrecision(4)));

export function statisticsText({ min, max, mean, std, zeros, notFinite, histogram }: Statistics): string {
  const rest = [zeros > 0 ? `${zeros} zero` : '', notFinite > 0 ? `${notFinite} not finite` : ''].filter(Boolean);
  const numbers = [`mean ${short(mean)}`, `std ${short(std)}`, ...rest].join(', ');
  return `${short(min)} ${histogramText(histogram)} ${short(max)}  ${numbers}`;
}
