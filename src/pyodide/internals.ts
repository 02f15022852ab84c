/**
 * The private names of Pyodide, all of them in this file: `_module`, which has the memory and the table of functions of the
 * WebAssembly module. Where a Pyodide has no such name, public functions take its place: ctypes
 * allocates and makes function pointers, and a buffer of a bytearray is the whole memory.
 */

import { FollowedMemory } from '../storage/wasm-storage.js';
import { type WasmExports, WasmHeap } from '../wasm/index.js';
import type { Bridge, PyodideLike, PyProxyLike } from './pyodide.js';

/** Emscripten's module object with its dynamic linker, against whose C names the wheels of Pyodide are linked. */
interface EmscriptenModule extends WasmExports {
  readonly LDSO?: { readonly loadedLibsByName?: { readonly __main__?: { readonly exports?: LinkedFunctions } } };
}

interface LinkedFunctions extends WasmExports {
  readonly PyErr_Occurred?: () => number;
}

/** The memory of a Pyodide. */
export interface Internals {
  readonly heap: WasmHeap;
  /** True while a Python error is on its way, when no Python code may run. */
  readonly isRaising: () => boolean;
}

export function findInternals(pyodide: PyodideLike, bridge: Bridge): Internals {
  const module = (pyodide as { readonly _module?: EmscriptenModule })._module;
  const linked = module?.LDSO?.loadedLibsByName?.__main__?.exports;
  for (const exports of [linked, module]) {
    try {
      const isRaising = linked?.PyErr_Occurred;
      if (exports !== undefined) {
        return { heap: new WasmHeap(exports), isRaising: () => isRaising !== undefined && isRaising() !== 0 };
      }
    } catch {
      // The names have changed.
    }
  }
  return { heap: new WasmHeap(publicParts(pyodide, bridge)), isRaising: () => false };
}

/** What a proxy of a bytearray has. */
interface ByteArray extends PyProxyLike {
  getBuffer(type: string): { readonly data: Uint8Array; release(): void };
}

function publicParts(pyodide: PyodideLike, bridge: Bridge): WasmExports {
  const bytes = pyodide.runPython('bytearray(1)') as ByteArray;
  const memory = new FollowedMemory(() => {
    const view = bytes.getBuffer('u8');
    const { buffer } = view.data;
    view.release();
    return buffer as ArrayBuffer;
  });
  return {
    memory,
    malloc: (size: number) => bridge.malloc(size) ?? 0,
    free: (address: number) => bridge.free(address),
    addFunction: (action: (self: number) => void) => bridge.add_function(action),
  };
}
