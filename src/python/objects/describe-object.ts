/** Describes a Python object in debug mode. */

import { layoutAt } from '../../native/wire/tensor.js';
import { enter, request } from '../../native/wire/wire.js';
import { TensorResult } from '../../native/wire/wire-layout.js';
import { binding } from '../binding.js';

/** What an array of NumPy or a tensor of PyTorch has; null for another object. */
export function describeObject(handle: number): { dtype: string; shape: readonly number[]; device: string } | null {
  const slot = enter(TensorResult.WORDS);
  if (!request(slot, () => binding().describeObject(handle))) return null;
  const { dtype, shape, device } = layoutAt(TensorResult.tensorAt(slot));
  return { dtype: dtype.name, shape: [...shape], device: device.name };
}
