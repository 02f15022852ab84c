/**
 * Device memory for other processes: a description that any channel carries, and memory that can be described.
 *
 * @module
 */

import type { Device, DeviceInfo } from '../device.js';
import { type DType, parseDType, sizeBytes } from '../dtype.js';
import { ArgumentTypeError, BufferError, checkOptions, UnsupportedDeviceError } from '../errors.js';
import { checkShape, rowMajorStrides, sizeOf } from '../layout.js';
import { NativeStorage } from '../native/native-storage.js';
import type { Owner } from '../storage/collect.js';
import { Descriptor } from '../storage/descriptor.js';
import type { Storage } from '../storage/storage.js';
import { Tensor } from '../tensor.js';
import { descriptorOf, TensorView } from '../view.js';
import { cudaBackend } from './backend.js';
import { currentHandle } from './current.js';
import { parseCudaDevice, uuidOf } from './devices.js';
import { check, cuda } from './driver.js';
import { ADDRESS, DEVICE, EVENT, FLAGS, f64, HANDLE, i32, NBYTES, NUMBER, STREAM, u32, u64 } from './frame.js';
import { readValues } from './hex.js';
import { Owned } from './owned.js';

/**
 * A tensor in the memory of a device, for another process. Plain values: JSON, `postMessage`, `process.send` and sockets carry it.
 * It keeps nothing alive: the tensor it is of must live, in its own process, as long as somebody has this open.
 */
export interface SharedMemory {
  /** Of this format. */
  readonly version: 1;
  /** UUID of the device, which may have another number in another process. */
  readonly device: string;
  /** Whose memory it is, 16 hexadecimal digits. */
  readonly process: string;
  /** The driver's handle of the allocation, in hexadecimal digits; null for a tensor without elements. */
  readonly memory: string | null;
  /** Bytes of the allocation. */
  readonly size: number;
  /** From the start of the allocation to the first element. A multiple of eight except inside packed sub-byte types. */
  readonly bitOffset: number;
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** In elements. */
  readonly strides: readonly number[];
  readonly readOnly: boolean;
  /** Elements of a sub-byte type lie in a byte each. */
  readonly padded: boolean;
  /** The driver's handle of the event that the work on the tensor ends with, in hexadecimal digits; null: there is nothing to wait for. */
  readonly event: string | null;
}

export interface ShareOptions {
  /** false: no event. The one who opens it sees to the order by other means. */
  sync?: boolean;
}

export interface ShareableOptions {
  /** `'cuda:0'` without one. */
  device?: Device;
}

/** Uninitialised memory of a device that {@link shareMemory} can give to other processes: whole pages of 2 MiB beside the pool. */
export function emptyShareable<D extends DType>(
  shape: readonly number[],
  dtype: D,
  options: ShareableOptions = {},
): Tensor<D> {
  checkOptions(options, "{ device: 'cuda:0' }");
  const lengths = checkShape(shape);
  const type = parseDType(dtype);
  const device = parseCudaDevice(options.device ?? 'cuda:0');
  const nbytes = sizeBytes(type, sizeOf(lengths));
  const binding = cuda();
  i32[DEVICE] = device.id;
  f64[NBYTES] = nbytes;
  binding.allocateShareable();
  check(`${nbytes} bytes on '${device.name}' that can be shared`);
  const storage = new NativeStorage(u32[HANDLE] as number, nbytes, false).recorded();
  return new Tensor<D>(new Descriptor(storage, type, device, lengths, rowMajorStrides(lengths), 0, 0));
}

/**
 * A description of a tensor on a device for {@link openShared} in another process of this machine, without a copy. Work on it that
 * was queued here comes first there. Keep the tensor, and dispose it only when the other process is done: neither the driver nor the collector knows that it is used.
 */
export function shareMemory(tensor: TensorView, options: ShareOptions = {}): SharedMemory {
  if (!(tensor instanceof TensorView)) throw new ArgumentTypeError('tensor', 'a Tensor', tensor);
  checkOptions(options, '{ sync: false }');
  const { sync = true } = options;
  if (typeof sync !== 'boolean') throw new ArgumentTypeError('sync', 'a boolean', sync);
  const descriptor = descriptorOf(tensor);
  const { device, dtype } = descriptor;
  if (device.kind !== 'cuda') {
    throw new UnsupportedDeviceError(
      device.name,
      `Expected a tensor on 'cuda' but it is on '${device.name}'; ${copyFirst}`,
    );
  }
  const range = descriptor.size === 0 ? emptyRange(device) : rangeOf(descriptor);
  return {
    version: 1,
    ...range,
    dtype: dtype.name,
    shape: descriptor.publicShape,
    strides: descriptor.publicStrides,
    readOnly: descriptor.isReadOnly,
    padded: descriptor.isPadded,
    event: sync && range.memory !== null ? recordEvent(descriptor) : null,
  };
}

