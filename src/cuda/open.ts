/**
 * Device memory of another process, from its description.
 *
 * @module
 */

import { type DeviceInfo, parseDevice } from '../device.js';
import { type DTypeInfo, parseDType, strideBits } from '../dtype.js';
import {
  ArgumentTypeError,
  ArgumentValueError,
  BufferError,
  checkOptions,
  LayoutError,
  UnsupportedDeviceError,
} from '../errors.js';
import { checkShape, checkStrides, spanOf } from '../layout.js';
import { NativeStorage } from '../native/native-storage.js';
import { Descriptor, Flag } from '../storage/descriptor.js';
import { Tensor } from '../tensor.js';
import { cudaBackend } from './backend.js';
import { devices } from './devices.js';
import { check, cuda } from './driver.js';
import { handleOn, type StreamLike } from './event.js';
import { ADDRESS, DEVICE, FLAGS, f64, HANDLE, i32, NBYTES, NUMBER, STREAM, u32, u64 } from './frame.js';
import { writeValues } from './hex.js';
import type { SharedMemory } from './share.js';

export interface OpenOptions {
  /** The stream that waits for the work of the other process; without one, the current stream of the device. */
  stream?: StreamLike;
}

/** A description whose values have their types. */
interface Fields {
  readonly uuid: string;
  readonly process: bigint;
  readonly memory: string | null;
  readonly size: number;
  readonly bitOffset: number;
  readonly dtype: DTypeInfo;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly flags: number;
  readonly event: string | null;
}

/**
 * A Tensor over memory of another process of this machine that {@link shareMemory} described there, without a copy. Work of that
 * process on it comes first. The memory is mapped until the last tensor over it is released and its work is done; the other process
 * must keep its tensor that long.
 */
export function openShared(shared: SharedMemory, options: OpenOptions = {}): Tensor {
  checkOptions(options, '{ stream }');
  const fields = readFields(shared);
  const device = findDevice(fields.uuid);
  const stream = handleOn(device, options.stream);
  const { dtype, shape, strides, bitOffset, flags } = fields;
  const span = spanOf(shape, strides);
  if (span === null || fields.memory === null) {
    if (span !== null) throw new ArgumentValueError('shared.memory', 'a handle for a shape with elements', null);
    return new Tensor(new Descriptor(cudaBackend.allocate(0, device), dtype, device, shape, strides, 0, flags));
  }
  checkOffset(fields);
  const step = strideBits(dtype, (flags & Flag.subBytePadded) !== 0);
  const start = Math.floor((bitOffset + span.low * step) / 8);
  const end = Math.ceil((bitOffset + span.high * step + dtype.itemBits) / 8);
  if (start < 0 || end > fields.size || !Number.isSafeInteger(end)) throw outside(fields, start, end, fields.size);
  const storage = open(fields, device, start, end, stream);
  return new Tensor(new Descriptor(storage, dtype, device, shape, strides, bitOffset - start * 8, flags));
}

/** Packed elements lie at whole steps from some byte on, all others where their address is aligned. */
function checkOffset({ bitOffset, dtype, flags, shape, strides }: Fields): void {
  const isPacked = dtype.isSubByte && (flags & Flag.subBytePadded) === 0;
  const unit = isPacked ? dtype.itemBits & -dtype.itemBits : dtype.alignment * 8;
  if (bitOffset % unit === 0) return;
  throw new LayoutError(
    `Expected an offset that is a multiple of ${unit} bits for ${dtype.name} but received ${bitOffset}`,
    shape,
    strides,
  );
}

