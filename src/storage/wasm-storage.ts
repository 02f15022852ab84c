/** Memory of a WebAssembly module, which moves when it grows. */

import { memoryBuffer } from '../base/primordials.js';
import { BufferStorage } from './storage.js';

/** The part of `WebAssembly.Memory` that tensors use. Not every set of TypeScript libraries has that type. */
export interface LinearMemory {
  /** The bytes now. A memory that grows gets another buffer. */
  readonly buffer: ArrayBuffer;
}

/**
 * The current buffer of a memory; null for any other value. A memory may have a property `buffer` of its own, and a program's
 * code there could detach other memory after it was checked for a call.
 */
export function bufferOfMemory(memory: unknown): ArrayBuffer | null {
  if (memory instanceof FollowedMemory) return memory.buffer;
  try {
    return memoryBuffer?.(memory) ?? null;
  } catch {
    return null;
  }
}

/** True for a real `WebAssembly.Memory` of any realm. Looks for the property first, because a getter that throws is slow. */
export function isWasmMemory(value: unknown): value is LinearMemory {
  if (typeof value !== 'object' || value === null || !('buffer' in value)) return false;
  return !(value instanceof FollowedMemory) && bufferOfMemory(value) !== null;
}

/** A memory of which only a function that finds its buffer is known. No program can make one. */
export class FollowedMemory implements LinearMemory {
  private current: ArrayBuffer;

  constructor(private readonly find: () => ArrayBuffer) {
    this.current = find();
  }

  get buffer(): ArrayBuffer {
    if (this.current.byteLength === 0) this.current = this.find(); // the memory grew
    return this.current;
  }
}

/**
 * A part of a WebAssembly memory. When the memory grows, its old buffer is detached, so each use takes the current
 * buffer. Typed arrays that were handed out before have length 0 then, and `.data` makes new ones.
 */
export class WasmStorage extends BufferStorage {
  readonly memory: LinearMemory;

  constructor(memory: LinearMemory, start: number, nbytes: number, deleter?: () => void) {
    super(bufferOfMemory(memory) as ArrayBuffer, start, nbytes, deleter);
    this.memory = memory;
  }

  override buffer(): ArrayBufferLike {
    return bufferOfMemory(this.memory) as ArrayBuffer;
  }
}
