/** `shareTensor` makes a token for another thread, `describeTensor` a description for another process, and `openTensor` opens both. */

import { checkOptions, type OptionNames } from '../base/options.js';
import type { StreamArgument } from '../base/stream.js';
import type { DType } from '../dtype.js';
import { ArgumentTypeError, ArgumentValueError, isUsable } from '../errors.js';
import { checkTensor } from '../native/exchange/export.js';
import { type Expected, expectTaken, type TensorSpec } from '../spec.js';
import type { Descriptor } from '../storage/descriptor.js';
import { getDeviceBackend } from '../storage/device-backend.js';
import { Tensor } from '../tensor.js';
import type { TensorView } from '../view.js';
import { describe, openDescription, type TensorDescription } from './description.js';
import { type IssuedToken, issueToken, openToken, type TensorToken } from './token.js';

/** How a tensor is described for another process. */
export interface DescribeOptions {
  /** false: adds no event after the work on the tensor, so the program orders the two sides itself. The default is true. */
  sync?: boolean;
  /**
   * false: throws for host memory that other processes cannot open, instead of copying it. The copy
   * lives as long as the tensor's own memory, and each call makes another copy. The default is true.
   */
  copy?: boolean;
  /**
   * true: `openTensor` maps the memory so that it cannot be written. On Linux memory without a name is also
   * sealed for good: no other process can open it for writing, and only this process still writes it.
   * Memory with a name becomes a read-only file, which a program of the same user can make writable again. The default is false.
   */
  readonly?: boolean;
}

const describeNames: OptionNames<DescribeOptions> = { sync: 'boolean', copy: 'boolean', readonly: 'boolean' };

/** How a shared tensor is opened. */
export interface OpenTensorOptions {
  /** The stream that waits for the work on the tensor. The default is the current stream of the device. */
  stream?: StreamArgument;
  /**
   * A file descriptor of the memory that this process inherited from the one that shared it. Needed where processes do
   * not see each other's files in `/proc`. By default the memory is found there, or by its name.
   */
  file?: number;
  /** The dtype that the tensor must have, or a list of accepted dtypes; any when absent. The type of the result follows it. */
  dtype?: DType | readonly DType[];
  /** The length that each axis must have; null for any length. Any shape when absent. */
  shape?: readonly (number | null)[];
}

const openNames: OptionNames<OpenTensorOptions> = { stream: true, file: true, dtype: true, shape: true };

/**
 * Makes a token for `postMessage` to another thread of this process. Each message holds its own reference, and both
 * sides may dispose in any order.
 *
 * @param tensor - The tensor. Keep it alive until the message is posted.
 * @returns A token that shares the memory. Memory that native code cannot keep, such as that of `Tensor.wrap`, is
 *   copied for each message.
 * @throws ArgumentTypeError for anything but a tensor, and DisposedError for one that was disposed.
 * @example
 * ```ts
 * import { Tensor } from 'dlpack';
 * import { openTensor, shareTensor } from 'dlpack/shared';
 * const x = Tensor.zeros([2], 'uint8');
 * const message = structuredClone(shareTensor(x)); // as postMessage does
 * openTensor(message).fill(7); // in the worker
 * console.log(x.toArray()); // [7, 7]
 * ```
 */
export function shareTensor(tensor: TensorView): IssuedToken {
  checkTensor(tensor);
  return issueToken(tensor);
}

/**
 * Describes a tensor for another process of this machine, in plain values that any channel can carry. Host memory (on
 * Linux) that was not allocated as `shareable` is copied once. The other process waits for device work that was queued
 * here. Keep the tensor until the other process has opened it, and for device memory until that process has released
 * it, because neither the driver nor the garbage collector knows that it is in use.
 *
 * @param tensor - The tensor, on the host or on a CUDA device.
 * @param options - Whether the other side waits for device work (`sync`, true when absent), may open a copy (`copy`,
 *   true when absent), and must not write (`readonly`, false when absent).
 * @returns The description. It keeps nothing alive.
 * @throws ArgumentTypeError for anything but a tensor, and DisposedError for one that was disposed.
 * @throws BufferError if `copy: false` forbids a copy that is needed, or CUDA cannot share the memory.
 * @throws UnsupportedDeviceError for memory of a device, or on a system, that other processes cannot open.
 * @throws OutOfMemoryError if there is not enough memory for a copy.
 * @example
 * ```ts
 * import { Tensor } from 'dlpack';
 * import { describeTensor, openTensor } from 'dlpack/shared';
 * const x = Tensor.zeros([2], 'uint8', { shareable: true });
 * const message = JSON.stringify(describeTensor(x)); // for a socket, a pipe, an argument
 * using same = openTensor(JSON.parse(message)); // in the other process
 * x.fill(7);
 * console.log(same.toArray()); // [7, 7]
 * ```
 */
