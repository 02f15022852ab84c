/** Tensors for Python: the JavaScript half of the class `Tensor` in bridge.py. */

import { BufferError } from '../errors.js';
import { fromDLPack } from '../from-dlpack.js';
import type { DLPackSource } from '../protocol/managed.js';
import type { Tensor } from '../tensor.js';
import type { WasmHeap } from '../wasm/index.js';
import { writeBuffer } from './py-buffer.js';

export class Exports {
  /** The tensors that Python has, by the keys of their objects. Python drops each key once. */
  readonly #tensors = new Map<number, Tensor>();
  #last = 0;

  constructor(
    private readonly heap: () => WasmHeap,
    private readonly dtypes: () => readonly string[],
  ) {}

  /** Keeps a tensor in Python's memory for Python. */
  add(source: DLPackSource, copy: boolean | null): number {
    const heap = this.heap();
    const given = fromDLPack(source);
    try {
      const isShared = copy !== true && heap.includes(given);
      if (!isShared && copy === false) {
        throw new BufferError("Expected a tensor in Python's memory (copy: false); allocate it with empty()");
      }
      this.#tensors.set(++this.#last, isShared ? given.share() : copied(given, heap));
      return this.#last;
    } finally {
      given.dispose();
    }
  }

  /** The functions that bridge.py calls. */
  functions() {
    const tensorOf = (key: number): Tensor => this.#tensors.get(key) as Tensor;
    return {
      /** A managed tensor; 0 where the struct cannot describe it. */
      manage: (key: number, versioned: boolean, copy: boolean): number => {
        const tensor = tensorOf(key);
        if (!versioned && !copy && tensor.isReadOnly) return 0;
        return Number(this.heap().exportManaged(tensor, { versioned, copy: copy ? true : null }));
      },
      describe: (key: number, address: number): void => writeBuffer(this.heap(), address, tensorOf(key), this.dtypes()),
      text: (key: number): string => `${tensorOf(key).dtype}[${tensorOf(key).shape.join(', ')}]`,
      drop: (key: number): void => {
        const tensor = this.#tensors.get(key);
        this.#tensors.delete(key);
        tensor?.dispose();
      },
    };
  }
}

function copied(tensor: Tensor, heap: WasmHeap): Tensor {
  const copy = heap.empty(tensor.shape, tensor.dtype);
  try {
    return copy.copyFrom(tensor);
  } catch (error) {
    copy.dispose();
    throw error;
  }
}
