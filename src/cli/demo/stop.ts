/** The common parts of the demo's stops: what each receives, and what it reports. */

import type { Tensor } from '../../tensor.js';

/** Where a stop found the tensor. */
export interface Arrival {
  /** As the other side names it. */
  readonly address: bigint;
  /** True if what one side wrote, the other side read. */
  readonly arrived: boolean;
  /** The median time of one exchange in microseconds, where it can be repeated. */
  readonly micros?: number;
  /** Why the address is another one, although nothing is wrong. */
  readonly note?: string;
}

export interface Stop {
  readonly name: string;
  /** The call that a program would write. */
  readonly call: string;
  /** Throws a `NotHere` if the other side is not installed. */
  run(x: Tensor<'float32'>): Arrival | Promise<Arrival>;
}

/** The other side of a stop is not on this machine. */
export class NotHere extends Error {
  readonly command: string;

  constructor(reason: string, command: string) {
    super(reason);
    this.command = command;
  }
}

/** The median time of `exchange` in microseconds. */
export function timed(exchange: () => Disposable): number {
  const times = Array.from({ length: 51 }, () => {
    const start = performance.now();
    const made = exchange();
    const time = (performance.now() - start) * 1000;
    made[Symbol.dispose]();
    return time;
  });
  return times.sort((a, b) => a - b)[times.length >> 1] as number;
}
