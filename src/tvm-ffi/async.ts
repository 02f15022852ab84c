/** Calls of native functions on another thread. */

import { ArgumentTypeError, BufferError } from '../errors.js';
import { wire } from '../native/wire.js';
import { Status, WireHeader } from '../native/wire-layout.js';
import { checkKept } from './any.js';
import { writeArgument } from './arguments.js';
import { collectArguments } from './batches.js';
import { type FFIFunction, takeValue } from './calls.js';
import { errorAt, takeRaised } from './errors.js';
import { ffi } from './library.js';
import { asCall, callState, keepForCall, standIns, TemporaryObject } from './objects.js';
import { enter, request } from './slot.js';
import { hostStream, streamOf } from './streams.js';
import { AsyncCallRequest, ObjectRequest, SettleRequest } from './wire-layout.js';

const { f64, i32, u32, u64 } = wire;

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

const waiting = new Map<number, Waiting>();
let lastNumber = 0;

/**
 * Calls a native function on a thread of the pool, with the stream that a call on this thread would have. Tensors stay
 * alive until the call ends, even if they are disposed, and nothing may write to them meanwhile. The function cannot
 * call JavaScript functions.
 */
export async function callAsync(fn: FFIFunction, ...args: unknown[]): Promise<unknown> {
  const handle = standIns.get(fn);
  if (handle === undefined) throw new ArgumentTypeError('fn', 'a native function', fn);
  const slot = enter(AsyncCallRequest.WORDS);
  // Native code keeps the arguments, in a batch. The slot is free again when the call has started.
  return asCall(slot, () => {
    const batch = args.length === 0 ? 0 : collectArguments(args, writeOwned);
    if (batch !== 0) keepForCall(new TemporaryObject(batch));
    return start(slot, handle.pointer, batch);
  });
}

function writeOwned(at: number, value: unknown): void {
  writeArgument(at, value);
  checkKept(at, 'for an asynchronous call');
}

function start(slot: number, pointer: number, batch: number): Promise<unknown> {
  const number = ++lastNumber;
  const half = slot * 2;
  const { device } = callState;
  i32[half + AsyncCallRequest.DEVICE_TYPE] = 0;
  if (device !== null) {
    // The other thread does not see the streams of this thread.
    u64[slot + AsyncCallRequest.STREAM] = streamOf(device) ?? hostStream(device);
    i32[half + AsyncCallRequest.DEVICE_TYPE] = device.type;
    i32[half + AsyncCallRequest.DEVICE_ID] = device.id;
  }
  f64[slot + AsyncCallRequest.FUNCTION] = pointer;
  u32[half + AsyncCallRequest.BATCH] = batch;
  u32[half + AsyncCallRequest.PROMISE] = number;
  u32[WireHeader.SLOT] = slot;
  ffi.callAsync();
  if (i32[half + AsyncCallRequest.STATUS] !== Status.ok) {
    throw new BufferError('Out of memory: could not start an asynchronous call');
  }
  return new Promise((resolve, reject) => waiting.set(number, { resolve, reject }));
}

/** A reference to an error, because native code releases its own when the promise is settled. */
function retain(pointer: number): number {
  const slot = enter(ObjectRequest.WORDS);
  f64[slot + ObjectRequest.OBJECT] = pointer;
  request(slot, () => ffi.retainObject());
  if (i32[slot * 2 + ObjectRequest.STATUS] !== 0) throw takeRaised();
  return u32[slot * 2 + ObjectRequest.REFERENCE] as number;
}

/** Settles the promise of a call that native code finished: from the event loop, on this thread. */
export function settle(): void {
  const slot = u32[WireHeader.SLOT] as number;
  const number = u32[slot * 2 + SettleRequest.PROMISE] as number;
  const error = f64[slot + SettleRequest.ERROR] as number;
  const promise = waiting.get(number);
  waiting.delete(number);
  try {
    if (error !== 0) throw errorAt(error, retain(error));
    promise?.resolve(takeValue(slot + SettleRequest.WORDS));
  } catch (error) {
    promise?.reject(error);
  }
}
