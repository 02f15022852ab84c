/**
 * What tensors must hold, in plain arrays: the oracle of the fuzzer. Values are small whole numbers, which every dtype holds
 * exactly, so that a cast changes nothing.
 */

/** Memory that tensors share. */
export interface Block {
  readonly values: number[];
  /** Live tensors over it. */
  owners: number;
  /** JavaScript detached the memory: every access must throw a typed error. */
  isDetached: boolean;
  /** It was exported to C, or its `.data` was wrapped. The fuzzer does not mix the two, because their lifetimes differ. */
  isExported: boolean;
  isWrapped: boolean;
  /** Typed arrays that a program kept; empty once the last tensor is disposed. */
  readonly kept: ArrayLike<unknown>[];
  /** The package, an allocator of the program, or the program's own array. */
  readonly owner: 'package' | 'allocator' | Float32Array<ArrayBuffer>;
}

/** One tensor over a block. Strides and the offset count elements. */
export interface Model {
  readonly block: Block;
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly offset: number;
}

export const rowMajor = (shape: readonly number[]): number[] => {
  const strides = new Array<number>(shape.length);
  let step = 1;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    strides[axis] = step;
    step *= Math.max(shape[axis] as number, 1);
  }
  return strides;
};

export const sizeOf = (shape: readonly number[]): number => shape.reduce((size, length) => size * length, 1);

/** Places of all elements in the block, in row-major order. */
export function placesOf({ shape, strides, offset }: Model): number[] {
  let places = [offset];
  shape.forEach((length, axis) => {
    const step = strides[axis] as number;
    places = places.flatMap((place) => Array.from({ length }, (_, i) => place + i * step));
  });
  return places;
}

/** Several indices may name one element: the package refuses to write there. */
export const repeats = ({ shape, strides }: Model): boolean =>
  sizeOf(shape) > 0 && strides.some((stride, axis) => stride === 0 && (shape[axis] as number) > 1);

export const readModel = (model: Model): number[] =>
  placesOf(model).map((place) => model.block.values[place] as number);

export function writeModel(model: Model, values: readonly number[]): void {
  placesOf(model).forEach((place, i) => {
    model.block.values[place] = values[i] as number;
  });
}

export const makeBlock = (values: number[], owner: Block['owner'] = 'package'): Block => ({
  values,
  owners: 0,
  isDetached: false,
  isExported: false,
  isWrapped: false,
  kept: [],
  owner,
});

/** A fresh model in memory of its own. */
export const modelOf = (
  values: number[],
  dtype: string,
  shape: readonly number[],
  owner: Block['owner'] = 'package',
): Model => ({
  block: makeBlock(values, owner),
  dtype,
  shape,
  strides: rowMajor(shape),
  offset: 0,
});
