/**
 * Copies between devices and the host.
 *
 * @module
 */

import { cpu, type DeviceInfo } from '../device.js';
import { dtypeFromName } from '../dtype.js';
import { UnsupportedDTypeError } from '../errors.js';
import { sizeOf, spanOf } from '../layout.js';
import { NativeStorage } from '../native/native-storage.js';
import { allocateLike } from '../storage/allocate.js';
import type { Pass } from '../storage/backend.js';
import { Descriptor, Flag } from '../storage/descriptor.js';
import { BufferStorage, type Storage } from '../storage/storage.js';
import { convertElements, convertElementsAsync } from '../values/convert.js';
import { passesOf } from '../values/pass.js';
import { currentHandle, LEGACY_STREAM } from './current.js';
import { CAPTURE_UNSUPPORTED, check, cuda, driverError, NOT_SUPPORTED } from './driver.js';
import {
  DEVICE,
  FLAGS,
  f64,
  HANDLE,
  ITEM,
  i32,
  NDIM,
  NUMBER,
  SHAPE,
  SOURCE_HANDLE,
  SOURCE_KIND,
  SOURCE_OFFSET,
  SOURCE_STEPS,
  STATUS,
  STREAM,
  TARGET_HANDLE,
  TARGET_KIND,
  TARGET_OFFSET,
  TARGET_STEPS,
  u32,
  u64,
} from './frame.js';
import { whenDone } from './wait.js';

const isOnDevice = ({ device }: Descriptor): boolean => device.kind === 'cuda';

/** The device whose stream runs a copy: the target's, or the source's for copies to the host. */
function runnerOf(source: Descriptor, target: Descriptor): DeviceInfo {
  return isOnDevice(target) ? target.device : source.device;
}

/** A copy that is under way: the device that runs it, and the stream, which stays the same over an await. */
interface Run {
  readonly device: DeviceInfo;
  readonly stream: bigint;
}

function runOf(source: Descriptor, target: Descriptor): Run {
  const device = runnerOf(source, target);
  return { device, stream: currentHandle(device.id) };
}

function handleOf(storage: Storage): number {
  return storage instanceof NativeStorage ? storage.handle : 0;
}

function bytesOf(storage: Storage): Uint8Array | undefined {
  return storage instanceof BufferStorage ? new Uint8Array(storage.buffer(), storage.start, storage.nbytes) : undefined;
}

const byte = dtypeFromName('uint8');

/** The one pass of a copy in whole bytes; null when it takes more, or bits. */
function bytePass(source: Descriptor, target: Descriptor): Pass | null {
  const passes = passesOf(source, target);
  const pass = passes[0] as Pass;
  if (passes.length === 1 && pass.from.bits >= 8 && pass.fromBit % 8 === 0 && pass.toBit % 8 === 0) return pass;
  // Packed elements in order, into memory that ends with them: the bits behind the last are nobody's.
  const { nbytes } = target;
  const isOrdered = [source, target].every((side) => side.isContiguous && side.bitOffset % 8 === 0);
  if (!isOrdered || target.bitOffset / 8 + nbytes !== target.storage.nbytes) return null;
  const steps = { shape: [nbytes], fromSteps: [8], toSteps: [8] };
  return { from: byte, to: byte, fromBit: source.bitOffset, toBit: target.bitOffset, ...steps };
}

/** Describes a pass in the frame. */
function writePass(pass: Pass, source: Descriptor, target: Descriptor, { device, stream }: Run): void {
  const { shape, fromSteps, toSteps } = pass;
  u32[SOURCE_HANDLE] = handleOf(source.storage);
  u32[TARGET_HANDLE] = handleOf(target.storage);
  i32[SOURCE_KIND] = source.device.type;
  i32[TARGET_KIND] = target.device.type;
  f64[SOURCE_OFFSET] = pass.fromBit / 8;
  f64[TARGET_OFFSET] = pass.toBit / 8;
  f64[ITEM] = pass.from.bits / 8;
  i32[NDIM] = shape.length;
  for (let axis = 0; axis < shape.length; axis++) {
    f64[SHAPE + axis] = shape[axis] as number;
    f64[SOURCE_STEPS + axis] = (fromSteps[axis] as number) / 8;
    f64[TARGET_STEPS + axis] = (toSteps[axis] as number) / 8;
  }
  i32[DEVICE] = device.id;
  u64[STREAM] = stream;
}

