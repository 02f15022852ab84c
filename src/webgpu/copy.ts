/** Copies between GPUDevices and the host. Everything but a copy to the host is queued and needs no wait. */

import { cpu } from '../device.js';
import { BufferError, UnsupportedDeviceError } from '../errors.js';
import { sizeOf, spanOf } from '../layout.js';
import { allocateLike } from '../storage/allocate.js';
import { Descriptor, Flag, isBitwise } from '../storage/descriptor.js';
import { findLayout } from '../storage/layouts.js';
import { BufferStorage, type GpuStorage, isShared } from '../storage/storage.js';
import { convertElements } from '../values/convert.js';
import { type GpuBuffer, type GpuDevice, Usage } from './api.js';
import { asBytes, Commands, isPaddedAfter, restOf } from './commands.js';
import { type DeviceState, stateOf } from './device-state.js';
import { createBuffer, hasUsage, memoryOf } from './memory.js';
import { roundUp } from './move.js';

const MAP_READ = 1;

const isOnGPU = ({ device }: Descriptor): boolean => device.kind === 'webgpu';

/** The copy of every element, queued on the device. Throws for a copy to the host, which has to wait. */
export function copyElements(source: Descriptor, target: Descriptor, isNew: boolean): void {
  if (target.size === 0) return;
  if (!isOnGPU(target)) {
    throw new UnsupportedDeviceError(
      source.device.name,
      `WebGPU memory can only be read after a wait; use await x.toAsync('cpu') instead of a synchronous copy of '${source.device.name}' to '${target.device.name}'`,
    );
  }
  checkSameDevice(source, target);
  if (isOnGPU(source)) run(memoryOf(target).state, (commands) => commands.copy(source, target, isNew));
  else upload(source, target, isNew);
}

/** As {@link copyElements}, complete when the promise resolves. The commands are queued before it returns. */
export async function copyElementsAsync(source: Descriptor, target: Descriptor, isNew: boolean): Promise<void> {
  if (target.size === 0) return;
  if (!isOnGPU(target)) return download(source, target);
  const { state } = memoryOf(target);
  await state.checked(
    () => copyElements(source, target, isNew),
    () => state.gpuDevice.queue.onSubmittedWorkDone(),
  );
}

function checkSameDevice(source: Descriptor, target: Descriptor): void {
  if (!isOnGPU(source) || source.device === target.device) return;
  const [from, to] = [source, target].map(({ storage }) => nameOf((storage as GpuStorage).gpuDevice));
  throw new UnsupportedDeviceError(
    target.device.name,
    `Two GPUDevices cannot share or copy memory: the tensor is on ${from} but ${to} is wanted. ` +
      'Use one GPUDevice for all libraries, or copy through the host: await x.toAsync(device, { stage: true })',
  );
}

function nameOf(gpuDevice: object): string {
  const { label } = gpuDevice as GpuDevice;
  const { name } = stateOf(gpuDevice);
  return label ? `'${name}' (${label})` : `'${name}'`;
}

function run(state: DeviceState, record: (commands: Commands) => void): void {
  const commands = new Commands(state);
  try {
    record(commands);
  } catch (error) {
    commands.release();
    throw error;
  }
  commands.submit();
}

/** Writes host elements. WebGPU has read them when this returns. */
function upload(source: Descriptor, target: Descriptor, isNew: boolean): void {
  const { buffer, state } = memoryOf(target);
  if (isRepeated(source)) {
    run(state, (commands) => {
      const there = commands.temporary(target.derive({ shape: [], strides: [], offset: 0 }));
      upload(source.derive({ shape: [], strides: [], offset: 0 }), there, true);
      const repeated = there.derive({ shape: source.shape, strides: source.shape.map(() => 0), offset: 0 });
      commands.copy(repeated, target, isNew);
    });
    return;
  }
  const isDirect = isPacked(target) && hasUsage(buffer, Usage.copyTarget) && target.bitOffset % 32 === 0;
  const endsInWord = target.nbytes % 4 === 0 || isPaddedAfter(target);
  if (isDirect && endsInWord && (isNew || restOf(target) === 0)) {
    withPackedBytes(source, target, (bytes) => write(state, buffer, target.bitOffset / 8, bytes));
    return;
  }
  asBytes(target); // throws before anything is queued
  run(state, (commands) => {
    const packed = commands.temporary(target);
    upload(source, packed, true);
    commands.copy(packed, target, isNew);
  });
}

const isPacked = ({ isContiguous, bitOffset }: Descriptor): boolean => isContiguous && bitOffset % 8 === 0;

/** True when all elements are the same value. */
function isRepeated({ shape, strides, dtype }: Descriptor): boolean {
  return !dtype.isSubByte && sizeOf(shape) > 1 && strides.every((step, axis) => step === 0 || shape[axis] === 1);
}

