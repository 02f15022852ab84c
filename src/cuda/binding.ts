/**
 * The functions of native/cuda/context.cc. Arguments and results are in a message of the wire (wire-layout.ts).
 *
 * @module
 */

export interface CudaBinding {
  /** The path that the driver was loaded from; empty for the system's own. */
  driverPath(): string;
  countDevices(): number;
  /** Returns the name. */
  describeDevice(): string;
  /** Name and text of an error. */
  describeError(code: number): [name: string, text: string];
  memoryInfo(): void;
  trim(): void;
  allocate(): void;
  clear(): void;
  copy(source: Uint8Array | undefined, target: Uint8Array | undefined): void;
  copyAsync(): Promise<number> | undefined;
  /** Rows of four numbers: where a part begins in the source, its bytes, the target's handle, and where it begins there. */
  upload(parts: Float64Array): Promise<number> | undefined;
  /** Returns true if the device still reads memory, which stays unless `mayWait` is true. */
  releasePinned(mayWait: boolean): boolean;
  cast(): void;
  handOver(): void;
  pointerAttributes(): void;
  admit(): void;
  follow(): void;
  shareMemory(): void;
  shareEvent(): void;
  openMemory(): void;
  followEvent(): void;
  createStream(): void;
  createEvent(): void;
  /** Releases a stream or an event in the table of those that JavaScript made. */
  releaseOwned(owner: number): void;
  setCurrent(): void;
  synchronizeStream(): void;
  synchronizeEvent(): void;
  synchronizeDevice(): void;
  queryStream(): void;
  queryEvent(): void;
  queryDevice(): void;
  record(): void;
  wait(): void;
  order(): void;
  elapsed(): void;
  isCapturing(): void;
  watch(): void;
}
