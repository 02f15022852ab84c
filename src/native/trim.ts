/**
 * Releases memory that the package keeps for new tensors.
 *
 * @module
 */

import { unmapKept } from './kept-blocks.js';
import { native } from './load.js';

/**
 * Returns the memory of released tensors to the system, and its number of bytes. Host blocks of 1 MiB or more wait for
 * new tensors of about their size, 256 MiB of them at most (`DLPACK_REUSE_BYTES`); after a second in which none was used
 * this happens by itself. `stats().kept` counts them.
 */
export function trim(): number {
  return unmapKept(native(), false).bytes;
}