/** Calls `use` with the elements of a host tensor in row-major order, packed or padded as in the target. */
function withPackedBytes(source: Descriptor, target: Descriptor, use: (bytes: Uint8Array) => void): void {
  if (isPacked(source) && source.strideBits === target.strideBits) {
    const { storage, bitOffset, nbytes } = source;
    use(new Uint8Array(storage.buffer(), storage.start + bitOffset / 8, nbytes));
    return;
  }
  const packed = allocateLike(source.shape, source.dtype, target.flags & Flag.subBytePadded, cpu);
  try {
    convertElements(source, packed);
    withPackedBytes(packed, target, use);
  } finally {
    packed.storage.release();
  }
}

/** WebGPU writes multiples of four bytes. The bytes after the last element are padding. */
function write({ gpuDevice: { queue } }: DeviceState, buffer: GpuBuffer, offset: number, given: Uint8Array): void {
  const bytes = isShared(given.buffer) ? given.slice() : given; // Dawn on Node refuses shared memory
  const whole = bytes.length - (bytes.length % 4);
  if (whole > 0) queue.writeBuffer(buffer, offset, bytes.buffer, bytes.byteOffset, whole);
  if (whole === bytes.length) return;
  const rest = new Uint8Array(4);
  rest.set(bytes.subarray(whole));
  queue.writeBuffer(buffer, offset + whole, rest.buffer, 0, 4);
}

/** Bytes of a GPUBuffer, and the same elements as a tensor over these bytes. */
interface Readable {
  readonly buffer: GpuBuffer;
  readonly offset: number;
  readonly size: number;
  describe(bytes: ArrayBuffer): Descriptor;
}

/** Reads elements back: a command copies them into a buffer that can be mapped. */
async function download(source: Descriptor, target: Descriptor): Promise<void> {
  const { state } = memoryOf(source);
  let staging: GpuBuffer | null = null;
  try {
    const { readable, mapped } = await state.checked(
      () => {
        const commands = new Commands(state);
        try {
          const readable = readableOf(source, commands);
          staging = createBuffer(state, readable.size, Usage.mapRead | Usage.copyTarget);
          commands.encoder.copyBufferToBuffer(readable.buffer, readable.offset, staging, 0, readable.size);
          commands.submit();
          return { readable, mapped: staging };
        } catch (error) {
          commands.release();
          throw error;
        }
      },
      ({ mapped }) => mapped.mapAsync(MAP_READ),
    );
    convertElements(readable.describe(mapped.getMappedRange()), target);
  } finally {
    (staging as GpuBuffer | null)?.destroy();
  }
}

function readableOf(source: Descriptor, commands: Commands): Readable {
  const { buffer } = memoryOf(source);
  const canCopy = hasUsage(buffer, Usage.copySource);
  if (isBitwise(source)) {
    if (!canCopy) throw new BufferError('Expected a GPUBuffer with usage COPY_SRC to read it but it has none');
    return spanOfBits(source, buffer);
  }
  const start = source.bitOffset / 8;
  const size = roundUp(source.nbytes, 4);
  const isDirect = canCopy && source.isContiguous && start % 4 === 0 && start + size <= buffer.size;
  if (isDirect) return { buffer, offset: start, size, describe: (bytes) => packedOver(source, bytes) };
  const packed = commands.temporary(source);
  commands.copy(source, packed, true);
  return {
    buffer: memoryOf(packed).buffer,
    offset: 0,
    size,
    describe: (bytes) => packedOver(packed, bytes),
  };
}

function packedOver({ dtype, shape, flags }: Descriptor, bytes: ArrayBuffer): Descriptor {
  const storage = new BufferStorage(bytes, 0, bytes.byteLength);
  return new Descriptor(storage, findLayout(dtype, cpu, shape, null, flags & Flag.subBytePadded), 0);
}

/** The words that contain packed elements at any bits; the host extracts the elements. */
function spanOfBits({ shape, strides, bitOffset, strideBits, dtype, flags }: Descriptor, buffer: GpuBuffer): Readable {
  const span = spanOf(shape, strides) as { low: number; high: number };
  const first = Math.floor((bitOffset + span.low * strideBits) / 32) * 4;
  const end = roundUp(Math.ceil((bitOffset + span.high * strideBits + dtype.itemBits) / 8), 4);
  if (end > buffer.size) throw new BufferError(`Expected a GPUBuffer of ${end} bytes but it has ${buffer.size}`);
  const describe = (bytes: ArrayBuffer): Descriptor =>
    new Descriptor(
      new BufferStorage(bytes, 0, bytes.byteLength),
      findLayout(dtype, cpu, shape, strides, flags & Flag.subBytePadded),
      bitOffset - first * 8,
    );
  return { buffer, offset: first, size: end - first, describe };
}
