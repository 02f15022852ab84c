/**
 * The entry for Node, Bun and Deno: the pure core with native memory. The first allocation loads the addon.
 *
 * @module
 */

import { nativeBackend } from './native/backend.js';
import { hasNativeMemory } from './native/load.js';
import { setBackend } from './storage/backend.js';

setBackend(() => (hasNativeMemory() ? nativeBackend : null));

export * from './index.js';
export { nativeStatus } from './native/load.js';
