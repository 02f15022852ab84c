/**
 * Timing: medians of many samples. Each sample is long enough to be precise and short enough to avoid most noise from
 * other processes.
 */

export interface Timing {
  /** Nanoseconds for one operation: the median and the minimum of all samples. */
  readonly median: number;
  readonly min: number;
}

/** Samples of `batch(n)`, which runs an operation n times. */
export function sample(batch: (n: number) => void, n: number, samples: number): number[] {
  const times: number[] = [];
  for (let i = 0; i < samples; i++) {
    const start = process.hrtime.bigint();
    batch(n);
    times.push(Number(process.hrtime.bigint() - start) / n);
  }
  return times;
}

export function summarise(times: readonly number[]): Timing {
  const sorted = [...times].sort((a, b) => a - b);
  return { median: sorted[Math.floor(sorted.length / 2)] as number, min: sorted[0] as number };
}
