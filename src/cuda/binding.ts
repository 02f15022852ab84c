/**
 * The functions of native/cuda. They take ordinary arguments, because most work of the driver takes much longer than
 * reading them. A device is its number, a stream or an event the driver's handle, memory the handle of a storage.
 */

/** What a function with results returns: the results, or the CUresult of its failure. */
export type Answer<Results> = Results | number;

/** The driver's handle of a new stream or event, and its number in the table of those that JavaScript made. */
export type Made = [handle: bigint, owner: number];

export type DeviceProperties = [
  name: string,
  /** 32 hexadecimal digits. */
  uuid: string,
  totalMemory: number,
  computeMajor: number,
  computeMinor: number,
  multiprocessors: number,
  hasManagedMemory: boolean,
  hasConcurrentManagedAccess: boolean,
  hasMemoryPool: boolean,
];

export type DriverAttributes = [
  /** 0: the driver does not know the address. */
  memoryType: number,
  deviceId: number,
  isManaged: boolean,
  context: bigint,
  devicePointer: bigint,
  hostPointer: bigint,
  rangeStart: bigint,
  rangeSize: bigint,
];

/** The allocation of foreign memory. */
export type Admitted = [
  /** 0: the driver does not know the memory. */
  deviceType: number,
  deviceId: number,
  isInside: boolean,
  rangeStart: bigint,
  rangeSize: bigint,
];

/** An allocation for other processes. */
export type SharedRange = [
  ordinal: number,
  process: bigint,
  /** The digits of the driver's handle. */
  memory: string,
  size: number,
  /** From the start of the allocation to the storage. */
  offset: number,
];

/** One step of a copy: a side is a handle, or bytes of JavaScript memory, with its DLDeviceType. */
type CopyArguments<Side> = [
  device: number,
  stream: bigint,
  source: Side,
  sourceType: number,
  target: Side,
  targetType: number,
  numbers: Float64Array,
];

/** Parts of host memory, from `offset` on, for memory on a device. */
export type UploadArguments = [
  device: number,
  stream: bigint,
  source: number,
  offset: number,
  nbytes: number,
  threads: number,
  /** Four numbers for each part: where it begins in the source, its bytes, the target's handle, and where it begins there. */
  rows: Float64Array,
];

type OnDevice = 'trim' | 'synchronizeDevice' | 'queryDevice';
type OnStream = 'synchronizeStream' | 'queryStream';
type OnEvent = 'synchronizeEvent' | 'queryEvent';
type OnStorage = 'handOver' | 'follow';

/** Functions without results return the CUresult. */
export interface CudaBinding
  extends Record<OnDevice, (device: number) => number>,
    Record<OnStream, (device: number, stream: bigint) => number>,
    Record<OnEvent, (device: number, event: bigint) => number>,
    Record<OnStorage, (device: number, handle: number, stream: bigint) => number> {
  /** The path that the driver was loaded from; empty for the system's own. */
  driverPath(): string;
  countDevices(): number;
  /** True when this process has a context of the device. */
  isUsed(id: number): boolean;
  describeDevice(device: number): Answer<DeviceProperties>;
  /** Name and text of an error. */
  describeError(code: number): [name: string, text: string];
  memoryInfo(device: number): Answer<[free: number, total: number]>;

  /** Its arguments and results are in a DeviceAllocation (wire-layout.ts), because programs allocate in loops. */
  allocate(): void;
  allocateShareable(device: number, nbytes: number): Answer<[handle: number]>;
  /** Clears the last bytes. */
  clear(device: number, handle: number, stream: bigint, nbytes: number): number;
  copy(...step: CopyArguments<number | Uint8Array>): number;
  copyAsync(...step: CopyArguments<number>): Promise<number> | number;
  /** `format` is for a float8 target, `table` for a source of one byte, and a scale and an offset for other sources. */
  cast(
    device: number,
    stream: bigint,
    source: number,
    sourceOffset: number,
    target: number,
    targetOffset: number,
    count: number,
    fromType: number,
    toType: number,
    targetBytes: number,
    format: Float64Array | undefined,
    table: Uint8Array | undefined,
    scaling: Float64Array | undefined,
  ): number;
  upload(...parts: UploadArguments): Promise<number> | number;
  /** As `upload`, on this thread: the source has been read when it returns. */
  uploadNow(...parts: UploadArguments): number;
  /** Returns true if the device still reads memory, which stays unless `mayWait` is true. */
  releasePinned(mayWait: boolean): boolean;
  pointerAttributes(address: bigint): Answer<DriverAttributes>;
  /** Gives a storage the memory around an address. The stream 0n is not waited for. */
  admit(handle: number, address: bigint, low: number, high: number, stream: bigint): Answer<Admitted>;

  /** undefined for memory that cannot be shared. */
  shareMemory(device: number, handle: number): Answer<SharedRange | undefined>;
  /** [] for memory that is too small, undefined for memory of this process. */
  openMemory(
    device: number,
    process: bigint,
    memory: string,
    offset: number,
    nbytes: number,
  ): Answer<[handle: number] | [] | undefined>;
  shareEvent(device: number, event: bigint): Answer<string>;
  followEvent(device: number, handle: number, stream: bigint, event: string): number;

  createStream(device: number, isNonBlocking: boolean, priority: number): Answer<Made>;
  createEvent(device: number, flags: number): Answer<Made>;
  /** Releases a stream or an event in the table of those that JavaScript made. */
  releaseOwned(owner: number): void;
  /** Returns the previous current stream. */
  setCurrent(device: number, stream: bigint): bigint;
  record(device: number, stream: bigint, event: bigint): number;
  wait(device: number, stream: bigint, event: bigint): number;
  /** The stream waits for the work that the other stream has now. */
  order(device: number, stream: bigint, awaitedDevice: number, awaited: bigint): number;
  elapsed(device: number, since: bigint, event: bigint): Answer<[milliseconds: number]>;
  isCapturing(device: number, stream: bigint): Answer<boolean>;
  /** Calls the function of the pin when the work that an event marks, or for owner 0 the stream has now, is over. */
  watch(device: number, stream: bigint, owner: number, pin: number): number;
}
