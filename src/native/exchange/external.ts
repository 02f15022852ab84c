/** Tensors for the native code of other addons. */

import { checkOptions, type OptionNames } from '../../base/options.js';
import type { NativeExternal } from '../../protocol/managed.js';
import { produce } from '../../protocol/produce.js';
import { sharedDescriptorOf, type TensorView } from '../../view.js';
import { native } from '../load/load.js';
import { checkTensor } from './export.js';

/** Whether the external may hold a copy. */
export interface ExternalOptions {
  /** true: always copy; false: never copy, throw instead; null (default): copy only memory that native code cannot keep. */
  copy?: boolean | null;
}

const optionNames: OptionNames<ExternalOptions> = { copy: 'boolean or null' };

/**
 * Makes a native external with the tensor, for an addon that takes it with `dlpack_napi_take` (include/dlpack_napi.h).
 * The garbage collector releases an external that no addon takes.
 *
 * @param tensor - The tensor. It may be disposed before the addon takes the external.
 * @param options - Whether to copy; when absent, only memory that native code cannot keep.
 * @returns An external that shares the memory of the tensor, or has a copy.
 * @throws ArgumentTypeError for anything but a tensor, and DisposedError for one that was disposed.
 * @throws BufferError if `copy: false` forbids a copy that is needed.
 * @throws LoadError without the native part.
 * @example
 * ```ts
 * import { fromDLPack, Tensor } from 'dlpack';
 * import { toExternal } from 'dlpack/native';
 * const x = Tensor.from([1, 2, 3]);
 * const y = fromDLPack(toExternal(x)); // or addon.scale(toExternal(x))
 * console.log(y.sharesMemory(x)); // true
 * ```
 */
export function toExternal(tensor: TensorView, options: ExternalOptions = {}): NativeExternal {
  checkOptions(options, optionNames, '{ copy: false }');
  const { copy = null } = options;
  native(); // throws the error that says why there is no addon
  const source = checkTensor(tensor, sharedDescriptorOf);
  const request = { device: null, isDeviceKnown: true, copy, stream: null, native: 'only', memory: false } as const;
  return produce(source, request) as NativeExternal;
}
