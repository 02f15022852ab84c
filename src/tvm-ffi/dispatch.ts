/** Runs a JavaScript function that native code calls: on this thread, inside a call that this thread made. */

import { placeOf } from '../native/export.js';
import { wire } from '../native/wire.js';
import { WireHeader } from '../native/wire-layout.js';
import { Tensor } from '../tensor.js';
import { descriptorOf } from '../view.js';
import { allocate } from './allocator.js';
import { ANY_WORDS } from './any.js';
import { writeArgument } from './arguments.js';
import { settle } from './async.js';
import { operations } from './call-operations.js';
import { takeValue } from './calls.js';
import { readElements } from './containers.js';
import { raise, TVMFFIError } from './errors.js';
import type { JavaScriptFunction } from './host-objects.js';
import { ALLOCATOR, heldValue } from './host-values.js';
import { callState, checkLent, keepForCall, releaseAfterTick, type Temporary } from './objects.js';
import { RValue } from './values.js';
import { CallbackRequest } from './wire-layout.js';

const { f64, i32, u32 } = wire;
// A constant of this module, because an import from another chunk of dist costs a load and a check at each use.
const OwnTensor = Tensor;

/** Raises an error for the native caller. Throws only when the wire or the stack is full, which native code handles. */
function dispatch(): void {
  const slot = u32[WireHeader.SLOT] as number;
  const half = slot * 2;
  const count = i32[half + CallbackRequest.COUNT] as number;
  const array = f64[slot + CallbackRequest.ARRAY] as number;
  const first = slot + CallbackRequest.WORDS;
  const { temporaries } = callState;
  const mark = temporaries.length;
  let views = 0; // of arguments
  try {
    const target = targetOf(u32[half + CallbackRequest.CALLBACK] as number);
    let value: unknown;
    // Most callbacks have one argument, and an argument array costs as much as the rest of this function.
    if (count === 1) {
      const argument = takeValue(first);
      views = temporaries.length - mark;
      value = target(argument as never);
    } else {
      const args: unknown[] = [];
      if (array !== 0) readElements(array, args, takeValue);
      else for (let i = 0; i < count; i++) args.push(takeValue(first + i * ANY_WORDS));
      views = temporaries.length - mark;
      value = target(...(args as never[]));
    }
    writeResult(first + count * ANY_WORDS, value);
    // Check that the callback did not detach memory that was lent to the caller, because the caller may use it.
    if (callState.lent.length > 0) checkLent(0);
    i32[half + CallbackRequest.STATUS] = 0;
  } catch (error) {
    i32[half + CallbackRequest.STATUS] = -1;
    raise(error);
  } finally {
    // Temporaries of the result are released when the outer call ends.
    if (temporaries.length > mark + views) releaseAfterTick();
    if (views > 0) endViews(mark, views);
  }
}

const ended: Temporary = { release: () => {} };

/** Views of arguments end with the callback. Where the stack is full this throws, and they end with the outer call. */
function endViews(first: number, count: number): void {
  const { temporaries } = callState;
  for (let i = first; i < first + count; i++) {
    const view = temporaries[i] as Temporary & { refs?: number };
    try {
      view.release();
    } catch (error) {
      if (view.refs === 0) view.refs = 1; // a storage that counted down but was not freed: the outer call frees it
      throw error;
    }
    temporaries[i] = ended;
  }
  temporaries.splice(first, count);
}

function targetOf(number: number): JavaScriptFunction {
  if (number === ALLOCATOR) return allocate;
  const target = heldValue(number);
  if (target === undefined) throw new TVMFFIError('InternalError', `JavaScript function ${number} no longer exists`);
  return target as JavaScriptFunction;
}

/** Writes the result. Native code keeps it, so memory that native code could not keep is copied. */
function writeResult(slot: number, result: unknown): void {
  // Unwrap RValues: the slots of a callback are freed before its caller reads the result, and the caller owns the
  // result anyway.
  let value = result;
  while (value instanceof RValue) value = value.value;
  if (value instanceof OwnTensor && placeOf(descriptorOf(value)) === 'copy') {
    const copy = value.copy();
    keepForCall({ release: () => copy.dispose() });
    value = copy;
  }
  writeArgument(slot, value);
}

Object.assign(operations, { onCall: dispatch, onSettle: settle });
