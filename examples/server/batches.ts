/** Runs images that arrive one by one in batches, because a model computes a batch faster than its images one after the other. */

import { availableParallelism } from 'node:os';
import { Tensor, type TensorView } from 'dlpack';
import type { Session } from 'dlpack/onnxruntime';

interface Waiting {
  /** Rows, columns, channels; uint8. */
  readonly image: TensorView;
  resolve(scores: readonly number[]): void;
  reject(error: unknown): void;
}

export class Batches {
  private readonly waiting: Waiting[] = [];
  private running = 0;

  constructor(
    /** A model from float32 [batch, channels, rows, columns] to one row of scores for each image. */
    private readonly session: Session,
    /** Images in one batch. On a CPU larger ones make the first image wait longer, and are no faster. */
    private readonly size = 4,
    /** Batches at once, each on one core. While they run, images for the next ones arrive. */
    private readonly atOnce = availableParallelism(),
  ) {}

  /** The scores of an image. */
  scoresOf(image: TensorView): Promise<readonly number[]> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ image, resolve, reject });
      if (this.running < this.atOnce) void this.runWaiting();
    });
  }

  private async runWaiting(): Promise<void> {
    this.running++;
    while (this.waiting.length > 0) {
      const batch = this.waiting.splice(0, this.size);
      try {
        const rows = await this.run(batch.map(({ image }) => image));
        for (const [i, { resolve }] of batch.entries()) resolve(rows[i] as readonly number[]);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.running--;
  }

  private async run(images: readonly TensorView[]): Promise<readonly (readonly number[])[]> {
    const [input, output] = [this.session.inputs[0]?.name ?? '', this.session.outputs[0]?.name ?? ''];
    // One copy puts the channels first, converts the elements and makes the batch.
    using batch = Tensor.stack(
      images.map((image) => image.transpose([2, 0, 1])),
      { dtype: 'float32' },
    );
    using scores = (await this.session.run({ [input]: batch }))[output] as Tensor;
    return scores.toArray() as number[][];
  }
}
