/** The options of the adapters. */

import { checkOptions, type OptionNames } from '../base/options.js';
import { BufferError } from '../errors.js';

/** The options of every `fromX`. */
export interface AdaptOptions {
  /** true: always copy; false: never copy, throw instead; null (default): copy only where the library cannot share. */
  copy?: boolean | null;
  /**
   * Moves the memory out of the library's object, whose array becomes empty. Native code may keep such memory, so
   * Python and kernels share it. The default is false.
   */
  adopt?: boolean;
}

/** The options of a `fromX` of a library with tensors in GPUBuffers. */
export interface GPUAdaptOptions extends AdaptOptions {
  /** The GPUDevice of the tensor, which the library's object does not name. Without it, a GPUBuffer is refused. */
  gpuDevice?: object;
}

/** The options of every `toX`. */
export interface ToOptions {
  /** true: always copy; false: never copy, throw instead; null (default): copy only where the library cannot share. */
  copy?: boolean | null;
}

/** The options of a `toX` of a library with tensors in GPUBuffers. */
export interface GPUToOptions extends ToOptions {
  /**
   * The GPUDevice that the library uses. A tensor on another GPUDevice is refused with an error that names both.
   * Without it, only a GPUDevice that the library itself names is compared, and jax-js refuses tensors on WebGPU.
   */
  gpuDevice?: object;
}

const toNames: OptionNames<ToOptions> = { copy: 'boolean or null' };
const adaptNames: OptionNames<AdaptOptions> = { copy: 'boolean or null', adopt: 'boolean' };
const example = '{ copy: true }';

/** The option of libraries with tensors in GPUBuffers, for `ownOptions`. */
export const gpuOption = { gpuDevice: true };

/** Throws for an unknown option of a `fromX`. `own`: the names of options that only this `fromX` has. */
export function checkAdaptOptions(options: object | undefined, own: object | undefined): void {
  if (options !== undefined) checkOptions<object>(options, { ...adaptNames, ...own }, example);
}

/** Throws for an unknown option of a `toX`. `own`: the names of options that only this `toX` has. */
export function checkToOptions(options: object | undefined, own: object | undefined): void {
  if (options !== undefined) checkOptions<object>(options, { ...toNames, ...own }, example);
}

/** Throws when the options refuse a copy, which the library makes for the reason `copied`. */
export function checkCopied(options: ToOptions | undefined, copied: string | false | undefined): void {
  if (copied && options?.copy === false) throw new BufferError(`Expected shared memory but ${copied}`);
}
