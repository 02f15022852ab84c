/**
 * The `DLPackExchangeAPI` table of this process.
 *
 * @module
 */

import { Field, frame } from './frame.js';
import { native } from './load.js';

const { u64 } = frame;
const { ADDRESS } = Field;

/**
 * The address of the table: an allocator for host tensors and the current stream of host memory. It lives as long as the
 * process. Its conversions from and to Python objects fail while no interpreter is attached.
 */
export function exchangeApi(): bigint {
  native().exchangeApi();
  return u64[ADDRESS] as bigint;
}