function what(source: Descriptor, target: Descriptor): string {
  return `a copy from '${source.device.name}' to '${target.device.name}'`;
}

/** Two devices exchange blocks only; any other pair may try. */
function isDirect(source: Descriptor, target: Descriptor): boolean {
  if (!isOnDevice(source) || !isOnDevice(target) || source.device === target.device) return true;
  return source.isContiguous && target.isContiguous;
}

/** Queues a copy that needs no detour; false, with nothing queued, when it does. */
function queue(source: Descriptor, target: Descriptor, run: Run): boolean {
  const pass = isDirect(source, target) ? bytePass(source, target) : null;
  if (pass === null) return false;
  const from = bytesOf(source.storage);
  const to = bytesOf(target.storage);
  writePass(pass, source, target, run);
  cuda().copy(from, to);
  if (i32[STATUS] === NOT_SUPPORTED) return false;
  check(what(source, target));
  return true;
}

/** Waits for what was queued. */
function finish({ device, stream }: Run): void {
  i32[DEVICE] = device.id;
  u64[STREAM] = stream;
  u32[FLAGS] = 0;
  cuda().synchronize();
  check(`work on '${device.name}' to succeed`);
}

/** One element of the host into new memory of a device. The driver has read it when the call returns: it is small, and lies
 * in memory that no device reaches by itself. */
function upload(source: Descriptor, target: Descriptor, run: Run): void {
  withTemporary([], source, cpu, (one) => {
    convertElements(source, one);
    queue(one, target, run);
  });
}

/** A graph would use memory of the host each time it runs, whatever became of it, and nobody can wait for it here. */
function refuseCapture(source: Descriptor, target: Descriptor, { device, stream }: Run): void {
  if (stream === LEGACY_STREAM) return; // never is
  i32[DEVICE] = device.id;
  u64[STREAM] = stream;
  cuda().isCapturing();
  check(what(source, target));
  if (f64[NUMBER] === 1) throw driverError(what(source, target), CAPTURE_UNSUPPORTED);
}

/** Every element, on the current stream. Memory of the host is read or written when this returns. */
export function copyElements(source: Descriptor, target: Descriptor, run = runOf(source, target)): void {
  if (target.size === 0) return;
  if (!isOnDevice(source) || !isOnDevice(target)) refuseCapture(source, target, run);
  if (isRepeated(source)) repeat(source, target, run);
  else if (!queue(source, target, run)) detour(source, target, run);
  else if (!isOnDevice(source) || !isOnDevice(target)) finish(run);
}

/** One value of the host for all elements. */
function isRepeated({ shape, strides, device, dtype }: Descriptor): boolean {
  if (dtype.isSubByte || device.kind === 'cuda' || sizeOf(shape) === 1) return false;
  return strides.every((step, axis) => step === 0 || shape[axis] === 1);
}

/** One element travels, and is spread on the device. */
function repeat(source: Descriptor, target: Descriptor, run: Run): void {
  withTemporary([], source, target.device, (one) => {
    upload(source.derive({ shape: [], strides: [], offset: 0 }), one, run);
    copyElements(one.derive({ shape: source.shape, strides: source.shape.map(() => 0), offset: 0 }), target, run);
  });
}

/** Row-major memory for as long as `use` runs; the device's goes back behind what was queued. */
function withTemporary(
  shape: readonly number[],
  like: Descriptor,
  device: DeviceInfo,
  use: (temporary: Descriptor) => void,
): void {
  const temporary = allocateLike(shape, like.dtype, like.flags & Flag.subBytePadded, device);
  try {
    use(temporary);
  } finally {
    temporary.storage.release();
  }
}

/** Through packed memory on either side, for what neither the device nor the bus does in one step. */
function detour(source: Descriptor, target: Descriptor, run: Run): void {
  if (isOnDevice(source) && isBitwise(source)) {
    if (source.device === target.device) throw bitwiseError(source);
    copySpan(source, target);
  } else if (!source.isContiguous || isBitwise(source)) {
    withTemporary(source.shape, source, source.device, (packed) => {
      convertElements(source, packed);
      copyElements(packed, target, run);
    });
  } else if (!target.isContiguous && !isBitwise(target)) {
    withTemporary(target.shape, target, target.device, (packed) => {
      copyElements(source, packed, run);
      convertElements(packed, target);
    });
  } else throw bitwiseError(target);
}

