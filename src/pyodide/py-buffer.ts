/** `Py_buffer`, as `Buffer` in bridge.py has it: the place of each field in words of four bytes. */

import { parseDType } from '../dtype.js';
import { BufferError } from '../errors.js';
import type { Tensor } from '../tensor.js';
import type { WasmHeap } from '../wasm/index.js';

const Field = {
  buf: 0,
  len: 2,
  itemsize: 3,
  readonly: 4,
  ndim: 5,
  shape: 7,
  strides: 8,
  dtype: 11,
  integers: 12,
} as const;

/** The words at an address. The array ends when the memory grows, so it is used at once. */
export function wordsAt(heap: WasmHeap, address: number, count: number): Int32Array {
  const words = heap.tensorAt(address, { shape: [count], dtype: 'int32' });
  const { data } = words;
  words.dispose();
  return data;
}

/** The tensor of a buffer. `release` is called once, also if the buffer is no tensor. */
export function readBuffer(heap: WasmHeap, address: number, dtypes: readonly string[], release: () => void): Tensor {
  try {
    const words = wordsAt(heap, address, Field.integers);
    const field = (name: keyof typeof Field): number => words[Field[name]] as number;
    const [ndim, itemsize] = [field('ndim'), field('itemsize')];
    // Python leaves out what a buffer need not say: the shape of one axis, and strides of packed elements.
    const integersAt = (pointer: number) => [...(ndim === 0 ? [] : wordsAt(heap, pointer, ndim))];
    const shape = field('shape') === 0 ? (ndim === 0 ? [] : [field('len') / itemsize]) : integersAt(field('shape'));
    const steps = field('strides') === 0 ? undefined : integersAt(field('strides'));
    const isEmpty = shape.includes(0);
    const wrong = isEmpty ? undefined : steps?.find((step) => step % itemsize !== 0);
    if (wrong !== undefined) {
      throw new BufferError(
        `Expected strides of whole elements (${itemsize} bytes) but received ${wrong} bytes; copy it in Python`,
      );
    }
    return heap.tensorAt(field('buf'), {
      shape,
      dtype: dtypes[field('dtype')] as 'float32',
      ...(steps === undefined || isEmpty ? {} : { strides: steps.map((step) => step / itemsize) }),
      readonly: field('readonly') !== 0,
      release,
    });
  } catch (error) {
    release();
    throw error;
  }
}

/** Writes a tensor of the heap as a buffer. The dtype is -1 where buffers have none. */
export function writeBuffer(heap: WasmHeap, address: number, tensor: Tensor, dtypes: readonly string[]): void {
  const { shape, strides, ndim } = tensor;
  const itemsize = Math.ceil(parseDType(tensor.dtype).itemBits / 8);
  const data = Number(heap.addressOf(tensor));
  const words = wordsAt(heap, address, Field.integers + ndim * 2);
  words[Field.buf] = data;
  words[Field.len] = tensor.nbytes;
  words[Field.itemsize] = itemsize;
  words[Field.readonly] = tensor.isReadOnly ? 1 : 0;
  words[Field.ndim] = ndim;
  words[Field.shape] = address + Field.integers * 4;
  words[Field.strides] = address + (Field.integers + ndim) * 4;
  words[Field.dtype] = dtypes.indexOf(tensor.dtype);
  words.set(shape, Field.integers);
  words.set(
    strides.map((stride) => stride * itemsize),
    Field.integers + ndim,
  );
}
