/** Uploads of host memory through pinned memory, which native threads fill. */

import type { DeviceInfo } from '../device.js';
import { dtypeFromName } from '../dtype.js';
import { NativeStorage } from '../native/native-storage.js';
import { node } from '../native/node-modules.js';
import { runtimeRules } from '../native/threads.js';
import { request, wire } from '../native/wire.js';
import { Descriptor } from '../storage/descriptor.js';
import type { Upload, UploadPart } from '../storage/device-backend.js';
import { copyElementsAsync } from './copy.js';
import { currentHandle, LEGACY_STREAM } from './current.js';
import { CAPTURE_UNSUPPORTED, check, cuda, driverError, isLoaded } from './driver.js';
import { begin, isCapturing } from './requests.js';
import { whenDone } from './wait.js';
import { UploadStep } from './wire-layout.js';

const { f64, i32, u32, u64 } = wire;

const uint8 = dtypeFromName('uint8');

/** Bytes `start` to `start + length` of a storage, as a tensor. */
function bytesOf({ storage, device }: Descriptor, start: number, length: number): Descriptor {
  return new Descriptor(storage, uint8, device, [length], [1], start * 8, 0);
}

/** Copies parts of host memory to tensors on one device. */
export function upload(source: Descriptor, parts: readonly UploadPart[]): Upload {
  const device = (parts[0] as UploadPart).target.device;
  if (!(source.storage instanceof NativeStorage)) {
    const arrived = copyParts(source, parts);
    return { read: arrived, arrived };
  }
  const stream = currentHandle(device.id);
  const read = start(source, source.storage, parts, device, stream);
  const arrived = read.then(() => whenDone({ stream }, device.id, `an upload to '${device.name}' to succeed`));
  return { read, arrived };
}

/** For JavaScript memory, which other threads cannot read. */
async function copyParts(source: Descriptor, parts: readonly UploadPart[]): Promise<void> {
  const first = source.bitOffset / 8;
  for (const { offset, nbytes, target, targetOffset } of parts) {
    await copyElementsAsync(bytesOf(source, first + offset, nbytes), bytesOf(target, targetOffset, nbytes), true);
  }
}

/** Resolves when the source has been read. */
async function start(
  source: Descriptor,
  { handle }: NativeStorage,
  parts: readonly UploadPart[],
  { id, name }: DeviceInfo,
  stream: bigint,
): Promise<void> {
  const what = `an upload to '${name}'`;
  if (stream !== LEGACY_STREAM && isCapturing(id, stream)) throw driverError(CAPTURE_UNSUPPORTED, what);
  const slot = begin(UploadStep.WORDS, id);
  u32[slot * 2 + UploadStep.FROM_HANDLE] = handle;
  i32[slot * 2 + UploadStep.THREADS] = runtimeRules().threads;
  f64[slot + UploadStep.FROM_OFFSET] = source.bitOffset / 8;
  f64[slot + UploadStep.NBYTES] = source.nbytes;
  u64[slot + UploadStep.STREAM] = stream;
  const started = request(slot, () => cuda().upload(rowsOf(parts)));
  try {
    check(started === undefined ? i32[slot * 2 + UploadStep.STATUS] : await started, what);
  } finally {
    releasePinnedLater();
  }
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
