/**
 * The two functions: `shareTensor` describes a tensor for another thread or process, `openTensor` opens it there.
 *
 * @module
 */

import type { DType } from '../dtype.js';
import { ArgumentTypeError, ArgumentValueError } from '../errors.js';
import { checkTensor } from '../native/export.js';
import { checkOptions, type OptionNames } from '../options.js';
import type { Descriptor } from '../storage/descriptor.js';
import { getDeviceBackend } from '../storage/device-backend.js';
import type { StreamArgument } from '../stream.js';
import { Tensor } from '../tensor.js';
import type { TensorView } from '../view.js';
import { describeTensor, openDescription, type SharedTensor } from './description.js';
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
}

const shareNames: OptionNames<ShareOptions> = { with: true, sync: true, copy: true };

export interface OpenOptions {
  /** The stream that waits for the work on the tensor. The default is the current stream of the device. */
  stream?: StreamArgument;
}

const openNames: OptionNames<OpenOptions> = { stream: true };

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
  const { with: receiver = 'worker', sync, copy } = options;
  const descriptor = checkTensor(tensor);
  if (receiver === 'process') {
    if (sync !== undefined && typeof sync !== 'boolean') throw new ArgumentTypeError('sync', 'a boolean', sync);
    if (copy !== undefined && typeof copy !== 'boolean') throw new ArgumentTypeError('copy', 'a boolean', copy);
    return describeTensor(descriptor, sync ?? true, copy ?? true);
  }
  if (receiver !== 'worker') throw new ArgumentValueError('with', "'worker' or 'process'", receiver);
  if (sync !== undefined) throw new ArgumentValueError('sync', "no value with { with: 'worker' }", sync);
  if (copy !== undefined) throw new ArgumentValueError('copy', "no value with { with: 'worker' }", copy);
  return issueToken(tensor);
}

/** A Tensor over the memory that {@link shareTensor} described in another thread or process, without a copy. */
export function openTensor<D extends DType = DType>(
  description: TensorToken | SharedTensor,
  options: OpenOptions = {},
): Tensor<D> {
  checkOptions(options, openNames, '{ stream }');
  const { stream } = options;
  if (typeof description !== 'object' || description === null) {
    throw new ArgumentTypeError('description', 'what shareTensor() returned', description);
  }
  if (!('dlpackTicket' in description)) return new Tensor<D>(openDescription(description, stream));
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
