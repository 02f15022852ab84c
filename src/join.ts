/** The arguments of `Tensor.stack` and `Tensor.concat`. */

import { checkOptions, type OptionNames } from './base/options.js';
import { type DeviceArgument, type DeviceInfo, parseDevice } from './device.js';
import { type DType, type DTypeInfo, parseDType } from './dtype.js';
import {
  ArgumentTypeError,
  ArgumentValueError,
  isUsable,
  UnsupportedDeviceError,
  UnsupportedDTypeError,
  Words,
} from './errors.js';
import type { Descriptor } from './storage/descriptor.js';
import { concatJoint, joinInto, joinNew, stackJoint } from './values/join.js';
import { checkTensor, descriptorOf, type TensorView, writable } from './view.js';

/** Options of `Tensor.stack` and `Tensor.concat`. */
export interface JoinOptions<D extends DType = DType> {
  /** The new axis of `stack`, or the axis that grows in `concat`; 0 when absent. Negative axes count from the end. */
  axis?: number;
  /** The dtype of the result, to which elements are converted as by `astype`. The default is the dtype of the tensors. */
  dtype?: D;
  /** The device of the result. The default is the device of the tensors. */
  device?: DeviceArgument;
}

/** Options of `Tensor.stack` and `Tensor.concat` that join the tensors in existing memory. */
export interface JoinIntoOptions<T extends TensorView> {
  /** As in {@link JoinOptions}: 0 when absent. */
  axis?: number;
  /** Receives the elements, converted to its dtype, and is the result. */
  out: T;
}

type Options = JoinOptions & Partial<JoinIntoOptions<TensorView>>;

const names: OptionNames<Options> = { axis: true, dtype: true, device: true, out: true };

/** Where the elements went: `out`, or new memory. */
export type Joined = { readonly out: TensorView } | { readonly made: Descriptor };

export function joinTensors(tensors: readonly TensorView[], options: Options | undefined, isStack: boolean): Joined {
  const { axis = 0, dtype: type, device: place, out: given } = readOptions(options);
  const dtype = type === undefined ? null : parseDType(type);
  const device = place === undefined ? null : parseDevice(place);
  const listed = listOf(tensors);
  const out = given === undefined ? null : checkTensor(given, 'out');
  // Read last, because getters of the arguments may dispose tensors.
  const sources = listed.map(descriptorOf);
  const joint = (isStack ? stackJoint : concatJoint)(sources, axis);
  if (out === null) return { made: joinNew(joint, dtype ?? commonDType(sources), device ?? commonDevice(sources)) };
  joinInto(joint, writable(out, 'out'));
  return { out };
}

function readOptions(options: Options | undefined): Options {
  if (options === undefined) return {};
  checkOptions(options, names, '{ axis: 1 }');
  const read = { axis: options.axis, dtype: options.dtype, device: options.device, out: options.out };
  if (read.out !== undefined && (read.dtype !== undefined || read.device !== undefined)) {
    throw new ArgumentTypeError(
      'options',
      'out, or dtype and device',
      new Words('both'),
      'out has its own dtype and device',
    );
  }
  return read as Options;
}

function listOf(tensors: readonly TensorView[]): TensorView[] {
  if (!isUsable(tensors) || !Array.isArray(tensors)) {
    throw new ArgumentTypeError('tensors', 'an array of tensors such as [x, y]', tensors);
  }
  const { length } = tensors;
  if (length === 0) throw new ArgumentValueError('tensors', 'at least one tensor', tensors);
  const listed = new Array<TensorView>(length);
  for (let i = 0; i < length; i++) listed[i] = checkTensor(tensors[i], `tensors[${i}]`);
  return listed;
}

function commonDType(sources: readonly Descriptor[]): DTypeInfo {
  const [{ dtype: first }] = sources as [Descriptor];
  const other = sources.find(({ dtype }) => dtype !== first);
  if (other === undefined) return first;
  throw new UnsupportedDTypeError(
    other.dtype.name,
    `Expected tensors of one dtype but received '${first.name}' and '${other.dtype.name}'; name the result's: { dtype: '${first.name}' }`,
  );
}

function commonDevice(sources: readonly Descriptor[]): DeviceInfo {
  const [{ device: first }] = sources as [Descriptor];
  const other = sources.find(({ device }) => device !== first);
  if (other === undefined) return first;
  throw new UnsupportedDeviceError(
    other.device.name,
    `Expected tensors on one device but received '${first.name}' and '${other.device.name}'; name the result's: { device: '${first.name}' }`,
  );
}
