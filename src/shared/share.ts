/** The two functions: `shareTensor` describes a tensor for another thread or process, `openTensor` opens it there. */

import { checkOptions, type OptionNames } from '../base/options.js';
import type { StreamArgument } from '../base/stream.js';
import type { DType } from '../dtype.js';
import { ArgumentTypeError, ArgumentValueError, isUsable } from '../errors.js';
import { checkTensor } from '../native/export.js';
import type { Descriptor } from '../storage/descriptor.js';
import { getDeviceBackend } from '../storage/device-backend.js';
import { Tensor } from '../tensor.js';
import type { TensorView } from '../view.js';
import { describeTensor, openDescription, type SharedTensor } from './description.js';
import { type ForeignTensor, openForeign } from './foreign.js';
import { type IssuedToken, issueToken, openToken, type TensorToken } from './token.js';

export interface ShareOptions {
  /**
   * Where the tensor is opened: in another thread of this process (the default), or in another process of this machine.
   */
  with?: 'worker' | 'process';
  /** For processes. false: adds no event after the work on the tensor, so the program orders the two sides itself. */
  sync?: boolean;
  /**
   * For processes. false: throws for host memory that other processes cannot open, instead of copying it. The copy
   * lives as long as the tensor's own memory, and each call makes another copy.
   */
  copy?: boolean;
  /**
   * For processes. true: other processes cannot write the memory. On Linux the memory is sealed for good, so they cannot
   * open it for writing by any other way either, and only this process still writes it.
   */
  readonly?: boolean;
}

const shareNames: OptionNames<ShareOptions> = { with: true, sync: 'boolean', copy: 'boolean', readonly: 'boolean' };

export interface OpenOptions {
  /** The stream that waits for the work on the tensor. The default is the current stream of the device. */
  stream?: StreamArgument;
  /**
   * A file descriptor of the memory that this process inherited from the one that shared it. Needed where processes do
   * not see each other's files in `/proc`.
   */
  file?: number;
}

const openNames: OptionNames<OpenOptions> = { stream: true, file: true };

/**
 * With a worker: returns a token for `postMessage`. Each message holds its own reference, and both sides may dispose in
 * any order.
 *
 * With a process: returns plain values that any channel can carry. Host memory (on Linux) that was not allocated as
 * `shareable` is copied once. The other process waits for device work that was queued here. Keep the tensor until the
 * other process has opened it, and for device memory until that process has released it, because neither the driver nor
 * the garbage collector knows that it is in use.
 */
export function shareTensor(tensor: TensorView, options?: ShareOptions & { with?: 'worker' }): IssuedToken;
export function shareTensor(tensor: TensorView, options: ShareOptions & { with: 'process' }): SharedTensor;
export function shareTensor(tensor: TensorView, options: ShareOptions): IssuedToken | SharedTensor;
export function shareTensor(tensor: TensorView, options: ShareOptions = {}): IssuedToken | SharedTensor {
  checkOptions(options, shareNames, "{ with: 'process' }");
  const { with: receiver = 'worker', ...rest } = options;
  const descriptor = checkTensor(tensor);
  if (receiver === 'process') {
    const { sync = true, copy = true, readonly = false } = rest;
    return describeTensor(descriptor, { sync, copy, readonly });
  }
  if (receiver !== 'worker') throw new ArgumentValueError('with', "'worker' or 'process'", receiver);
  for (const [name, value] of Object.entries(rest)) {
    if (value !== undefined) throw new ArgumentValueError(name, "no value with { with: 'worker' }", value);
  }
  return issueToken(tensor);
}

/**
 * A Tensor over the memory that {@link shareTensor} described in another thread or process, or over host memory that
 * another program shares, without a copy.
 */
export function openTensor<D extends DType = DType>(
  description: TensorToken | SharedTensor | ForeignTensor,
  options: OpenOptions = {},
): Tensor<D> {
  checkOptions(options, openNames, '{ stream }');
  const { stream, file } = options;
  if (!isUsable(description)) {
    throw new ArgumentTypeError('description', 'what shareTensor() returned', description);
  }
  const isForeign = 'name' in description || 'file' in description;
  const isToken = 'dlpackTicket' in description;
  if (file !== undefined && (isToken || isForeign || (description as SharedTensor).kind !== 'cpu')) {
    throw new ArgumentValueError('file', "no value except for host memory of { with: 'process' }", file);
  }
  if (file !== undefined && !(Number.isInteger(file) && file >= 0 && file < 2 ** 31)) {
    throw new ArgumentValueError('file', 'the number of a file descriptor', file);
  }
  if (isForeign) return new Tensor<D>(openForeign(description));
  if (!isToken) return new Tensor<D>(openDescription(description, stream, file ?? null));
  const opened = openToken(description.dlpackTicket);
  try {
    if (stream !== undefined && stream !== null) orderBefore(opened, stream);
  } catch (error) {
    opened.storage.release();
    throw error;
  }
  return new Tensor<D>(opened);
}

/** Makes the stream wait for the work of the other thread. */
function orderBefore(descriptor: Descriptor, stream: StreamArgument): void {
  const { device } = descriptor;
  const backend = device.isHostAccessible ? null : getDeviceBackend(device);
  if (backend !== null) backend.handOver(descriptor, backend.streams?.handle(device, stream) ?? null);
  else throw new ArgumentValueError('stream', `null for memory on '${device.name}'`, stream);
}
