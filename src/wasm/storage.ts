/** Memory of a WebAssembly module. */

import { BufferStorage } from '../storage/storage.js';
import { bufferOf, type LinearMemory } from './module.js';

/**
 * A part of a WebAssembly memory. When the memory grows, its old buffer is detached, so each use takes the current
 * buffer. Typed arrays that were handed out before have length 0 then, and `.data` makes new ones.
 */
export class WasmStorage extends BufferStorage {
  readonly memory: LinearMemory;

  constructor(memory: LinearMemory, start: number, nbytes: number, deleter?: () => void) {
    super(bufferOf(memory) as ArrayBuffer, start, nbytes, deleter);
    this.memory = memory;
  }

  override buffer(): ArrayBufferLike {
    return bufferOf(this.memory) as ArrayBuffer;
  }
}
