/** Evenly spaced values. */

import { checkOptions, type OptionNames } from '../base/options.js';
import { cpu, type DeviceArgument, parseDevice } from '../device.js';
import { type DTypeInfo, dtypeFromName, TypeCode } from '../dtype.js';
import { ArgumentTypeError, ArgumentValueError } from '../errors.js';
import { checkShape } from '../layout.js';
import { allocateLike, filled } from '../storage/allocate.js';
import type { Descriptor } from '../storage/descriptor.js';
import { releaseAfter } from '../storage/storage.js';
import { copyTo } from './copy.js';
import { elementCodec } from './element.js';

/** The first value, the step and the device of `Tensor.arange`. */
export interface ArangeOptions {
  /** The first value; 0 when absent. */
  start?: number;
  /** The distance between values, which may be negative; 1 when absent. */
  step?: number;
  /** Where the memory is; `'cpu'` when absent. */
  device?: DeviceArgument;
}

const names: OptionNames<ArangeOptions> = { start: true, step: true, device: true };

/** `start`, `start + step`, ... up to `stop`, which is not included. */
export function rangeOf(stop: number, dtype: DTypeInfo, options: ArangeOptions): Descriptor {
  checkOptions(options, names, '{ start: 1 }');
  const { start = 0, step = 1, device: place = 'cpu' } = options;
  const device = parseDevice(place);
  checkFinite(start, 'start');
  checkFinite(stop, 'stop');
  checkFinite(step, 'step');
  if (step === 0) throw new ArgumentValueError('step', 'a step other than zero', step);
  const [count] = checkShape([Math.max(0, Math.ceil((stop - start) / step))]) as [number];
  checkValues(start, step, count, dtype);
  const values = filled(allocateLike([count], dtypeFromName('float64'), 0), (target) => {
    const data = target.data();
    for (let i = 0; i < count; i++) data[i] = start + i * step;
    target.storage.commit();
  });
  const converted = releaseAfter(values, () => copyTo(values, dtype, cpu));
  if (device === cpu) return converted;
  return releaseAfter(converted, () => copyTo(converted, dtype, device));
}

function checkFinite(value: unknown, argument: string): void {
  if (typeof value !== 'number') throw new ArgumentTypeError(argument, 'a number', value);
  if (!Number.isFinite(value)) throw new ArgumentValueError(argument, 'a finite number', value);
}

/** Throws for values that the dtype cannot hold. The first, second and last speak for all, which lie between them. */
function checkValues(start: number, step: number, count: number, dtype: DTypeInfo): void {
  const isInteger = dtype.code === TypeCode.int || dtype.code === TypeCode.uint;
  const scratch = new DataView(new ArrayBuffer(Math.ceil(dtype.itemBits / 8)));
  for (const i of [0, 1, count - 1]) {
    if (i < 0 || i >= count) continue;
    const value = start + i * step;
    // Larger numbers are not exact, which only a float tolerates.
    if (isInteger && Math.abs(value) > Number.MAX_SAFE_INTEGER) {
      throw new ArgumentValueError('stop', `values of at most 2^53 - 1 for ${dtype.name}`, value);
    }
    elementCodec(dtype).write(scratch, 0, value);
  }
}
