/**
 * Iteration over elements in row-major order.
 *
 * @module
 */

import type { Descriptor } from '../storage/descriptor.js';
import { type ElementCodec, type ElementValue, elementCodec } from './element.js';

const iteratorPrototype = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]())) as object;

/** Iterates over elements. A generator would take twice as long. */
export class ElementIterator<Tensor> {
  private readonly tensor: Tensor;
  private readonly open: (tensor: Tensor) => Descriptor;
  private readonly codec: ElementCodec;
  private readonly index: number[];
  private bit: number;
  private left: number;

  /** `open` throws once the tensor was disposed. */
  constructor(tensor: Tensor, open: (tensor: Tensor) => Descriptor) {
    const { shape, dtype, bitOffset, size } = open(tensor);
    this.tensor = tensor;
    this.open = open;
    this.codec = elementCodec(dtype);
    this.index = new Array<number>(shape.length).fill(0);
    this.bit = bitOffset;
    this.left = size;
  }

  next(): { value: ElementValue | undefined; done: boolean } {
    if (this.left === 0) return { value: undefined, done: true };
    // At each step, because the program may dispose the tensor between two elements.
    const descriptor = this.open(this.tensor);
    const value = this.codec.read(descriptor.view(), this.bit);
    const { shape, strides, strideBits } = descriptor;
    this.left--;
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      const step = (strides[axis] as number) * strideBits;
      this.bit += step;
      if (++(this.index[axis] as number) < (shape[axis] as number)) break;
      this.bit -= (shape[axis] as number) * step;
      this.index[axis] = 0;
    }
    return { value, done: false };
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
