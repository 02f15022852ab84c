/** The parts of a WebAssembly module that hold tensors: its memory, its allocator and its table of functions. */

import {
  ArgumentTypeError,
  BufferError,
  describe,
  ForeignError,
  LoadError,
  OutOfMemoryError,
  textOf,
} from '../errors.js';
import { bufferOfMemory, type LinearMemory } from '../storage/wasm-storage.js';

/** An address as the functions of the module take it: a number in 32-bit memory, a bigint in 64-bit memory. */
export type WasmAddress = number | bigint;

/** The exports of an instance, or the module object of Emscripten. Both names of each part are found. */
export interface WasmExports {
  /** The memory of the module. */
  readonly memory?: unknown;
  /** The memory, as Emscripten names it. */
  readonly wasmMemory?: unknown;
  /** Allocates bytes. */
  readonly malloc?: unknown;
  /** Allocates bytes, as Emscripten names it. */
  readonly _malloc?: unknown;
  /** Frees what `malloc` gave. */
  readonly free?: unknown;
  /** Frees, as Emscripten names it. */
  readonly _free?: unknown;
  /** The table of functions, through which deleters are called. */
  readonly __indirect_function_table?: unknown;
  /** The table, as Emscripten names it. */
  readonly wasmTable?: unknown;
  /** The exports of the instance, in the module objects of Emscripten: `asm` in older versions. */
  readonly asm?: unknown;
  /** All exports, as Emscripten keeps them. */
  readonly wasmExports?: unknown;
  /** Emscripten's dynamic linker, which has the exports of the main module. */
  readonly LDSO?: unknown;
  /** Emscripten's function that puts a JavaScript function into the table. Used where the table is not exported. */
  readonly addFunction?: unknown;
}

type Allocate = (nbytes: WasmAddress) => WasmAddress;
type Free = (address: WasmAddress) => void;
type Deleter = (self: WasmAddress) => void;
type AddFunction = (action: Deleter, signature: string) => number;

export class WasmModule {
  readonly memory: LinearMemory;
  /** Pointers have 64 bits. */
  readonly is64: boolean;
  private readonly allocator: Allocate | null;
  private readonly deallocator: Free | null;
  private readonly table: WebAssembly.Table | null;
  private readonly adder: AddFunction | null;
  private current = new DataView(new ArrayBuffer(0));

  constructor(exports: WasmExports, is64: boolean) {
    const memory = partOf(exports, 'memory', 'wasmMemory');
    if (bufferOfMemory(memory) === null) {
      throw new ArgumentTypeError('module', 'exports with a WebAssembly.Memory named memory (or wasmMemory)', exports);
    }
    this.memory = memory as LinearMemory;
    this.is64 = is64;
    this.allocator = functionOf(partOf(exports, 'malloc', '_malloc'));
    this.deallocator = functionOf(partOf(exports, 'free', '_free'));
    const table = partOf(exports, '__indirect_function_table', 'wasmTable');
    this.table = table instanceof WebAssembly.Table ? table : null;
    this.adder = functionOf(partOf(exports, 'addFunction'));
  }

  /** An address of the module as an offset into its memory. Addresses in the upper half are negative numbers. */
  offsetOf(address: WasmAddress): number {
    if (typeof address === 'bigint') return Number(BigInt.asUintN(64, address));
    if (!Number.isSafeInteger(address) || (!this.is64 && address >= 2 ** 32)) {
      throw new ArgumentTypeError('address', 'an address in the memory', address);
    }
    return this.is64 ? Number(BigInt.asUintN(64, BigInt(address))) : address >>> 0;
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

  /** The whole memory as it is now. */
  view(): DataView {
    const buffer = bufferOfMemory(this.memory) as ArrayBuffer;
    if (this.current.buffer !== buffer) this.current = new DataView(buffer);
    return this.current;
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
    if (offset === 0) throw new OutOfMemoryError(`the WebAssembly module could not allocate ${nbytes} bytes`, nbytes);
    const size = (bufferOfMemory(this.memory) as ArrayBuffer).byteLength;
    if (offset + nbytes <= size) return offset;
    throw new BufferError(`The module's malloc returned ${offset}, which is outside its memory of ${size} bytes`);
  }

  free(offset: number): void {
    if (this.deallocator !== null) callModule('free', this.deallocator, this.addressOf(offset));
  }

  /** The function of a function pointer. */
  functionAt(index: number): Deleter {
    const table = this.functions();
    const found: unknown = index < table.length ? withIndex(index, (i) => table.get(i as number)) : undefined;
    if (typeof found === 'function') return found as Deleter;
    throw new BufferError(`Expected a function of the module at ${index} but found ${describe(found)}`);
  }

  /** A function pointer for a JavaScript function with one pointer parameter. */
  addFunction(action: Deleter): number {
    if (this.table === null && this.adder !== null) return this.adder(action, this.is64 ? 'vj' : 'vi');
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
    return Number(index);
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
  const linker = exports.LDSO as { loadedLibsByName?: { __main__?: { exports?: WasmExports } } } | undefined;
  const linked = linker?.loadedLibsByName?.__main__?.exports;
  for (const parts of [exports, exports.asm, exports.wasmExports, linked] as (WasmExports | undefined)[]) {
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
