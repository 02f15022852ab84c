/**
 * The fake CUDA driver (tests/cuda/driver) as tests control it. Code under test opens the same file by `fakeDriverPath` and
 * sees the same machine.
 *
 * Work on a stream runs only when something forces it: a wait of the program, `run`, `runAll`, or work that depends on it.
 * So a missing wait shows as stale values, and as a "race:" line in `errors()`, whichever operation runs first.
 */

import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

/** A stream's handle: 0n and 1n are the legacy stream of a device, 2n the calling thread's. */
export type StreamHandle = bigint;

/** Arguments of a driver function: numbers and addresses, typed arrays by their address, text, NULL. */
export type DriverArgument = number | bigint | string | null | Uint8Array | Int32Array | BigUint64Array | Float32Array;

export interface Live {
  /** Blocks and bytes that were not freed; a free that a stream did not run yet does not count. */
  device: number;
  deviceBytes: number;
  pool: number;
  poolBytes: number;
  pinned: number;
  pinnedBytes: number;
  managed: number;
  managedBytes: number;
  /** Memory that was opened by a handle and not closed. */
  mapped: number;
  mappedBytes: number;
  /** Made and not destroyed. */
  streams: number;
  events: number;
  /** References to primary contexts. */
  contexts: number;
  pools: number;
  modules: number;
  /** Queued on streams and not run. */
  operations: number;
}

interface Addon {
  setDevices(count: number): void;
  setMemory(device: number, bytes: number): void;
  setAttribute(device: number, attribute: number, value: number): void;
  setUuid(device: number, last: number): void;
  configure(version?: number, patience?: number, unknownPointersFail?: boolean, queriesRun?: boolean): void;
  failNext(symbol: string, code: number, skip: number): void;
  interruptNext(symbol: string, action: () => void): void;
  failDevice(device: number, code: number): void;
  calls(symbol: string): number;
  live(): Live;
  errors(): string[];
  reset(): void;
  forget(): void;
  run(stream: StreamHandle, device: number): number;
  runAll(): void;
  pending(stream: StreamHandle, device: number): string[];
  delay(stream: StreamHandle, device: number): void;
  release(stream: StreamHandle, device: number): void;
  beginCapture(stream: StreamHandle, mode: number, device: number): void;
  endCapture(stream: StreamHandle, device: number): { code: number; operations: string[] };
  peek(address: bigint, bytes: number): Uint8Array;
  poke(address: bigint, bytes: Uint8Array): void;
  openDriver(path: string): number;
  call(driver: number, symbol: string, args: DriverArgument[]): number;
  startCall(driver: number, context: bigint, symbol: string, args: DriverArgument[]): number;
  endCall(call: number, wait: boolean): number;
}

const url = new URL('../../native/fake_cuda.node', import.meta.url);

/** The path of the fake driver, for `dlopen`. `FAKE_CUDA` names another one, such as a driver without some functions. */
export const fakeDriverPath = process.env.FAKE_CUDA ?? fileURLToPath(url);

/** Names what is missing, for `testWith`. */
export const fakeMissing = existsSync(url) ? false : 'build/native/fake_cuda.node (needs a C++ compiler)';

const addon: Addon = fakeMissing === false ? createRequire(import.meta.url)(fakeDriverPath) : ({} as Addon);

/** Codes of CUresult that tests name. */
export const code = {
  success: 0,
  invalidValue: 1,
  outOfMemory: 2,
  notInitialized: 3,
  noDevice: 100,
  invalidDevice: 101,
  invalidContext: 201,
  mapFailed: 205,
  alreadyMapped: 208,
  invalidHandle: 400,
  notFound: 500,
  notReady: 600,
  illegalAddress: 700,
  launchTimeout: 702,
  notSupported: 801,
  captureUnsupported: 900,
  captureInvalidated: 901,
  captureUnjoined: 904,
  captureIsolation: 905,
  captureImplicit: 906,
  capturedEvent: 907,
} as const;

/** Modes of a stream capture. */
export const captureMode = { global: 0, threadLocal: 1, relaxed: 2 } as const;

export interface Configuration {
  /** The result of cuDriverGetVersion. Default 13000. */
  version?: number;
  /** Milliseconds that a call waits for a delayed stream before it fails with 702 and an "error:" line: 5000. */
  patience?: number;
  /** cuPointerGetAttributes fails for memory it does not know, as older drivers do: false. */
  unknownPointersFail?: boolean;
  /** cuEventQuery and cuStreamQuery let work run that no delay holds back, as if time had passed: false. */
  queriesRun?: boolean;
}

