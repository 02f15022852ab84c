/** Reads and sets the fields of native objects. */

import { wire } from '../native/wire.js';
import { WireHeader } from '../native/wire-layout.js';
import { ANY_WORDS, checkKept, payloadAt, typeAt } from './any.js';
import { writeArgument } from './arguments.js';
import { operations } from './call-operations.js';
import { isViewable, readValue, readView } from './calls.js';
import { takeRaised } from './errors.js';
import { ffi } from './library.js';
import { asCall } from './objects.js';
import { enter, leave } from './slot.js';
import { FieldRequest } from './wire-layout.js';

const { f64, i32, u32 } = wire;

/** `asView`: an Array or Map becomes a view instead of a copy. */
function getField(pointer: number, getter: number, offset: number, asView: boolean): unknown {
  const slot = enter(FieldRequest.WORDS + ANY_WORDS);
  const half = slot * 2;
  f64[slot + FieldRequest.OBJECT] = pointer;
  f64[slot + FieldRequest.GETTER] = getter;
  u32[half + FieldRequest.OFFSET] = offset;
  u32[WireHeader.SLOT] = slot;
  const taken = ffi.getField();
  try {
    if (i32[half + FieldRequest.STATUS] !== 0) throw takeRaised();
    const at = slot + FieldRequest.WORDS;
    const type = i32[typeAt(at)] as number;
    return asView && isViewable(type)
      ? readView(f64[payloadAt(at)] as number, type, u32[half + FieldRequest.REFERENCE] as number)
      : readValue(at, taken, half + FieldRequest.REFERENCE);
  } finally {
    leave(slot);
  }
}

function setField(pointer: number, type: number, index: number, value: unknown): void {
  const slot = enter(FieldRequest.WORDS + ANY_WORDS);
  f64[slot + FieldRequest.OBJECT] = pointer;
  i32[slot * 2 + FieldRequest.TYPE] = type;
  u32[slot * 2 + FieldRequest.INDEX] = index;
  const at = slot + FieldRequest.WORDS;
  asCall(slot, () => {
    writeArgument(at, value);
    checkKept(at, 'for a field');
    u32[WireHeader.SLOT] = slot;
    ffi.setField();
    if (i32[slot * 2 + FieldRequest.STATUS] !== 0) throw takeRaised();
  });
}

Object.assign(operations, { getField, setField });