function open(fields: Fields, device: DeviceInfo, start: number, end: number, stream: bigint): NativeStorage {
  const binding = cuda();
  i32[DEVICE] = device.id;
  u64[ADDRESS] = fields.process;
  f64[NUMBER] = start;
  f64[NBYTES] = end - start;
  writeValues(fields.memory as string);
  binding.openMemory();
  check('memory that its process still has, and that this process may open');
  if (u32[FLAGS] === OWN_MEMORY) {
    throw new BufferError(
      'Expected memory of another process but it is of this one; use its tensor, and shareTensor() of dlpack/native for other threads',
    );
  }
  if (u32[FLAGS] !== 1) throw outside(fields, start, end, null);
  const storage = new NativeStorage(u32[HANDLE] as number, end - start, false).recorded();
  if (fields.event === null) return storage;
  u32[HANDLE] = storage.handle;
  i32[DEVICE] = device.id;
  u64[STREAM] = stream;
  writeValues(fields.event);
  binding.followEvent();
  try {
    check('an event that its process still has, and that this process may wait for');
  } catch (error) {
    storage.release();
    throw error;
  }
  return storage;
}

const OWN_MEMORY = 2;

function outside({ shape, strides }: Fields, start: number, end: number, size: number | null): LayoutError {
  return new LayoutError(
    `Expected elements inside the shared allocation${size === null ? '' : ` of ${size} bytes`} but shape [${shape.join(', ')}] ` +
      `with strides [${strides.join(', ')}] reaches from byte ${start} to ${end}`,
    shape,
    strides,
  );
}

function findDevice(uuid: string): DeviceInfo {
  const all = devices();
  const found = all.find((device) => device.uuid === uuid);
  if (found !== undefined) return parseDevice(found.device);
  const known = all.length === 0 ? 'none' : all.map((device) => `${device.device} is ${device.uuid}`).join(', ');
  throw new UnsupportedDeviceError(
    uuid,
    `Expected the device with UUID ${uuid} but this process has ${known}; CUDA_VISIBLE_DEVICES decides which it has`,
  );
}

/** Getters of the object run here and nowhere else, once each. */
function readFields(shared: unknown): Fields {
  if (typeof shared !== 'object' || shared === null) {
    throw new ArgumentTypeError('shared', 'a description by shareMemory()', shared);
  }
  const source = shared as Record<string, unknown>;
  const { version, device, process, memory, size, bitOffset, event, readOnly, padded, dtype: name } = source;
  if (version !== 1) throw new ArgumentValueError('shared.version', 'version 1 of the description', version);
  if (typeof name !== 'string') throw new ArgumentTypeError('shared.dtype', 'the name of a dtype', name);
  const dtype = parseDType(name as never);
  const shape = checkShape(source.shape as never, 'shared.shape');
  return {
    uuid: text(device, 'device', uuid, 'the UUID of a device'),
    process: BigInt(`0x${text(process, 'process', digits16, '16 hexadecimal digits')}`),
    memory: handle(memory, 'memory'),
    size: count(size, 'size'),
    bitOffset: count(bitOffset, 'bitOffset'),
    dtype,
    shape,
    strides: checkStrides(source.strides as never, shape),
    flags:
      (flag(readOnly, 'readOnly') ? Flag.readOnly : 0) |
      (flag(padded, 'padded') && dtype.isSubByte ? Flag.subBytePadded : 0),
    event: handle(event, 'event'),
  };
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const digits16 = /^[0-9a-f]{16}$/;
const digits128 = /^[0-9a-f]{128}$/;

function text(value: unknown, name: string, pattern: RegExp, expected: string): string {
  if (typeof value !== 'string') throw new ArgumentTypeError(`shared.${name}`, expected, value);
  if (!pattern.test(value)) throw new ArgumentValueError(`shared.${name}`, expected, value);
  return value;
}

function handle(value: unknown, name: string): string | null {
  return value === null ? null : text(value, name, digits128, 'a handle of 128 hexadecimal digits');
}

function count(value: unknown, name: string): number {
  if (typeof value !== 'number') throw new ArgumentTypeError(`shared.${name}`, 'an integer', value);
  if (!Number.isSafeInteger(value) || value < 0) {
    throw new ArgumentValueError(`shared.${name}`, 'an integer from 0 to 2^53 - 1', value);
  }
  return value;
}

function flag(value: unknown, name: string): boolean {
  if (typeof value !== 'boolean') throw new ArgumentTypeError(`shared.${name}`, 'a boolean', value);
  return value;
}
