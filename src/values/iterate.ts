/** Iteration over elements in row-major order. */

import type { Descriptor } from '../storage/descriptor.js';
import { type ElementCodec, type ElementValue, elementCodec } from './element.js';

const iteratorPrototype = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]())) as object;

/** Iterates over elements. A generator would take twice as long. */
export class ElementIterator<Tensor> {
  private readonly codec: ElementCodec;
  /** The position on each axis but the last. */
  private readonly index: number[];
  /** Bits from one element to the next in a row, and to the first element of the row. */
  private readonly step: number;
  private start: number;
  private bit: number;
  /** Elements left in the row, and in all. */
  private inRow: number;
  private left: number;
  /** Null without elements, where the view is a copy of the memory, and once a program has detached its buffer. */
  private view: DataView | null;

  /** `open` throws once the tensor was disposed. */
  constructor(
    private readonly tensor: Tensor,
    private readonly open: (tensor: Tensor) => Descriptor,
  ) {
    const descriptor = open(tensor);
    const { shape, strides, strideBits, dtype, bitOffset, size, storage } = descriptor;
    this.codec = elementCodec(dtype);
    this.index = new Array<number>(shape.length).fill(0);
    this.step = (strides[shape.length - 1] ?? 0) * strideBits;
    this.start = bitOffset;
    this.bit = bitOffset;
    this.inRow = shape[shape.length - 1] ?? 1;
    this.left = size;
    // First, because it throws for memory on a device, which `isBufferCopied` would read.
    const view = size === 0 ? null : descriptor.view();
    this.view = view === null || storage.isBufferCopied ? null : view;
  }

  next(): { value: ElementValue | undefined; done: boolean } {
    if (this.left === 0) return { value: undefined, done: true };
    // At each step, because the program may dispose the tensor between two elements.
    const descriptor = this.open(this.tensor);
    const value = this.read(descriptor);
    this.left--;
    this.inRow--;
    this.bit += this.step;
    if (this.inRow === 0) this.nextRow(descriptor);
    return { value, done: false };
  }

  private read(descriptor: Descriptor): ElementValue {
    try {
      // Reading throws if the buffer is detached. Engines test that anyway, and testing it here would take as long again.
      if (this.view !== null) return this.codec.read(this.view, this.bit);
    } catch {
      this.view = null;
    }
    return this.codec.read(descriptor.view(), this.bit);
  }

  private nextRow({ shape, strides, strideBits }: Descriptor): void {
    const { index } = this;
    for (let axis = shape.length - 2; axis >= 0; axis--) {
      const step = (strides[axis] as number) * strideBits;
      this.start += step;
      if (++(index[axis] as number) < (shape[axis] as number)) break;
      this.start -= (shape[axis] as number) * step;
      index[axis] = 0;
    }
    this.bit = this.start;
    this.inRow = shape[shape.length - 1] ?? 1;
  }

  return<T>(value: T): { value: T; done: boolean } {
    this.left = 0;
    return { value, done: true };
  }

  throw(error: unknown): never {
    this.left = 0;
    throw error;
  }
}
Object.setPrototypeOf(ElementIterator.prototype, iteratorPrototype);
