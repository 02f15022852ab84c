/** What `dlpack inspect` lists, whatever the format of the file. */

import type { Tensor } from '../../tensor.js';

/** A tensor as a file lists it. */
export interface Listed {
  readonly name: string;
  /** A dtype, or the name of a format's own type, such as `'Q4_K'`. */
  readonly dtype: string;
  readonly shape: readonly (number | string)[];
  /** Null for the inputs and outputs of a model, which have no data. */
  readonly nbytes: number | null;
  /** Its data; null if there is none or if no dtype of this package describes it. */
  readonly load: (() => Tensor) | null;
}

/** Tensors under one heading. */
export interface Section {
  readonly title: string;
  readonly tensors: readonly Listed[];
}

export interface Contents {
  readonly format: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly sections: readonly Section[];
  /** The functions of a kernel library. */
  readonly functions: readonly string[];
  close(): void;
}
