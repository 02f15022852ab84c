/** A small random generator with a seed, so that a failing case can be repeated. */

export function randomFrom(seed: number) {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (t ^ (t >>> 14)) >>> 0;
  };
  return {
    /** An integer from `low` to `high`, both included. */
    between: (low: number, high: number): number => low + (next() % (high - low + 1)),
    bytes: (count: number): Uint8Array<ArrayBuffer> => Uint8Array.from({ length: count }, () => next() & 255),
  };
}

export type Random = ReturnType<typeof randomFrom>;