export const fake = {
  /** How many devices there are, 1 at first. Before cuInit; with 0 that fails with 100. */
  setDevices: (count: number): void => addon.setDevices(count),
  /** The memory of a device, 8 GiB at first; an allocation beyond it fails with 2. */
  setMemory: (device: number, bytes: number): void => addon.setMemory(device, bytes),
  /** A device attribute by its number in CUdevice_attribute. */
  setAttribute: (device: number, attribute: number, value: number): void =>
    addon.setAttribute(device, attribute, value),
  /** The UUID of a device by its last byte, which is the number of the device at first. */
  setUuid: (device: number, last: number): void => addon.setUuid(device, last),
  /** Sets the named values; `forget` restores the defaults. */
  configure: ({ version, patience, unknownPointersFail, queriesRun }: Configuration): void =>
    addon.configure(version, patience, unknownPointersFail, queriesRun),

  /** The next call of the function, after `skip` more, does nothing and returns `code`. */
  failNext: (symbol: string, code: number, skip = 0): void => addon.failNext(symbol, code, skip),
  /** Runs `action` in the middle of the next call of the function, which must come from this thread. */
  interruptNext: (symbol: string, action: () => void): void => addon.interruptNext(symbol, action),
  /** The device fails, as after an illegal address: its queued work does not run, and every call for it returns `code`. */
  failDevice: (device: number, code: number): void => addon.failDevice(device, code),
  /** How often the function was called since `reset`. */
  calls: (symbol: string): number => addon.calls(symbol),
  live: (): Live => addon.live(),
  /**
   * The problems, in order: "error:" is a call that no correct program makes, "race:" two uses of memory with no order
   * between them, "violation:" an operation on memory that was freed, not yet allocated, or never allocated.
   */
  errors: (): string[] => addon.errors(),
  /** Lets everything run and forgets errors, counts, injections, delays and captures. Handles and memory stay. */
  reset: (): void => addon.reset(),
  /** A new machine with one device: every handle and all memory of the previous machine is invalid. */
  forget: (): void => addon.forget(),

  /** Runs the work that the stream has queued, and the work that it waits for, up to a delay. Returns how much is left. */
  run: (stream: StreamHandle, device = 0): number => addon.run(stream, device),
  /** Runs all streams, up to their delays. */
  runAll: (): void => addon.runAll(),
  /** Names of the operations that the stream has queued. */
  pending: (stream: StreamHandle, device = 0): string[] => addon.pending(stream, device),
  /** Queues a kernel that ends at `release`: nothing queued behind it runs before. */
  delay: (stream: StreamHandle, device = 0): void => addon.delay(stream, device),
  release: (stream: StreamHandle, device = 0): void => addon.release(stream, device),

  /** The stream records work instead of running it. */
  beginCapture: (stream: StreamHandle, mode: number = captureMode.global, device = 0): void =>
    addon.beginCapture(stream, mode, device),
  /** Ends the capture: 0, or 901 after a call that it forbids; and the names of the captured operations. */
  endCapture: (stream: StreamHandle, device = 0): { code: number; operations: string[] } =>
    addon.endCapture(stream, device),

  /** Bytes as they are now, of the device or the host, whatever streams have queued. */
  peek: (address: bigint, bytes: number): Uint8Array => addon.peek(address, bytes),
  poke: (address: bigint, bytes: Uint8Array): void => addon.poke(address, bytes),
};

/** A driver whose functions a test calls itself. */
export interface Driver {
  /** Calls the function and returns its code. One that is not in our table takes its arguments unchecked. */
  call(symbol: string, ...args: DriverArgument[]): number;
  /** Calls it and throws unless it succeeds. */
  must(symbol: string, ...args: DriverArgument[]): void;
  /** Calls it on a thread of its own, with this context current there unless it is 0n. The arguments must live on. */
  start(context: bigint, symbol: string, ...args: DriverArgument[]): StartedCall;
}

export interface StartedCall {
  /** Whether it returned. */
  ended(): boolean;
  /** Its code, once it returned. */
  wait(): number;
}

function driverAt(index: number): Driver {
  return {
    call: (symbol, ...args) => addon.call(index, symbol, args),
    must(symbol, ...args) {
      const result = addon.call(index, symbol, args);
      if (result !== 0) throw new Error(`${symbol} returned ${result}`);
    },
    start(context, symbol, ...args) {
      const call = addon.startCall(index, context, symbol, args);
      let result = -1;
      const look = (wait: boolean): number => {
        if (result === -1) result = addon.endCall(call, wait);
        return result;
      };
      return { ended: () => look(false) !== -1, wait: () => look(true) };
    },
  };
}

/** The fake driver's own functions. */
export const fakeDriver: Driver = driverAt(0);

/** The functions of another driver, such as libcuda.so.1. Throws an error that names a missing function. */
export const openDriver = (path: string): Driver => driverAt(addon.openDriver(path));

/** The value that a function writes through its first argument. */
export function made(driver: Driver, symbol: string, ...rest: DriverArgument[]): bigint {
  const out = new BigUint64Array(1);
  driver.must(symbol, out, ...rest);
  return out[0] as bigint;
}
