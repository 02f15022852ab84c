/** Calls of native functions: writes the arguments, calls, and lets the caller read the result before the call ends. */

import type { DeviceInfo } from '../../device.js';
import { Wire } from '../../native/wire/constants.js';
import { enter, leave } from '../../native/wire/wire.js';
import { WireHeader } from '../../native/wire/wire-layout.js';
import { writeArgument } from '../codec/arguments.js';
import { collectArguments } from '../codec/batches.js';
import { keepLent } from '../codec/tensor-arguments.js';
import { ffi } from '../library.js';
import { disownDeferred } from '../objects/objects.js';
import { Any, CallRequest } from '../wire-layout.js';
import { streamOf } from './call-stream.js';
import { checkLent, HeldReference, hold, releaseHeld, running } from './held.js';

/** The most arguments that a call has on the wire. More are collected in a batch. */
const MOST_ARGUMENTS = 256;

/**
 * Reads the result of the call in a slot, at the word `result`. `value` is what the native function returned. The objects that
 * the call holds are still there.
 */
export type ReadResult = (
  slot: number,
  result: number,
  value: unknown,
  args: readonly unknown[],
  mode: number,
) => unknown;

/** Calls the function at `pointer` in a {@link CallMode}. */
export function call(pointer: number, args: readonly unknown[], mode: number, read: ReadResult): unknown {
  const count = args.length;
  const slot = WireHeader.top();
  const top = Any.at(CallRequest.end(slot), count + 1);
  if (count > MOST_ARGUMENTS || top > Wire.WORDS) return callWithBatch(pointer, args, mode, read);
  WireHeader.setTop(top);
  const { held, lent, device } = running;
  const mark = held.length;
  const lentMark = lent.length;
  running.device = null;
  try {
    const first = CallRequest.end(slot);
    for (let i = 0; i < count; i++) writeArgument(Any.at(first, i), args[i]);
    CallRequest.setCount(slot, count);
    writeCall(slot, pointer, mode);
    if (lent.length > lentMark) checkLent(lentMark);
    WireHeader.setSlot(slot);
    const value = ffi.call();
    return read(slot, Any.at(first, count), value, args, mode);
  } finally {
    running.device = device;
    endCall(slot, mark, lentMark);
  }
}

/** As {@link call}, for more arguments than the wire has room for. */
function callWithBatch(pointer: number, args: readonly unknown[], mode: number, read: ReadResult): unknown {
  const slot = enter(CallRequest.WORDS + Any.WORDS);
  return asCall(slot, (lentMark) => {
    const batch = collectArguments(args, writeIntoBatch);
    hold(new HeldReference(batch));
    CallRequest.setBatch(slot, batch);
    writeCall(slot, pointer, mode);
    checkLent(lentMark);
    WireHeader.setSlot(slot);
    const value = ffi.callWithBatch();
    return read(slot, CallRequest.end(slot), value, args, mode);
  });
}

function writeIntoBatch(at: number, value: unknown): void {
  writeArgument(at, value);
  keepLent(at);
}

/** Runs a request that has arguments as a call, and frees its slot. */
export function asCall<T>(slot: number, run: (lentMark: number) => T): T {
  const { held, lent, device } = running;
  const mark = held.length;
  const lentMark = lent.length;
  running.device = null;
  try {
    return run(lentMark);
  } finally {
    running.device = device;
    endCall(slot, mark, lentMark);
  }
}

/**
 * Releases what a call has held, and then its slot: a deleter may be user code, and its calls would overwrite values that
 * still hold references.
 */
function endCall(slot: number, mark: number, lentMark: number): void {
  const { held, lent } = running;
  if (lent.length > lentMark) lent.length = lentMark;
  try {
    if (held.length > mark) releaseHeld(mark);
  } finally {
    leave(slot);
    if (slot === Wire.FIRST_SLOT) disownDeferred();
  }
}

function writeCall(slot: number, pointer: number, mode: number): void {
  CallRequest.setFunction(slot, pointer);
  CallRequest.setMode(slot, mode);
  CallRequest.setDeviceType(slot, 0);
  if (running.device !== null) writeStream(slot, running.device);
}

/** The first argument on a device other than the host determines the stream of the call. */
function writeStream(slot: number, device: DeviceInfo): void {
  const stream = streamOf(device);
  if (stream === null) return;
  CallRequest.setStream(slot, stream);
  CallRequest.setDeviceType(slot, device.type);
  CallRequest.setDeviceId(slot, device.id);
}
