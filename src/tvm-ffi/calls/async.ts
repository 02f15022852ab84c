/** Calls of native functions on another thread. */

import { type AsyncOptions, signalOf, untilAborted } from '../../base/signal.js';
import { ArgumentTypeError, OutOfMemoryError } from '../../errors.js';
import { enter } from '../../native/wire/wire.js';
import { WireHeader } from '../../native/wire/wire-layout.js';
import { checkKept } from '../codec/any.js';
import { writeArgument } from '../codec/arguments.js';
import { collectArguments } from '../codec/batches.js';
import { ffi } from '../library.js';
import { take } from '../native-values.js';
import type { FFICallback } from '../objects/host-objects.js';
import { type ObjectHandle, standIns } from '../objects/objects.js';
import { SettleRequest } from '../wire-layout.js';
import { streamOf } from './call-stream.js';
import { asCall } from './calls.js';
import { HeldReference, hold, running } from './held.js';
import { hostStream } from './streams.js';

/** The type of `callAsync`: a function, and the same function with options. */
export interface FFICallAsync {
  /** Calls a native function on another thread. */
  (fn: FFICallback, ...args: unknown[]): Promise<unknown>;
  /**
   * Returns `callAsync` with options. When the signal aborts, the function goes on, and its result is dropped.
   *
   * @param options - The signal that stops the waiting.
   * @returns The function with these options.
   */
  with(options: AsyncOptions): (fn: FFICallback, ...args: unknown[]) => Promise<unknown>;
}

/**
 * Calls a native function on a thread of the pool, with the stream that a call on this thread would have. Tensors stay
 * alive until the call ends, even if they are disposed, and nothing may write to them meanwhile. The function cannot
 * call JavaScript functions. `callAsync.with({ signal })(fn, ...args)` stops the waiting.
 *
 * @param fn - A native function.
 * @param args - Its arguments, as in every call. Native code must be able to keep their memory.
 * @returns A promise of the result.
 * @throws ArgumentTypeError for anything but a native function, or an argument without a type in TVM-FFI.
 * @throws BufferError for a tensor whose memory native code cannot keep. What the function throws rejects the promise.
 * @example
 * ```ts
 * import { Tensor } from 'dlpack';
 * import { callAsync, loadModule } from 'dlpack/tvm-ffi';
 * const y = Tensor.empty([2], 'float32');
 * await callAsync(loadModule('./kernels.so').add_one, Tensor.from([1, 2], { dtype: 'float32' }), y);
 * console.log(y.toArray()); // [2, 3]
 * ```
 */
export const callAsync = (async (fn, ...args) => {
  const handle = standIns.get(fn);
  if (handle === undefined) throw new ArgumentTypeError('fn', 'a native function', fn);
  // Native code keeps the arguments, in a batch. Their slots are free again when the call has started.
  return asCall(enter(0), () => {
    const batch = args.length === 0 ? 0 : collectArguments(args, writeOwned);
    if (batch !== 0) hold(new HeldReference(batch));
    return start(handle, batch);
  });
}) as FFICallAsync;

callAsync.with = (options) => {
  const signal = signalOf(options);
  return async (fn, ...args) => {
    signal?.throwIfAborted();
    return untilAborted(callAsync(fn, ...args), signal);
  };
};

function writeOwned(at: number, value: unknown): void {
  writeArgument(at, value);
  checkKept(at, 'for an asynchronous call');
}

function start(handle: ObjectHandle, batch: number): Promise<unknown> {
  const { device } = running;
  // The other thread does not see the streams of this thread.
  const stream = device === null ? 0n : (streamOf(device) ?? hostStream(device));
  const { pointer } = handle; // now, because a stream provider may have disposed the function
  return new Promise((resolve, reject) => {
    const onEnd = () => settle(resolve, reject);
    if (ffi.callAsync(pointer, batch, device?.type ?? 0, device?.id ?? 0, stream, onEnd)) return;
    reject(new OutOfMemoryError('could not start an asynchronous call'));
  });
}

/** Settles the promise of a call that native code finished: from the event loop, on this thread. */
function settle(resolve: (value: unknown) => void, reject: (error: unknown) => void): void {
  const slot = WireHeader.slot();
  try {
    const value = take(SettleRequest.end(slot));
    if (SettleRequest.isError(slot) !== 0) throw value;
    resolve(value);
  } catch (error) {
    reject(error);
  }
}
