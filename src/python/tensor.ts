/**
 * JavaScript tensors as objects of Python classes.
 *
 * @module
 */

import type { Descriptor } from '../descriptor.js';
import { ArgumentTypeError, BufferError } from '../errors.js';
import { DLPACK, type DLPackProducer } from '../managed.js';
import { placeOf, withMemory } from '../native/export.js';
import { fromDLPack } from '../protocol.js';
import { descriptorOf, TensorView } from '../view.js';
import { perform } from './cells.js';
import { frame, Kind, Operation, RESULT_KIND } from './frame.js';
import type { PyObject } from './object.js';
import { findReference, type Reference } from './reference.js';

const { u32 } = frame;

/** What can become a tensor of Python: a tensor, or anything else that `fromDLPack` takes. */
export type TensorSource = TensorView | DLPackProducer;

export interface TensorOptions {
  /** true: a copy, always; false: never, throw instead; null: only when needed. */
  copy?: boolean | null;
}

/** The tensor as an object of a class of Python, of our own without one. */
export function makeTensor(source: TensorSource, type?: PyObject, options?: TensorOptions): PyObject {
  const reference = type === undefined || type === null ? null : findReference(type);
  if (reference === null && type !== undefined && type !== null) {
    throw new ArgumentTypeError('type', 'a class of Python, such as torch.Tensor', type);
  }
  const copy = options?.copy ?? null;
  // Not `instanceof` for a function, which would ask an object of Python for its prototype.
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
  if (copy === true) return convertCopy(source, type);
  const descriptor = descriptorOf(source);
  const result =
    placeOf(descriptor) === 'native'
      ? send(source, type, copy)
      : withMemory(descriptor, copy, (ready) => send(new TensorView(ready), type, copy));
  if (result !== undefined) return result;
  if (copy === false) {
    throw new BufferError(
      'Expected a writable tensor without negative strides for this class of Python, which has no other; allow a copy',
    );
  }
  return convertCopy(source, type);
}

function convertCopy(source: TensorView, type: Reference | null): unknown {
  return withMemory(descriptorOf(source), true, (ready: Descriptor) => send(new TensorView(ready), type, true));
}

/** Undefined when the class cannot take the tensor as it is. */
function send(tensor: TensorView, type: Reference | null, copy: boolean | null): unknown {
  const args = type === null ? [tensor] : [tensor, copy === false ? 0 : 1];
  const result = perform(Operation.tensor, type, null, args);
  return u32[RESULT_KIND] === Kind.mustCopy ? undefined : result;
}