export function describeTensor(tensor: TensorView, options: DescribeOptions = {}): TensorDescription {
  checkOptions(options, describeNames, '{ copy: false }');
  const { sync = true, copy = true, readonly = false } = options;
  return describe(checkTensor(tensor), { sync, copy, readonly });
}

/**
 * Opens the memory of a token or a description that another thread or process made, without a copy. A description may
 * come from a process that you do not trust: it opens only memory that this package can recognise. With `dtype` or
 * `shape` it throws a `SpecError` for another tensor, and the compiler knows them.
 *
 * @param description - What `shareTensor` or `describeTensor` returned, after its way through a message.
 * @param options - The stream that waits for the work on the tensor, an inherited file, and the dtype and shape that
 *   you expect. When absent: the current stream of the device, and any tensor.
 * @returns A tensor that shares the memory. Dispose it as any other.
 * @throws ArgumentTypeError or ArgumentValueError for anything but a token or a description, and for an option that
 *   does not fit it.
 * @throws ConsumedError for a token that was opened before, was revoked, or comes from another process.
 * @throws BufferError if the memory no longer exists or may not be opened, and LayoutError if elements would lie
 *   outside of it.
 * @throws SpecError if the dtype or the shape is another than expected.
 * @throws UnsupportedDTypeError or UnsupportedDeviceError for a dtype or a device that this process does not have.
 * @example
 * ```ts
 * import { Tensor } from 'dlpack';
 * import { describeTensor, openTensor } from 'dlpack/shared';
 * const message = JSON.stringify(describeTensor(Tensor.from([1, 2], { dtype: 'float32' }))); // in one process
 * using x = openTensor(JSON.parse(message), { dtype: 'float32', shape: [null] }); // in another
 * console.log(x.toArray()); // [1, 2]
 * ```
 */
export function openTensor<const S extends Pick<TensorSpec, 'dtype' | 'shape'>>(
  description: TensorToken | TensorDescription,
  options: OpenTensorOptions & S,
): Expected<Tensor, S>;
export function openTensor(description: TensorToken | TensorDescription, options?: OpenTensorOptions): Tensor;
export function openTensor(description: TensorToken | TensorDescription, options: OpenTensorOptions = {}): Tensor {
  checkOptions(options, openNames, '{ stream }');
  return expectTaken(new Tensor(open(description, options)), options);
}

function open(description: TensorToken | TensorDescription, { stream, file }: OpenTensorOptions): Descriptor {
  if (!isUsable(description)) {
    throw new ArgumentTypeError('description', 'what shareTensor() or describeTensor() returned', description);
  }
  const isToken = 'dlpackTicket' in description;
  if (!isToken && !('version' in description) && ('name' in description || 'file' in description)) {
    const advice = 'openForeign() opens memory of other programs, if you trust where its name or numbers come from';
    throw new ArgumentTypeError('description', 'what shareTensor() or describeTensor() returned', description, advice);
  }
  if (file !== undefined && (isToken || description.kind !== 'cpu')) {
    throw new ArgumentValueError('file', 'no value except for host memory of describeTensor()', file);
  }
  if (file !== undefined && !(Number.isInteger(file) && file >= 0 && file < 2 ** 31)) {
    throw new ArgumentValueError('file', 'the number of a file descriptor', file);
  }
  if (!isToken) return openDescription(description, stream, file ?? null);
  const opened = openToken(description.dlpackTicket);
  try {
    if (stream !== undefined && stream !== null) orderBefore(opened, stream);
  } catch (error) {
    opened.storage.release();
    throw error;
  }
  return opened;
}

/** Makes the stream wait for the work of the other thread. */
function orderBefore(descriptor: Descriptor, stream: StreamArgument): void {
  const { device } = descriptor;
  const backend = device.isHostAccessible ? null : getDeviceBackend(device);
  if (backend !== null) backend.handOver(descriptor, backend.streams?.handle(device, stream) ?? null);
  else throw new ArgumentValueError('stream', `null for memory on '${device.name}'`, stream);
}
