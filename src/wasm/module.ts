/** The parts of a WebAssembly module that hold tensors: its memory, its allocator and its table of functions. */

import { ArgumentTypeError, BufferError, describe, ForeignError, LoadError, textOf } from '../errors.js';

/** An address as the functions of the module take it: a number in 32-bit memory, a bigint in 64-bit memory. */
export type WasmAddress = number | bigint;

/** The exports of an instance, or the module object of Emscripten. Both names of each part are found. */
export interface WasmExports {
  readonly memory?: unknown;
  readonly wasmMemory?: unknown;
  readonly malloc?: unknown;
  readonly _malloc?: unknown;
  readonly free?: unknown;
  readonly _free?: unknown;
  readonly __indirect_function_table?: unknown;
  readonly wasmTable?: unknown;
  /** The exports of the instance, in the module objects of Emscripten: `asm` in older versions. */
  readonly asm?: unknown;
  readonly wasmExports?: unknown;
}

/** The part of `WebAssembly.Memory` that tensors use. Not every set of TypeScript libraries has that type. */
export interface LinearMemory {
  readonly buffer: ArrayBuffer;
}

/** The getter as it was when this module was loaded. */
const getBuffer = Object.getOwnPropertyDescriptor(globalThis.WebAssembly?.Memory.prototype ?? {}, 'buffer')?.get;
const { apply } = Reflect;

/**
 * The current buffer of a memory; null for any other value. A memory may have a property `buffer` of its own, and a program's
 * code there could detach other memory after it was checked for a call.
 */
export function bufferOf(memory: unknown): ArrayBuffer | null {
  try {
    return apply(getBuffer as () => ArrayBuffer, memory, []);
  } catch {
    return null;
  }
}

type Allocate = (nbytes: WasmAddress) => WasmAddress;
type Free = (address: WasmAddress) => void;
type Deleter = (self: WasmAddress) => void;

export class WasmModule {
  readonly memory: LinearMemory;
  /** Pointers have 64 bits. */
  readonly is64: boolean;
  private readonly allocator: Allocate | null;
  private readonly deallocator: Free | null;
  private readonly table: WebAssembly.Table | null;

  constructor(exports: WasmExports, is64: boolean) {
    const memory = partOf(exports, 'memory', 'wasmMemory');
    if (bufferOf(memory) === null) {
      throw new ArgumentTypeError('module', 'exports with a WebAssembly.Memory named memory (or wasmMemory)', exports);
    }
    this.memory = memory as LinearMemory;
    this.is64 = is64;
    this.allocator = functionOf(partOf(exports, 'malloc', '_malloc'));
    this.deallocator = functionOf(partOf(exports, 'free', '_free'));
    const table = partOf(exports, '__indirect_function_table', 'wasmTable');
    this.table = table instanceof WebAssembly.Table ? table : null;
  }

  /** An address of the module as an offset into its memory. Addresses above 2 GiB are negative numbers. */
  offsetOf(address: WasmAddress): number {
    if (typeof address === 'bigint') return Number(BigInt.asUintN(64, address));
    if (!Number.isSafeInteger(address) || (!this.is64 && address >= 2 ** 32)) {
      throw new ArgumentTypeError('address', 'an address in the memory', address);
    }
    return this.is64 ? address : address >>> 0;
  }

  /** The offset of a struct. Functions of modules return NULL when they fail. */
  structAt(address: WasmAddress): number {
    const offset = this.offsetOf(address);
    if (offset !== 0) return offset;
    throw new ArgumentTypeError('address', 'the address of a struct', address, 'the module returned NULL');
  }

  /** An offset into the memory as the functions of the module take it. */
  addressOf(offset: number): WasmAddress {
    return this.is64 ? BigInt(offset) : offset;
  }

