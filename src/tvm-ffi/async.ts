/**
 * Calls on another thread.
 *
 * @module
 */

import { ArgumentTypeError, BufferError } from '../errors.js';
import { writeArgument } from './arguments.js';
import { CALLBACK, f64, i32, OBJECT, SLOT, STATUS, Type, typeAt, u32 } from './call-frame.js';
import { collectArguments, endCall, type FFIFunction, reserveForBatch, takeValue } from './calls.js';
import { errorAt, TVMFFIError, takeRaised } from './errors.js';
import { ffi } from './library.js';
import { callState, keepForCall, standIns, TemporaryObject } from './objects.js';
import { captureStream } from './streams.js';

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

const waiting = new Map<number, Waiting>();
let lastNumber = 0;

/** In place of a number of arguments. native/tvm_ffi/callback.h has the same. */
const FULFILLED = -1;

/**
 * Calls a native function on a thread of the pool, with the stream that a call here would have. Tensors stay alive until
 * it is done, disposed or not; nothing may write to them meanwhile. JavaScript functions cannot be called from there.
 */
export async function callAsync(fn: FFIFunction, ...args: unknown[]): Promise<unknown> {
  const handle = standIns.get(fn);
  if (handle === undefined) throw new ArgumentTypeError('fn', 'a native function', fn);
  return begin(handle.pointer, args);
}

/** Collects the arguments in a batch, which native code keeps. The slots are free again when this returns. */
function begin(pointer: number, args: readonly unknown[]): Promise<unknown> {
  const { text, device, temporaries, lent } = callState;
  const mark = temporaries.length;
  const lentMark = lent.length;
  const base = reserveForBatch();
  callState.device = null;
  try {
    const batch = args.length === 0 ? 0 : collectArguments(base, args, writeOwned);
    if (batch !== 0) keepForCall(new TemporaryObject(batch));
    if (callState.device !== null) captureStream(callState.device);
    return start(pointer, batch);
  } finally {
    callState.text = text;
    callState.device = device;
    endCall(base, mark, lentMark);
  }
}

function writeOwned(slot: number, value: unknown): void {
  writeArgument(slot, value);
  if (i32[typeAt(slot)] === Type.tensorView) {
    throw new BufferError(
      'Expected memory that native code may keep for an asynchronous call but this tensor is a view, or lies in a ' +
        'JavaScript buffer that its owner can move; use Tensor.from or Tensor.adopt',
    );
  }
}

function start(pointer: number, batch: number): Promise<unknown> {
  const number = ++lastNumber;
  f64[OBJECT] = pointer;
  u32[SLOT] = batch;
  u32[CALLBACK] = number;
  ffi.callAsync();
  if (i32[STATUS] !== 0) {
    throw i32[STATUS] === -1 ? takeRaised() : new BufferError('Expected room for an asynchronous call');
  }
  return new Promise((resolve, reject) => waiting.set(number, { resolve, reject }));
}

/** What native code left of a call: from the event loop, on this thread. */
export function settle(number: number, base: number, outcome: number): void {
  const promise = waiting.get(number);
  waiting.delete(number);
  try {
    if (outcome === FULFILLED) {
      promise?.resolve(takeValue(base));
      return;
    }
    const pointer = f64[OBJECT] as number;
    throw pointer === 0
      ? new TVMFFIError('InternalError', 'Expected an error of a call that failed')
      : errorAt(pointer);
  } catch (error) {
    promise?.reject(error);
  }
}
