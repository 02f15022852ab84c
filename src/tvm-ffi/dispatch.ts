/**
 * What runs when native code calls a JavaScript function: on this thread, inside a call that this thread made.
 *
 * @module
 */

import { placeOf } from '../native/export.js';
import { Tensor } from '../tensor.js';
import { descriptorOf } from '../view.js';
import { allocate } from './allocator.js';
import { writeArgument } from './arguments.js';
import { settle } from './async.js';
import { frame } from './call-frame.js';
import { ALLOCATOR, callbackOf, type JavaScriptFunction } from './callbacks.js';
import { takeValue, takeValues } from './calls.js';
import { readElements } from './containers.js';
import { raise, TVMFFIError } from './errors.js';
import { setDispatcher } from './library.js';
import { checkLent, keepForCall, callState as sharedState, type Temporary } from './objects.js';
import { RValue } from './values.js';

// Constants of this module, for the reason that call-frame.ts gives.
const { f64, i32, u32, OBJECT, BASE, CALLBACK, COUNT, STATUS } = frame;
const OwnTensor = Tensor;
const callState = sharedState;
const take = takeValue;
const write = writeArgument;

/** In place of a number of arguments: they are the elements of an array at OBJECT. native/tvm_ffi/callback.h has the same. */
const MANY_ARGUMENTS = -3;

/** Never throws: an error is raised for the native caller. */
function dispatch(): void {
  const base = u32[BASE] as number;
  const count = i32[COUNT] as number;
  const number = u32[CALLBACK] as number;
  if (count < 0 && count !== MANY_ARGUMENTS) {
    settle(number, base, count);
    return;
  }
  const { temporaries } = callState;
  const mark = temporaries.length;
  let lent: Temporary[] | null = null;
  try {
    const target = targetOf(number);
    let value: unknown;
    // Most callbacks have one argument, and an array of arguments costs as much as the rest of this function.
    if (count === 1) {
      const argument = take(base);
      if (temporaries.length > mark) lent = temporaries.splice(mark);
      value = target(argument as never);
    } else {
      const args: unknown[] = [];
      if (count === MANY_ARGUMENTS) readElements(f64[OBJECT] as number, args, take);
      else takeValues(base, count, args);
      if (temporaries.length > mark) lent = temporaries.splice(mark);
      value = target(...(args as never[]));
    }
    writeResult(count === MANY_ARGUMENTS ? base : base + count, value);
    // The caller may use the memory that was lent to it, unless the callback detached it.
    if (callState.lent.length > 0) checkLent(0);
    i32[STATUS] = 0;
  } catch (error) {
    raise(error);
    i32[STATUS] = -1;
  }
  // Views of arguments end with the callback. What the result needs is released when the call around it ends.
  if (lent !== null) for (const view of lent) view.release();
}

function targetOf(number: number): JavaScriptFunction {
  if (number === ALLOCATOR) return allocate;
  const target = callbackOf(number);
  if (target === undefined) throw new TVMFFIError('InternalError', `JavaScript function ${number} no longer exists`);
  return target;
}

/** Native code keeps what it is given: memory that it could not keep is copied. */
function writeResult(slot: number, result: unknown): void {
  // The slots of a callback are gone when its caller gets the result, which is the caller's own in any case.
  let value = result;
  while (value instanceof RValue) value = value.value;
  if (value instanceof OwnTensor && placeOf(descriptorOf(value)) === 'copy') {
    const copy = value.copy();
    keepForCall({ release: () => copy.dispose() });
    writeArgument(slot, copy);
    return;
  }
  write(slot, value);
}

setDispatcher(dispatch);
