/**
 * The functions of the addon, one member each, as native/addon.cc exports them. Arguments and results are in the slot of the
 * wire that its header names.
 *
 * @module
 */

/** What the addon file exports: the same object each time a thread loads it. */
export interface Addon {
  /** The functions of a new instance, which ends with the thread. */
  createInstance(options: { wire: ArrayBuffer; onRelease: (id: number) => void }): Binding;
}

export interface Binding {
  allocate(): void;
  release(): void;
  collect(): void;
  addressOf(): void;
  pinArray(array: Uint8Array): void;
  pinAddress(): void;
  createBuffer(): ArrayBuffer | undefined;
  detachBuffer(buffer: ArrayBuffer): void;
  readInto(array: Uint8Array): void;
  writeFrom(array: Uint8Array): void;
  convert(source: Uint8Array | undefined, target: Uint8Array | undefined): void;
  convertAsync(): Promise<boolean> | undefined;
  importVersioned(): void;
  importLegacy(): void;
  exportVersioned(): void;
  exportLegacy(): void;
  deleteVersioned(): void;
  deleteLegacy(): void;
  /** The packed dtype of a misaligned tensor, which arrives as vectors of bytes. */
  importExternal(value: unknown): number | undefined;
  exportExternal(): object | undefined;
  issueTicket(): void;
  redeemTicket(): void;
  exchangeApi(): void;
  readCounts(): void;
  readTraces(places: Float64Array): void;
  /** The handle and the bytes of a mapped file in `result`, or the system's name of what went wrong. */
  mapFile(path: string, isWritable: boolean, result: Float64Array): string | undefined;
  /** The handle of a storage over a part of another; 0 when there is none. */
  partOf(handle: number, offset: number, nbytes: number): number;
  /** Copies a part of a storage. */
  readPart(handle: number, offset: number, nbytes: number, target: Uint8Array): boolean;
  /** The handle, the file and its number of new memory in `result`, or the system's name of what went wrong. */
  createShared(nbytes: number, result: Float64Array): string | undefined;
  /** The handle of another process's memory in `result`, or the system's name of what went wrong. */
  openShared(
    process: number,
    file: number,
    number: number,
    nbytes: number,
    isWritable: number,
    result: Float64Array,
  ): string | undefined;
  startPython(options: {
    library: string;
    program: string;
    released: ArrayBuffer;
    isWorker: boolean;
    pythonSignals: boolean;
    threads: number;
    makeBytes: (length: number) => Uint8Array | undefined;
    onCall: (...values: never[]) => unknown;
    onSettle: (...values: never[]) => void;
  }): unknown;
  /** Returns what went wrong. An empty path is the system's driver. */
  loadCuda(path: string): string | undefined;
  /** The functions that src/cuda/binding.ts declares. */
  attachCuda<T>(): T;
  /** Returns what went wrong. */
  loadTvmFfi(path: string): string | undefined;
  /** The functions that src/tvm-ffi/binding.ts declares. */
  attachTvmFfi<T>(options: { onCall(): void; onSettle(): void }): T;
}