const copyFirst = 'copy it into memory that can be shared: emptyShareable(x.shape, x.dtype).copyFrom(x)';

type Range = Pick<SharedMemory, 'device' | 'process' | 'memory' | 'size' | 'bitOffset'>;

function emptyRange({ id }: DeviceInfo): Range {
  return { device: uuidOf(id), process: '0'.repeat(16), memory: null, size: 0, bitOffset: 0 };
}

function rangeOf({ storage, device, bitOffset }: Descriptor): Range {
  const binding = cuda();
  i32[DEVICE] = device.id;
  u32[HANDLE] = (storage as NativeStorage).handle;
  binding.shareMemory();
  check(`a handle of memory on '${device.name}' for other processes`);
  if (u32[FLAGS] !== 1) {
    throw new BufferError(
      `Expected memory that other processes can open but this is of a pool, or of a kind that CUDA IPC does not know; ${copyFirst}`,
    );
  }
  const range = {
    process: (u64[ADDRESS] as bigint).toString(16).padStart(16, '0'),
    memory: readValues(0, 64),
    size: f64[NBYTES] as number,
    bitOffset: (f64[NUMBER] as number) * 8 + bitOffset,
  };
  return { device: uuidOf(i32[DEVICE] as number), ...range };
}

// The driver has room for some thousands of them in a process, and says so by failing where nobody expects it.
const MAX_EVENTS = 1000;
let liveEvents = 0;

/** What {@link Event} is with other flags: it goes with the storage whose work it marks. */
class SharedEvent implements Owner {
  readonly handle: bigint;
  readonly #owned: Owned;

  constructor(device: DeviceInfo) {
    const binding = cuda();
    i32[DEVICE] = device.id;
    u32[FLAGS] = EVENT_INTERPROCESS | EVENT_DISABLE_TIMING;
    binding.createEvent();
    check(`an event on '${device.name}' for other processes`);
    this.handle = u64[EVENT] as bigint;
    this.#owned = new Owned(this, u64[ADDRESS] as bigint, () => void liveEvents--);
    liveEvents++;
  }

  free(): void {
    this.#owned.release();
  }
}

const EVENT_DISABLE_TIMING = 2;
const EVENT_INTERPROCESS = 4;

/** One for each storage: recorded again it comes later, never earlier, because each record waits for all work before it. */
const events = new WeakMap<Storage, SharedEvent>();
// As they were when this module was loaded: patched ones would be handed storages.
const knownEvent = WeakMap.prototype.get.bind(events) as (storage: Storage) => SharedEvent | undefined;
const knowEvent = WeakMap.prototype.set.bind(events) as (storage: Storage, event: SharedEvent) => void;

function eventOf({ storage, device }: Descriptor): SharedEvent | null {
  const known = knownEvent(storage);
  if (known !== undefined || liveEvents >= MAX_EVENTS) return known ?? null;
  const made = new SharedEvent(device);
  knowEvent(storage, made);
  storage.attached ??= new Set();
  storage.attached.add(made);
  return made;
}

/** The handle of an event behind all work on a tensor; null after waiting for that work, where there are too many events. */
function recordEvent(descriptor: Descriptor): string | null {
  const { device } = descriptor;
  const stream = currentHandle(device.id);
  const binding = cuda();
  const select = (): void => {
    i32[DEVICE] = device.id;
    u64[STREAM] = stream;
    u32[FLAGS] = 0;
  };
  select();
  binding.isCapturing();
  check('the state of a stream');
  if (f64[NUMBER] === 1) {
    throw new BufferError(
      'Expected a current stream that runs its work but it is captured into a graph; share the tensor before or after that, or with { sync: false }',
    );
  }
  cudaBackend.handOver(descriptor, stream);
  const event = eventOf(descriptor);
  select();
  if (event === null) {
    binding.synchronize();
    check(`work on '${device.name}' to succeed`);
    return null;
  }
  u64[EVENT] = event.handle;
  binding.record();
  check('an event to be recorded');
  binding.shareEvent();
  check('a handle of an event for other processes');
  return readValues(0, 64);
}
