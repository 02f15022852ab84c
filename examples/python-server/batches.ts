/** Joins requests into batches, because a model takes less time for sixteen images than sixteen times for one. */

import { Tensor, type TensorView } from 'dlpack';

export interface BatchOptions {
  /** Inputs in one batch at most. */
  readonly size: number;
  /** How many milliseconds the first input of a batch waits for others at most, while the model computes. */
  readonly deadline: number;
  /** Batches that the model computes at the same time. */
  readonly concurrency: number;
  /** Inputs that wait at most. One more is refused with {@link Overloaded}. */
  readonly limit: number;
}

/** Too many inputs wait. The client should come back later. */
export class Overloaded extends Error {
  constructor() {
    super('Too many requests wait');
  }
}

interface Waiting {
  readonly input: TensorView;
  readonly since: number;
  readonly resolve: (row: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export class Batches {
  readonly #waiting: Waiting[] = [];
  #running = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `run` gets a batch, whose first axis counts the inputs, and returns as many rows. */
  constructor(
    readonly run: (batch: Tensor) => Promise<Tensor>,
    readonly options: BatchOptions,
  ) {}

  get waiting(): number {
    return this.#waiting.length;
  }

  /** The row of an input, as nested arrays. The input must not change before. */
  add(input: TensorView): Promise<unknown> {
    if (this.#waiting.length >= this.options.limit) return Promise.reject(new Overloaded());
    return new Promise((resolve, reject) => {
      this.#waiting.push({ input, since: performance.now(), resolve, reject });
      this.#start();
    });
  }

  /** Starts batches: one at once when the model has nothing to do, others when they are full or have waited long enough. */
  #start(): void {
    const { size, deadline, concurrency } = this.options;
    clearTimeout(this.#timer);
    while (this.#waiting.length > 0 && this.#running < concurrency) {
      const waited = performance.now() - (this.#waiting[0] as Waiting).since;
      if (this.#running > 0 && this.#waiting.length < size && waited < deadline) {
        this.#timer = setTimeout(() => this.#start(), deadline - waited);
        return;
      }
      void this.#compute(this.#waiting.splice(0, size));
    }
  }

  async #compute(requests: readonly Waiting[]): Promise<void> {
    this.#running++;
    try {
      using batch = Tensor.stack(requests.map(({ input }) => input));
      using rows = await this.run(batch);
      const values = rows.toArray() as unknown[];
      for (const [i, { resolve }] of requests.entries()) resolve(values[i]);
    } catch (error) {
      for (const { reject } of requests) reject(error);
    } finally {
      this.#running--;
      this.#start();
    }
  }
}
