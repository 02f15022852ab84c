/** Runs a JavaScript function that native code calls: on this thread, inside a call that this thread made. */

import { inNativeMemory } from '../../native/exchange/export.js';
import { WireHeader } from '../../native/wire/wire-layout.js';
import { sharedDescriptorOf, TensorView } from '../../view.js';
import { checkKept } from '../codec/any.js';
import { writeArgument } from '../codec/arguments.js';
import { readElements, type Take } from '../codec/containers.js';
import { writeTensorArgument } from '../codec/tensor-arguments.js';
import { RValue } from '../codec/values.js';
import { ffi } from '../library.js';
import { raise, TVMFFIError, takeRaised } from '../objects/errors.js';
import type { FFICallback } from '../objects/host-objects.js';
import { heldValue } from '../objects/host-values.js';
import { Any, CallbackRequest } from '../wire-layout.js';
import { checkLent, type Held, hold, releaseHeld, running } from './held.js';

/**
 * Raises an error for the native caller. Throws only when the wire or the stack is full, which native code handles. `take`
 * reads an argument.
 */
export function dispatch(take: Take): void {
  const slot = WireHeader.slot();
  const count = CallbackRequest.count(slot);
  const array = CallbackRequest.array(slot);
  const first = CallbackRequest.end(slot);
  const { held } = running;
  const mark = held.length;
  let views = 0; // of arguments
  try {
    const target = targetOf(CallbackRequest.callback(slot));
    let value: unknown;
    // Most callbacks have one argument, and an argument array costs as much as the rest of this function.
    if (count === 1) {
      const argument = take(first);
      views = held.length - mark;
      value = target(argument as never);
    } else {
      const args: unknown[] = [];
      if (array !== 0) readElements(array, args, take);
      else for (let i = 0; i < count; i++) args.push(take(Any.at(first, i)));
      views = held.length - mark;
      value = target(...(args as never[]));
    }
    const result = Any.at(first, count);
    writeResult(result, value);
    if (held.length > mark + views) {
      // The result gets a reference of its own, because what was made for it is released now.
      if (!ffi.ownResult(slot, result)) throw takeRaised();
      releaseHeld(mark + views);
    }
    // Check that the callback did not detach memory that was lent to the caller, because the caller may use it.
    if (running.lent.length > 0) checkLent(0);
    CallbackRequest.setStatus(slot, 0);
  } catch (error) {
    CallbackRequest.setStatus(slot, -1);
    raise(error);
  } finally {
    if (held.length > mark + views) releaseHeld(mark + views); // after an error
    if (views > 0) endViews(mark, views);
  }
}

const ended: Held = { release: () => {} };

/** Views of arguments end with the callback. Where the stack is full this throws, and they end with the outer call. */
function endViews(first: number, count: number): void {
  const { held } = running;
  for (let i = first; i < first + count; i++) {
    const view = held[i] as Held & { refs?: number };
    try {
      view.release();
    } catch (error) {
      if (view.refs === 0) view.refs = 1; // a storage that counted down but was not freed: the outer call frees it
      throw error;
    }
    held[i] = ended;
  }
  held.splice(first, count);
}

function targetOf(number: number): FFICallback {
  const target = heldValue(number);
  if (target === undefined) throw new TVMFFIError('InternalError', `JavaScript function ${number} no longer exists`);
  return target as FFICallback;
}

/** Writes the result. Native code keeps it, so a Tensor in memory that native code could not keep is copied. */
function writeResult(at: number, result: unknown): void {
  // Unwrap RValues: the slots of a callback are freed before its caller reads the result, and the caller owns the
  // result anyway.
  let value = result;
  while (value instanceof RValue) value = value.value;
  if (value instanceof TensorView) {
    const source = sharedDescriptorOf(value);
    const descriptor = inNativeMemory(source, null);
    if (descriptor !== source) hold(descriptor);
    writeTensorArgument(at, descriptor, false);
  } else {
    writeArgument(at, value);
    checkKept(at, 'as the result of a function');
  }
}
