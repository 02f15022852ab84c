/**
 * The functions of the addon, as the tables in native/ list them (native/bindings.h). Their arguments and results are
 * in the slot that the header of the wire names.
 */

/** The exports of the addon file. A thread gets the same object each time it loads the file. */
export interface Addon {
  /** Makes the functions of a new instance, which ends with the thread. */
  createInstance(options: { wire: ArrayBuffer; onRelease: (id: number) => void }): Binding;
}

export interface Binding {
  allocate(): void;
  release(): void;
  collect(): void;
  outlive(): void;
  addressOf(): void;
  pinArray(array: Uint8Array): void;
  pinAddress(): void;
  createBuffer(): ArrayBuffer | undefined;
  detachBuffer(buffer: ArrayBuffer): void;
  readInto(array: Uint8Array): void;
  writeFrom(array: Uint8Array): void;
  takeStaged(): void;
  copy(source: Uint8Array | undefined): void;
  convert(source: Uint8Array | undefined, target: Uint8Array | undefined): void;
  convertAsync(): Promise<boolean> | undefined;
  importVersioned(): void;
  importLegacy(): void;
  exportVersioned(): void;
  exportLegacy(): void;
  deleteVersioned(): void;
  deleteLegacy(): void;
  /** Returns the packed dtype of a misaligned tensor, which arrives as vectors of bytes. */
  importExternal(value: unknown): number | undefined;
  exportExternal(): object | undefined;
  issueTicket(): void;
  redeemTicket(): void;
  exchangeApi(): void;
  readCounts(): void;
  readTraces(places: Float64Array): void;
  trim(): void;
  /** Maps a file. Writes its handle and size into `result`, or returns the system's name of the error. */
  mapFile(path: string, isWritable: boolean, result: Float64Array): string | undefined;
  /** The handle of a storage over a part of another storage; 0 on failure. */
  partOf(handle: number, offset: number, nbytes: number): number;
  /** Copies a part of a storage. */
  readPart(handle: number, offset: number, nbytes: number, target: Uint8Array): boolean;
  /** Creates shareable memory. Writes its handle, file and file number into `result`, or returns the error's name. */
  createShared(name: string, nbytes: number, result: Float64Array): string | undefined;
  /** Forbids other processes to open shareable memory for writing, or returns the system's name of the error. */
  sealShared(handle: number): string | undefined;
  /** Removes the name of shareable memory. */
  unnameShared(handle: number): void;
  /** Removes the names of all shareable memory of this instance. */
  unnameAllShared(): void;
  /** Opens memory of another process. Writes its handle and size into `result`, or returns the error's name. */
  openShared(
    name: string,
    process: number,
    file: number,
    number: number,
    nbytes: number,
    flags: number,
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
  /** Returns an error text, or undefined. An empty path means the system's driver. */
  loadCuda(path: string): string | undefined;
  /** The functions that src/cuda/binding.ts declares. */
  attachCuda<T>(): T | string;
  /** Returns an error text, or undefined. */
  loadTvmFfi(path: string): string | undefined;
  /** The functions that src/tvm-ffi/binding.ts declares. */
  attachTvmFfi<T>(options: { onCall(): void; onSettle(): void }): T | string;
}
