/**
 * The functions of the addon, as the tables in native/ list them (native/bindings.h). The arguments and results of those that
 * return nothing are in the slot that the header of the wire names. Others are called less often.
 */

import type { Peer } from '../conformance/native/peer.js';

/** The exports of the addon file. A thread gets the same object each time it loads the file. */
export interface Addon {
  /** Makes the functions of the peer of dlpack/conformance. */
  conformancePeer(): Peer;
  /** Makes the functions of a new instance, which ends with the thread. */
  createInstance(options: { wire: ArrayBuffer; onRelease: (id: number) => void }): Binding;
}

/** Live objects of the process. */
export type Counts = [
  /** Blocks of memory that this package allocated. */
  storages: number,
  /** Their bytes. */
  bytes: number,
  /** Imported memory that tensors hold. */
  imports: number,
  /** Managed tensors whose deleter was not yet called. */
  exports: number,
  /** Tickets that were not yet redeemed. */
  tickets: number,
  /** Bytes that this instance reported to the garbage collector. */
  reported: number,
  /** Bytes of released blocks that wait for new tensors. */
  kept: number,
];

export interface Binding {
  allocate(): void;
  release(): void;
  collect(): void;
  outlive(): void;
  /** The address of the first byte of a storage; undefined for a wrong handle. */
  addressOf(handle: number): bigint | undefined;
  /** The handle of memory that JavaScript keeps under a number; 0 when out of memory. */
  pinArray(pin: number, array: Uint8Array, isNew: boolean): number | undefined;
  /** As `pinArray`; undefined for an address that cannot be right. */
  pinAddress(pin: number, address: bigint, nbytes: number): number | undefined;
  /** The number of the pin of a storage of this instance; 0 for other storages. */
  pinOf(handle: number): number;
  /** The bytes from the start of an array to the next address that is aligned for every consumer. */
  beforeAligned(array: Uint8Array): number;
  allowsExternalBuffers(): boolean;
  runReleased(): void;
  /** An ArrayBuffer over a storage, or a Status. */
  createBuffer(handle: number): ArrayBuffer | number;
  detachBuffer(buffer: ArrayBuffer): boolean;
  /** Copies a whole storage into an array of its size; false for another size. */
  readInto(handle: number, array: Uint8Array): boolean;
  /** The same in the other direction. */
  writeFrom(handle: number, array: Uint8Array): boolean;
  takeStaged(): void;
  copy(source: Uint8Array | undefined): void;
  convert(source: Uint8Array | undefined, target: Uint8Array | undefined, factors: Float64Array | undefined): void;
  convertAsync(factors: Float64Array | undefined): Promise<boolean> | undefined;
  importVersioned(): void;
  importLegacy(): void;
  exportVersioned(): void;
  exportLegacy(): void;
  /** Calls the deleter of a managed tensor; false for an address that cannot be right. */
  deleteVersioned(address: bigint): boolean;
  deleteLegacy(address: bigint): boolean;
  keepLayout(): void;
  /** Returns the packed dtype of a misaligned tensor, which arrives as vectors of bytes. */
  importExternal(value: unknown): number | undefined;
  exportExternal(): object | undefined;
  /** A ticket is 32 hexadecimal digits. */
  issueTicket(ticket: string): void;
  redeemTicket(ticket: string): void;
  exchangeApi(): bigint;
  readCounts(): Counts;
  /** Writes the places of live exports, and returns how many there are, also if the array is shorter. */
  readTraces(places: Float64Array): number;
  /** Unmaps the kept blocks, and returns their bytes. */
  trim(): number;
  /** Unmaps the kept blocks if none was taken or added since the last such call. Returns whether blocks are left. */
  trimIdle(): boolean;
  /** Maps a file. Writes its handle and size into `result`, or returns the system's name of the error. */
  openFile(path: string, isWritable: boolean, result: Float64Array): string | undefined;
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
  /** The record of the thread that started Python in this process. */
  findRunningPython(): string | undefined;
  startPython(options: {
    library: string;
    program: string;
    /** Only that of the start is kept. */
    record: string;
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
  attachTvmFfi<T>(onCall: () => void): T | string;
  /** Returns an error text, or undefined. An empty path means the library that the process has loaded. */
  loadOnnxRuntime(path: string): string | undefined;
  /** Opens a library without using it. Returns an error text, or undefined. */
  reserveOnnxRuntime(path: string): string | undefined;
  /** The functions that src/onnxruntime/binding.ts declares. */
  attachOnnxRuntime<T>(): T | string;
}