  /** Memory from the module's `malloc`, which may grow the memory. Returns an offset. */
  allocate(nbytes: number): number {
    if (this.allocator === null || this.deallocator === null) {
      throw new LoadError(
        'the allocator of the WebAssembly module',
        ['exports named malloc and free (or _malloc and _free)'],
        ['export them: -sEXPORTED_FUNCTIONS=_malloc,_free with Emscripten, --export=malloc --export=free with wasm-ld'],
      );
    }
    // A 32-bit malloc would get the low 32 bits of a larger size, and return less memory.
    const fits = this.is64 || nbytes < 2 ** 32;
    const offset = fits ? this.offsetOf(callModule('malloc', this.allocator, this.addressOf(Math.max(nbytes, 1)))) : 0;
    if (offset === 0) throw new BufferError(`Out of memory: the WebAssembly module could not allocate ${nbytes} bytes`);
    const size = (bufferOf(this.memory) as ArrayBuffer).byteLength;
    if (offset + nbytes <= size) return offset;
    throw new BufferError(`The module's malloc returned ${offset}, which is outside its memory of ${size} bytes`);
  }

  free(offset: number): void {
    if (this.deallocator !== null) callModule('free', this.deallocator, this.addressOf(offset));
  }

  /** The function of a function pointer. */
  functionAt(index: bigint): Deleter {
    const table = this.functions();
    const found: unknown =
      index < BigInt(table.length) ? withIndex(Number(index), (i) => table.get(i as number)) : undefined;
    if (typeof found === 'function') return found as Deleter;
    throw new BufferError(`Expected a function of the module at ${index} but found ${describe(found)}`);
  }

  /** A function pointer for a JavaScript function with one pointer parameter. */
  addFunction(action: (self: WasmAddress) => void): bigint {
    const wrapped = new WebAssembly.Instance(new WebAssembly.Module(trampoline(this.is64)), { m: { f: action } });
    const table = this.functions();
    let index: number | bigint;
    try {
      index = withIndex(1, (count) => table.grow(count as number));
    } catch (cause) {
      const error = new BufferError(
        'Expected a table of functions that can grow; link with -sALLOW_TABLE_GROWTH (Emscripten) or --growable-table (wasm-ld)',
      );
      throw Object.assign(error, { cause });
    }
    table.set(index as number, wrapped.exports.f as () => void);
    return BigInt(index);
  }

  private functions(): WebAssembly.Table {
    if (this.table !== null) return this.table;
    throw new LoadError(
      'the function table of the WebAssembly module, which deleters need',
      ['an export named __indirect_function_table (or wasmTable)'],
      ['export it: -sEXPORTED_RUNTIME_METHODS=wasmTable with Emscripten, --export-table with wasm-ld'],
    );
  }
}

/** A part by one of its names, in the exports or in the instance of Emscripten's module object. */
function partOf(exports: WasmExports, ...names: (keyof WasmExports)[]): unknown {
  for (const parts of [exports, exports.asm, exports.wasmExports] as (WasmExports | undefined)[]) {
    for (const name of names) if (parts?.[name] !== undefined) return parts[name];
  }
  return undefined;
}

/** Calls a function of the module, which may trap. */
export function callModule<R>(name: string, call: (value: WasmAddress) => R, value: WasmAddress): R {
  try {
    return call(value);
  } catch (cause) {
    // JavaScript converts no number to a 64-bit pointer.
    const isWide = name === 'malloc' && typeof value === 'number' && cause instanceof TypeError;
    const advice = isWide ? '; a module with 64-bit memory needs { memory64: true }' : '';
    throw new ForeignError('WebAssembly module', `The module's ${name} failed: ${textOf(cause)}${advice}`, { cause });
  }
}

function functionOf<F>(value: unknown): F | null {
  return typeof value === 'function' ? (value as F) : null;
}

/** Tables with 64-bit indices take bigints, and a table does not tell which kind it is. */
function withIndex<R>(index: number, use: (index: number | bigint) => R): R {
  try {
    return use(index);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return use(BigInt(index));
  }
}

/** A module that exports the function `f` it imports. Only functions of modules can be in a table. */
function trampoline(is64: boolean): Uint8Array<ArrayBuffer> {
  const pointer = is64 ? 0x7e : 0x7f;
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
    ...[0x01, 0x05, 0x01, 0x60, 0x01, pointer, 0x00], // the type: one pointer, no result
    ...[0x02, 0x07, 0x01, 0x01, 0x6d, 0x01, 0x66, 0x00, 0x00], // the import m.f
    ...[0x07, 0x05, 0x01, 0x01, 0x66, 0x00, 0x00], // the export f
  ]);
}
