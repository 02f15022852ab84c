/**
 * The entry for Node, Bun and Deno: the pure core with native memory, loaded on the first allocation.
 *
 * @module
 */

import { setBackend } from './backend.js';
import { nativeBackend } from './native/backend.js';
import { isNativeAvailable } from './native/load.js';

setBackend(() => (isNativeAvailable() ? nativeBackend : null));

export * from './index.js';
