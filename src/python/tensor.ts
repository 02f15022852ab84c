/**
 * JavaScript tensors as Python objects of a class.
 *
 * @module
 */

import { ArgumentTypeError, BufferError } from '../errors.js';
import { fromDLPack } from '../from-dlpack.js';
import { placeOf, withMemory } from '../native/export.js';
import { checkOptions, type OptionNames } from '../options.js';
import { DLPACK, type DLPackProducer } from '../protocol/managed.js';
import type { Descriptor } from '../storage/descriptor.js';
import { descriptorOf, TensorView } from '../view.js';
import type { PyObject } from './object.js';
import { hold, performConversion, wrap } from './operations.js';
import { findReference, type Reference } from './reference.js';

/** A value that can become a Python tensor: a tensor, or anything else that `fromDLPack` accepts. */
export type TensorSource = TensorView | DLPackProducer;

export interface TensorOptions {
  /** true: always copy; false: never copy, throw instead; null: copy only when needed. */
  copy?: boolean | null;
}

const optionNames: OptionNames<TensorOptions> = { copy: true };

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
  const descriptor = descriptorOf(source).shared();
  const isCopied = copy === true;
  const result =
    !isCopied && placeOf(descriptor) === 'native'
      ? convertNative(descriptor, type, copy)
      : withMemory(descriptor, copy, (ready) => convertNative(ready, type, copy));
  if (result !== undefined) return result;
  if (copy === false) {
    throw new BufferError('Expected a writable tensor without negative strides for this Python class; allow a copy');
  }
  return withMemory(descriptor, true, (ready) => convertNative(ready, type, copy));
}

function convertNative(descriptor: Descriptor, type: Reference | null, copy: boolean | null): unknown {
  if (type === null) return wrap(hold(new TensorView(descriptor)));
  const handle = performConversion(type, descriptor, copy !== false);
  return handle === 0 ? undefined : wrap(handle);
}
