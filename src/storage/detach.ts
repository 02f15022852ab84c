/** Detaches ArrayBuffers. */

import { structuredClone, transfer } from '../base/primordials.js';

/** Moves the memory into a new buffer and detaches the old one. */
export function moveAway(buffer: ArrayBufferLike): ArrayBufferLike {
  return structuredClone(buffer, { transfer: [buffer as ArrayBuffer] });
}

/**
 * Detaches a buffer by a transfer of zero bytes, or by `fallback` where the runtime has no transfer, as Node 20. Returns
 * true if this call detached it, so that it reaches no memory from now on. Returns false for a buffer that a program
 * detached before, and whose memory may be in another buffer, and for a buffer that a program marked with
 * `markAsUntransferable`, which keeps its memory. Node 24 and Deno abort if native code detaches such a buffer.
 */
export function detach(buffer: ArrayBuffer, fallback: (buffer: ArrayBuffer) => unknown = moveAway): boolean {
  try {
    if (transfer === undefined) return fallback(buffer) !== false;
    transfer(buffer, 0);
    return true;
  } catch {
    return false;
  }
}
