/** Tensors for Python: the JavaScript half of the class `Tensor` in bridge.py. */

import { BufferError } from '../errors.js';
import { fromDLPack } from '../from-dlpack.js';
import type { DLPackSource } from '../protocol/managed.js';
import type { Tensor } from '../tensor.js';
import type { WasmHeap } from '../wasm/index.js';
import { wordsAt, writeBuffer } from './py-buffer.js';

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
      /** Writes the address of a managed tensor to a cell; leaves it 0 where the struct cannot describe the tensor. */
      manage: (key: number, versioned: boolean, copy: boolean, cell: number): void => {
        const tensor = tensorOf(key);
        if (!versioned && !copy && tensor.isReadOnly) return;
        const address = Number(this.heap().exportManaged(tensor, { versioned, copy: copy ? true : null }));
        wordsAt(this.heap(), cell, 1)[0] = address;
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
