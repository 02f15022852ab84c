/** Reads and sets the fields of native objects. */

import { enter, leave } from '../../native/wire/wire.js';
import { WireHeader } from '../../native/wire/wire-layout.js';
import { asCall } from '../calls/calls.js';
import { checkKept } from '../codec/any.js';
import { writeArgument } from '../codec/arguments.js';
import { ffi } from '../library.js';
import { Any, FieldRequest } from '../wire-layout.js';
import { takeRaised } from './errors.js';

/** `read` gets the word of the value, what native code returned for it, and the number of a reference. */
export function getField(
  pointer: number,
  getter: number,
  offset: number,
  read: (at: number, taken: unknown, reference: number) => unknown,
): unknown {
  const slot = enter(FieldRequest.WORDS + Any.WORDS);
  FieldRequest.setObject(slot, pointer);
  FieldRequest.setGetter(slot, getter);
  FieldRequest.setOffset(slot, offset);
  WireHeader.setSlot(slot);
  const taken = ffi.getField();
  try {
    if (FieldRequest.status(slot) !== 0) throw takeRaised();
    return read(FieldRequest.end(slot), taken, FieldRequest.reference(slot));
  } finally {
    leave(slot);
  }
}

export function setField(pointer: number, type: number, index: number, value: unknown): void {
  const slot = enter(FieldRequest.WORDS + Any.WORDS);
  FieldRequest.setObject(slot, pointer);
  FieldRequest.setType(slot, type);
  FieldRequest.setIndex(slot, index);
  const at = FieldRequest.end(slot);
  asCall(slot, () => {
    writeArgument(at, value);
    checkKept(at, 'for a field');
    WireHeader.setSlot(slot);
    ffi.setField();
    if (FieldRequest.status(slot) !== 0) throw takeRaised();
  });
}
