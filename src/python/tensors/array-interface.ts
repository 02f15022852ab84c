/**
 * Reads the CUDA Array Interface of Python objects: in one native call for nearly all objects, entry by entry when the
 * interface is unusual.
 */

import { OutOfMemoryError } from '../../errors.js';
import { releaseHandle } from '../../native/memory/storage.js';
import { takeTensor } from '../../native/wire/tensor.js';
import { enter, leave } from '../../native/wire/wire.js';
import { TensorResult, WireHeader } from '../../native/wire/wire-layout.js';
import type { Descriptor } from '../../storage/descriptor.js';
import type { ForeignArray } from '../../storage/foreign.js';
import { binding } from '../binding.js';
import { beginHolding, endHolding, holdReference } from '../calls/held.js';
import { perform } from '../calls/operations.js';
import { importModule, isPyObject, type PyObject } from '../objects/object.js';
import { findReference } from '../objects/reference.js';
import { Operation } from '../wire-layout.js';
import { makeStorage } from './python-storage.js';

/** Converts tuples and lists to arrays, and integers of other types (NumPy's) to numbers. Keeps anything else. */
function toValue(value: PyObject): unknown {
  if (!isPyObject(value)) return value;
  const { isinstance, hasattr, tuple, list } = importModule('builtins');
  if (isinstance(value, tuple) || isinstance(value, list)) return [...value].map(toValue);
  return hasattr(value, '__index__') ? importModule('operator').index(value) : value;
}

const names = ['shape', 'typestr', 'data', 'version', 'strides', 'descr', 'mask', 'stream'] as const;

/** Converts a dict to an object with the entries of the interface. Leaves anything else as it is. */
function toEntries(dict: PyObject): unknown {
  const { isinstance, dict: type } = importModule('builtins');
  if (!isPyObject(dict) || !isinstance(dict, type)) return dict;
  return Object.fromEntries(names.map((name) => [name, name === 'mask' ? dict.get(name) : toValue(dict.get(name))]));
}

/** Reads the interface of an object, or an object that is itself the interface, entry by entry. */
export function readArray(source: object, isInterface: boolean): ForeignArray | null {
  const reference = findReference(source);
  if (reference === null) return null;
  const mark = beginHolding();
  const object = holdReference(reference);
  let handle: number;
  try {
    handle = binding().keepObject(object);
  } finally {
    endHolding(mark);
  }
  if (handle === 0) throw new OutOfMemoryError('could not keep a Python object for a tensor');
  try {
    const dict = isInterface ? source : perform(Operation.getAttribute, reference, '__cuda_array_interface__');
    return {
      raw: toEntries(dict),
      makeStorage: (nbytes) => makeStorage(handle, nbytes),
      drop: () => releaseHandle(handle),
    };
  } catch (error) {
    releaseHandle(handle);
    throw error;
  }
}

/** The tensor of an object with an ordinary interface; null for unusual ones, which {@link readArray} reads. */
export function takeArray(source: object): Descriptor | null {
  const reference = findReference(source);
  if (reference === null) return null;
  const slot = enter(TensorResult.WORDS);
  const mark = beginHolding();
  try {
    const object = holdReference(reference);
    WireHeader.setSlot(slot);
    return binding().takeArray(object) ? takeTensor(TensorResult.tensorAt(slot), makeStorage) : null;
  } finally {
    endHolding(mark);
    leave(slot);
  }
}
