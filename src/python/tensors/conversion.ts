/** JavaScript tensors as Python objects of a class. */

import { checkOptions, type OptionNames } from '../../base/options.js';
import { ArgumentTypeError, BufferError } from '../../errors.js';
import { fromDLPack } from '../../from-dlpack.js';
import { placeOf, withMemory } from '../../native/exchange/export.js';
import { DLPACK, type DLPackSource } from '../../protocol/managed.js';
import type { Descriptor } from '../../storage/descriptor.js';
import { inScope } from '../../storage/scoped.js';
import { sharedDescriptorOf, TensorView } from '../../view.js';
import { makeHandle, performConversion, wrap } from '../calls/operations.js';
import type { PyObject } from '../objects/object.js';
import { findReference, type Reference } from '../objects/reference.js';

/** A value that can become a Python tensor: a tensor, or anything else that `fromDLPack` accepts. */
export type TensorSource = TensorView | DLPackSource;

/** Whether the elements are copied. */
export interface TensorOptions {
  /** true: always copy; false: never copy, throw instead; null (default): copy only when needed. */
  copy?: boolean | null;
}

const optionNames: OptionNames<TensorOptions> = { copy: 'boolean or null' };

/** The tensor as an object of a Python class. Without a class it becomes a `dlpack.Tensor`. */
export function makeTensor(source: TensorSource, type?: PyObject, options?: TensorOptions): PyObject {
  const reference = type === undefined || type === null ? null : findReference(type);
  if (reference === null && type !== undefined && type !== null) {
    throw new ArgumentTypeError('type', 'a Python class, such as torch.Tensor', type);
  }
  if (options !== undefined) checkOptions(options, optionNames, '{ copy: true }');
  const copy = options?.copy ?? null;
  // No `instanceof` for a function, because it would call Python for the prototype of a Python object.
  if (typeof source === 'object' && source instanceof TensorView) return convert(source, reference, copy);
  if ((typeof source !== 'object' && typeof source !== 'function') || source === null || !(DLPACK in source)) {
    throw new ArgumentTypeError('source', 'a Tensor', source);
  }
  const tensor = fromDLPack(source);
  try {
    return convert(tensor, reference, copy);
  } finally {
    tensor.dispose();
  }
}

function convert(source: TensorView, type: Reference | null, copy: boolean | null): unknown {
  if (type === null && copy === null) return inScope(wrap(makeHandle(source))); // the object knows whether its memory is a copy
  const descriptor = sharedDescriptorOf(source);
  const made = copy === null && placeOf(descriptor) === 'copy' ? 'made' : copy === false ? 'never' : 'if needed';
  const result = withMemory(descriptor, copy, (ready) => convertNative(ready, type, made));
  return result === undefined ? convertCopy(descriptor, type, copy) : result;
}

/** Converts a copy, because the class cannot use the memory as it is. */
function convertCopy(descriptor: Descriptor, type: Reference | null, copy: boolean | null): unknown {
  if (copy === false) {
    throw new BufferError('Expected a writable tensor without negative strides for this Python class; allow a copy');
  }
  return withMemory(descriptor, true, (ready) => convertNative(ready, type, 'if needed'));
}

function convertNative(
  descriptor: Descriptor,
  type: Reference | null,
  copy: Parameters<typeof performConversion>[2],
): unknown {
  if (type === null) return inScope(wrap(makeHandle(new TensorView(descriptor))));
  const handle = performConversion(type, descriptor, copy);
  return handle === 0 ? undefined : inScope(wrap(handle));
}
