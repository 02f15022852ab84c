/** The functions of native/cuda. Most have their arguments and results in a message of the wire (wire-layout.ts). */

type DeviceFunction = 'memoryInfo' | 'trim' | 'synchronizeDevice' | 'queryDevice' | 'createStream' | 'createEvent';
type MemoryFunction = 'allocate' | 'clear' | 'cast' | 'handOver' | 'follow' | 'admit' | 'pointerAttributes';
type SharingFunction = 'shareMemory' | 'shareEvent' | 'openMemory' | 'followEvent';
export type MarkFunction = 'synchronizeStream' | 'queryStream' | 'synchronizeEvent' | 'queryEvent' | 'record' | 'wait';
type StreamFunction = MarkFunction | 'setCurrent' | 'order' | 'elapsed' | 'isCapturing' | 'watch';

/** Functions without arguments and results of their own. */
export type MessageFunction = DeviceFunction | MemoryFunction | SharingFunction | StreamFunction;

export interface CudaBinding extends Record<MessageFunction, () => void> {
  /** The path that the driver was loaded from; empty for the system's own. */
  driverPath(): string;
  countDevices(): number;
  /** Returns the name. */
  describeDevice(): string;
  /** Name and text of an error. */
  describeError(code: number): [name: string, text: string];
  copy(source: Uint8Array | undefined, target: Uint8Array | undefined): void;
  copyAsync(): Promise<number> | undefined;
  /** Rows of four numbers: where a part begins in the source, its bytes, the target's handle, and where it begins there. */
  upload(parts: Float64Array): Promise<number> | undefined;
  /** Returns true if the device still reads memory, which stays unless `mayWait` is true. */
  releasePinned(mayWait: boolean): boolean;
  /** Releases a stream or an event in the table of those that JavaScript made. */
  releaseOwned(owner: number): void;
}
