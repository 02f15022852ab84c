/**
 * The `DLPackExchangeAPI` table of this process.
 *
 * @module
 */

import { ADDRESS, u64 } from './frame.js';
import { native } from './load.js';

/**
 * The address of the table: an allocator for host tensors and the current stream of host memory. It lives as long as the
 * process. Its conversions from and to Python objects fail while no interpreter is attached.
 */
export function exchangeApi(): bigint {
  native().exchangeApi();
  return u64[ADDRESS] as bigint;
}