/** Elements that share bytes, in no order that bytes have. */
function isBitwise({ dtype, isPadded, isContiguous, bitOffset }: Descriptor): boolean {
  return dtype.isSubByte && !isPadded && !(isContiguous && bitOffset % 8 === 0);
}

function bitwiseError({ dtype, device }: Descriptor): UnsupportedDTypeError {
  return new UnsupportedDTypeError(
    dtype.name,
    `Expected elements of whole bytes, or packed ones in order up to the end of their memory, on '${device.name}' but received '${dtype.name}' at other places; arrange it on the host: to('cpu')`,
  );
}

/** The bytes that the elements lie in, as they are, to the host, where they are taken apart. */
function copySpan(source: Descriptor, target: Descriptor): void {
  const { shape, strides, bitOffset, strideBits, dtype, device, flags } = source;
  const span = spanOf(shape, strides) as { low: number; high: number };
  const first = Math.floor((bitOffset + span.low * strideBits) / 8);
  const length = Math.ceil((bitOffset + span.high * strideBits + dtype.itemBits) / 8) - first;
  const bytes = new Descriptor(source.storage, byte, device, [length], [1], first * 8, 0);
  withTemporary([length], bytes, cpu, (here) => {
    copyElements(bytes, here);
    convertElements(new Descriptor(here.storage, dtype, cpu, shape, strides, bitOffset - first * 8, flags), target);
  });
}

/** The same without blocking. Memory of the host is read or written when the promise resolves. */
export async function copyElementsAsync(source: Descriptor, target: Descriptor): Promise<void> {
  if (target.size === 0) return;
  const run = runOf(source, target);
  refuseCapture(source, target, run);
  const isLocal = isOnDevice(source) && isOnDevice(target);
  if (isLocal || isRepeated(source)) copyElements(source, target, run);
  else await copyOverBus(source, target, run);
  await whenDone({ stream: run.stream }, run.device.id, `work on '${run.device.name}' to succeed`);
}

async function copyOverBus(source: Descriptor, target: Descriptor, run: Run): Promise<void> {
  const host = isOnDevice(source) ? target : source;
  // Memory that the device reaches by itself; the caller keeps it until the stream is done.
  if (host.device.kind !== 'cpu' && queue(source, target, run)) return;
  const pass = bytePass(source, target);
  if (pass !== null && host.storage instanceof NativeStorage) {
    writePass(pass, source, target, run);
    const started = cuda().copyAsync();
    if (started === undefined) throw driverError(what(source, target));
    const status = await started;
    if (status === 0) return;
    if (status !== NOT_SUPPORTED) throw driverError(what(source, target), status);
  }
  await detourAsync(source, target, run);
}

/** The program may dispose the stream before the copy is queued there: memory that it is used for keeps it. */
function keepStream({ storage, device }: Descriptor, run: Run): void {
  u32[HANDLE] = handleOf(storage);
  i32[DEVICE] = run.device.id;
  u64[STREAM] = run.stream;
  cuda().handOver();
  check(`a stream for '${device.name}'`);
}

/** As {@link detour}: what is long runs on other threads, what is short is queued. */
async function detourAsync(source: Descriptor, target: Descriptor, run: Run): Promise<void> {
  const isDownload = isOnDevice(source);
  const isHostPacked = isDownload
    ? target.isContiguous && target.storage instanceof NativeStorage
    : source.isContiguous && !isBitwise(source) && source.storage instanceof NativeStorage;
  if (isHostPacked && (isDownload ? isBitwise(source) : isBitwise(target))) {
    detour(source, target, run);
    return;
  }
  const there = isDownload ? source : target;
  const here = isDownload ? target : source;
  const like = isHostPacked ? there : here;
  const packed = allocateLike(
    like.shape,
    like.dtype,
    like.flags & Flag.subBytePadded,
    isHostPacked ? there.device : cpu,
  );
  try {
    if (isHostPacked && isDownload) {
      copyElements(source, packed, run);
      await copyOverBus(packed, target, run);
    } else if (isHostPacked) {
      await copyOverBus(source, packed, run);
      copyElements(packed, target, run);
    } else if (isDownload) {
      await copyOverBus(source, packed, run);
      await whenDone({ stream: run.stream }, run.device.id, `work on '${run.device.name}' to succeed`);
      await convertElementsAsync(packed, target);
    } else {
      keepStream(target, run);
      await convertElementsAsync(source, packed);
      await copyOverBus(packed, target, run);
    }
  } finally {
    packed.storage.release();
  }
}
