/**
 * Uploads of host memory through pinned memory, which native threads fill: parts of files, and large tensors, whose memory may
 * be that of a file, too.
 */

import { handleOf } from '../../native/convert.js';
import { node } from '../../native/load/node-modules.js';
import { NativeStorage } from '../../native/memory/storage.js';
import { runtimeRules } from '../../native/memory/threads.js';
import type { Descriptor } from '../../storage/descriptor.js';
import type { Upload, UploadPart } from '../../storage/device-backend.js';
import type { UploadArguments } from '../binding.js';
import { CAPTURE_UNSUPPORTED, check, cuda, driverError, isLoaded } from '../driver.js';
import { currentHandle, LEGACY_STREAM } from '../streams/current.js';
import { isCapturing } from '../streams/requests.js';
import { whenDone } from '../streams/wait.js';
import { bytesIn, type DeviceStep } from './plan-copy.js';

/** Copies parts of host memory to tensors on one device; null for JavaScript memory, which other threads cannot read. */
export function upload(source: Descriptor, parts: readonly UploadPart[]): Upload | null {
  const { storage, bitOffset, nbytes } = source;
  if (!(storage instanceof NativeStorage)) return null;
  const { id, name } = (parts[0] as UploadPart).target.device;
  const what = `an upload to '${name}'`;
  const stream = currentHandle(id);
  if (stream !== LEGACY_STREAM && isCapturing(id, stream)) throw driverError(CAPTURE_UNSUPPORTED, what);
  const { threads } = runtimeRules();
  const started = cuda().upload(id, stream, storage.handle, bitOffset / 8, nbytes, threads, rowsOf(parts));
  const read = whenRead(started, what);
  const arrived = read.then(() => whenDone({ stream }, id, `${what} to succeed`));
  return { read, arrived };
}

/** Resolves when the source has been read and the copies are queued. */
async function whenRead(started: Promise<number> | number, what: string): Promise<void> {
  try {
    check(await started, what);
  } finally {
    releasePinnedLater();
  }
}

/** Sends the bytes of a step. They have been read when this returns, and the step's stream waits for their arrival. */
export function sendPinned(step: DeviceStep): void {
  try {
    check(cuda().uploadNow(...argumentsOf(step)), whatOf(step));
  } finally {
    releasePinnedLater();
  }
}

/** As `sendPinned`, without blocking. */
export function sendPinnedAsync(step: DeviceStep): Promise<void> {
  return whenRead(cuda().upload(...argumentsOf(step)), whatOf(step));
}

const whatOf = ({ run: { device } }: DeviceStep): string => `an upload to '${device.name}'`;

function argumentsOf({ from, to, pass, run: { device, stream } }: DeviceStep): UploadArguments {
  const nbytes = bytesIn(pass);
  const rows = Float64Array.of(0, nbytes, handleOf(to.storage), pass.toBit / 8);
  return [device.id, stream, handleOf(from.storage), pass.fromBit / 8, nbytes, runtimeRules().threads, rows];
}

/** Four numbers for each part. */
function rowsOf(parts: readonly UploadPart[]): Float64Array {
  const rows = new Float64Array(parts.length * 4);
  for (let i = 0; i < parts.length; i++) {
    const { offset, nbytes, target, targetOffset } = parts[i] as UploadPart;
    rows[i * 4] = offset;
    rows[i * 4 + 1] = nbytes;
    rows[i * 4 + 2] = (target.storage as NativeStorage).handle;
    rows[i * 4 + 3] = targetOffset;
  }
  return rows;
}

const { setTimeout } = node.timers;

/** How long pinned memory is kept for the next upload, such as that of the next shard, in milliseconds. */
const PATIENCE = 1000;

let timer: NodeJS.Timeout | null = null;

/** Releases the memory when no upload has used it for a while. */
function releasePinnedLater(): void {
  timer ??= setTimeout(() => {
    timer = null;
    if (cuda().releasePinned(false)) releasePinnedLater();
  }, PATIENCE).unref();
  timer.refresh();
}

/** Releases the memory that no upload uses. Waits until the device has read it. */
export function releasePinned(): void {
  if (isLoaded()) cuda().releasePinned(true);
}
