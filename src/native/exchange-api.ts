/**
 * The `DLPackExchangeAPI` table of this process.
 *
 * @module
 */

import { native } from './load.js';
import { enter, request, wire } from './wire.js';
import { AddressResult } from './wire-layout.js';

const { u64 } = wire;

/**
 * The address of the table. It has an allocator for host tensors and the current stream of host memory. It lives as
 * long as the process. Its conversions from and to Python objects fail until an interpreter is attached.
 */
export function exchangeApi(): bigint {
  const binding = native();
  const slot = enter(AddressResult.WORDS);
  request(slot, () => binding.exchangeApi());
  return u64[slot + AddressResult.ADDRESS] as bigint;
}
