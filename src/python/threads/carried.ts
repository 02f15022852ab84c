/** Values that native code carried here from another thread, outside of the wire. */

import { enter, leave } from '../../native/wire/wire.js';
import { TensorResult, WireHeader } from '../../native/wire/wire-layout.js';
import { Tensor } from '../../tensor.js';
import { binding } from '../binding.js';
import { consume, takeTensorResult, wrap } from '../calls/operations.js';
import { findReference, type Reference, release, releaseObject } from '../objects/reference.js';
import { toBigInt } from '../values/integers.js';
import { ValueKind } from '../wire-layout.js';

/** A value, as its kind and a number or text; as an array for the parts of a value. */
export function toValue(kind: number, value: unknown): unknown {
  switch (kind) {
    case ValueKind.handle:
      return wrap(value as number);
    case ValueKind.none:
      return null;
    case ValueKind.bool:
      return value === 1;
    case ValueKind.bigInt:
      return toBigInt(value as string);
    case ValueKind.tensor:
      return nextTensor();
    case ValueKind.list:
      return toParts(value as readonly unknown[]);
    default:
      return value;
  }
}

/** Values that alternate with their kinds. Releases all of them if it fails. */
function toParts(values: readonly unknown[]): unknown[] {
  const parts: unknown[] = [];
  try {
    for (let i = 0; i < values.length; i += 2) parts.push(toValue(values[i] as number, values[i + 1]));
    return parts;
  } catch (error) {
    for (const part of parts) if (typeof part === 'object' && part instanceof Tensor) part.dispose();
    dropParts(values.slice(2 * parts.length));
    throw error;
  }
}

/** Releases the objects among parts that nothing takes. Native code drops the tensors that are not taken. */
export function dropParts(values: readonly unknown[]): void {
  for (let i = 0; i < values.length; i += 2) if (values[i] === ValueKind.handle) releaseObject(values[i + 1] as number);
}

/** The next tensor of the result that native code is settling. */
function nextTensor(): Tensor {
  const slot = enter(TensorResult.WORDS);
  let handle: number;
  try {
    WireHeader.setSlot(slot);
    handle = binding().nextTensor();
    if (handle === 0) return new Tensor(takeTensorResult(slot));
  } finally {
    leave(slot);
  }
  // Device memory: the streams of this thread wait for the producer's.
  const reference = findReference(wrap(handle)) as Reference;
  try {
    return new Tensor(consume(reference, null));
  } finally {
    release(reference);
  }
}
