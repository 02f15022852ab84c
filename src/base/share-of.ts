/** Where numbers lie in a range, for pictures and histograms. */

/**
 * How far a value is between two others: 0 at `min`, 1 at `max`, and 0 if they are equal. Of halves, because the
 * difference of large numbers is infinite.
 */
export function shareOf(value: number, min: number, max: number): number {
  if (max <= min) return 0;
  if (max - min < Number.POSITIVE_INFINITY) return (value - min) / (max - min);
  return (value / 2 - min / 2) / (max / 2 - min / 2);
}
