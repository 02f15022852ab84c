/** A spec: constraints on a tensor in one object, checked at run time and then known to the compiler. */

import { checkOptions, type OptionNames } from './base/options.js';
import { type Device, parseDevice } from './device.js';
import { type DType, parseDType } from './dtype.js';
import { ArgumentTypeError, adviceFor, describe, isA, isUsable, SpecError } from './errors.js';
import type { Tensor } from './tensor.js';
import { descriptorOf, TensorView } from './view.js';

/** What `expectTensor` checks. Properties that are absent are not checked. */
export interface TensorSpec {
  /** One dtype, or a list of accepted dtypes. */
  readonly dtype?: DType | readonly DType[];
  /** Length of each axis; null for any length. */
  readonly shape?: readonly (number | null)[];
  /** Where the memory must be. */
  readonly device?: Device;
  /** true: the elements must be row-major without gaps. */
  readonly contiguous?: boolean;
  /** true: the tensor must not be read-only. */
  readonly writable?: boolean;
}

const specNames: OptionNames<TensorSpec> = {
  dtype: true,
  shape: true,
  device: true,
  contiguous: 'boolean',
  writable: 'boolean',
};

/** The dtypes that a spec accepts, or those of the tensor where the spec names none. */
export type SpecDType<S extends TensorSpec, D extends DType = DType> = S['dtype'] extends DType
  ? S['dtype']
  : S['dtype'] extends readonly (infer E extends DType)[]
    ? E
    : D;
/** The lengths that a spec names, with `number` for an axis of any length. */
export type SpecLengths<L extends readonly (number | null)[]> = {
  readonly [I in keyof L]: L[I] extends number ? L[I] : number;
};
/** The shape that a spec accepts. */
export type SpecShape<S extends TensorSpec> = S['shape'] extends infer L extends readonly (number | null)[]
  ? SpecLengths<L>
  : readonly number[];

/** A tensor that is known to satisfy a spec. A conditional type, so that editors show what it stands for. */
export type Expected<T extends TensorView, S extends TensorSpec> = 0 extends 1 & T // any
  ? Expected<Tensor, S>
  : T extends Tensor<infer D>
    ? Tensor<SpecDType<S, D>> & {
        /** The shape that the spec names. */
        readonly shape: SpecShape<S>;
      }
    : TensorView<SpecDType<S, T['dtype']>> & {
        /** The shape that the spec names. */
        readonly shape: SpecShape<S>;
      };

/**
 * Returns `x` itself if it satisfies the spec; throws a `SpecError` that names the property otherwise. A `Tensor` keeps
 * its type. Anything but a Tensor or TensorView throws.
 *
 * @param x - A tensor, or any value that may be none.
 * @param spec - The dtype or dtypes, the shape (null for any length), the device, and whether it is contiguous or
 *   writable.
 * @returns The same object, with the dtype and the shape in its type. Nothing is copied.
 * @throws SpecError if `x` is no tensor, or another one than the spec says.
 * @throws ArgumentTypeError for a spec that says nothing sensible.
 * @example
 * ```ts
 * import { expectTensor, Tensor } from 'dlpack';
 * const image: unknown = Tensor.zeros([2, 2, 3], 'uint8');
 * const x = expectTensor(image, { dtype: 'uint8', shape: [null, null, 3] });
 * console.log(x.dtype, x.shape); // uint8 [2, 2, 3]
 * ```
 */
export function expectTensor<T extends TensorView, const S extends TensorSpec>(x: T, spec: S): Expected<T, S>;
export function expectTensor<const S extends TensorSpec>(x: unknown, spec: S): Expected<Tensor, S>;
export function expectTensor(x: unknown, spec: TensorSpec): TensorView {
  checkOptions(spec, specNames, "{ dtype: 'float32', shape: [null, 3] }");
  if (!isA(x, TensorView)) {
    const advice = adviceFor(x);
    throw new SpecError('tensor', 'a Tensor', advice === '' ? describe(x) : `${describe(x)}; ${advice}`);
  }
  const descriptor = descriptorOf(x);
  const { dtype: wanted, shape: expected, device: place, contiguous, writable } = spec; // read once
  if (wanted !== undefined) {
    const allowed = (isUsable(wanted) && Array.isArray(wanted) ? wanted : [wanted]).map(parseDType);
    if (!allowed.includes(descriptor.dtype)) {
      throw new SpecError('dtype', allowed.map((dtype) => dtype.name).join(' or '), descriptor.dtype.name);
    }
  }
  if (expected !== undefined) {
    const { shape } = descriptor;
    if (!isUsable(expected) || !Array.isArray(expected))
      throw new ArgumentTypeError('shape', 'lengths such as [null, 3]', expected);
    if (shape.length !== expected.length || expected.some((length, i) => length != null && length !== shape[i])) {
      throw new SpecError('shape', `[${expected.map((n) => n ?? 'any').join(', ')}]`, `[${shape.join(', ')}]`);
    }
  }
  const device = place === undefined ? descriptor.device : parseDevice(place);
  if (device !== descriptor.device) throw new SpecError('device', `'${device.name}'`, `'${descriptor.device.name}'`);
  if (contiguous === true && !descriptor.isContiguous) {
    throw new SpecError('strides', 'a contiguous tensor', `[${descriptor.strides.join(', ')}]`);
  }
  if (writable === true && descriptor.isReadOnly)
    throw new SpecError('isReadOnly', 'a writable tensor', 'a read-only one');
  return x;
}

/** A tensor that the caller owns, if it has the dtype and the shape. Disposes it otherwise. For `fromDLPack`. */
export function expectTaken(tensor: Tensor, { dtype, shape }: { [K in 'dtype' | 'shape']?: TensorSpec[K] }): Tensor {
  if (dtype === undefined && shape === undefined) return tensor;
  try {
    return expectTensor(tensor, { dtype, shape } as TensorSpec); // undefined: not checked
  } catch (error) {
    tensor.dispose();
    throw error;
  }
}
