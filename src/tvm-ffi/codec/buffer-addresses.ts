/**
 * The addresses of JavaScript buffers. Many tensors lie over a buffer that earlier calls have used. Engines never move a
 * buffer, so its address stays valid until it is detached, which each call checks.
 */

import { privateWeakMap } from '../../base/primordials.js';

/** Private, because a patched method could return any address. */
const addresses = privateWeakMap<ArrayBufferLike, number>();

/**
 * An insertion takes longer than asking for the address, so only every 31st buffer is remembered: a buffer in frequent use
 * soon is, and most other buffers never are.
 */
const SAMPLE = 31;
let misses = 0;

/** The address of a buffer, if it is remembered; otherwise 0. */
export function addressOfBuffer(buffer: ArrayBufferLike): number {
  return addresses.get(buffer) ?? 0;
}

/** Remembers some of the addresses. */
export function rememberAddress(buffer: ArrayBufferLike, address: number): void {
  if (++misses % SAMPLE === 0 && Number.isSafeInteger(address)) addresses.set(buffer, address);
}
