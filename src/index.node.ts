/**
 * The entry for Node, Bun and Deno: the pure core with native memory. The first allocation loads the addon, and the
 * first use of a device loads the module for it.
 *
 * @module
 */

import { hostBackend } from './native/backend.js';
import { registerDisplay } from './native/display.js';
import { loadDeviceModule } from './native/load/device-modules.js';
import { hasNativeMemory } from './native/load/load.js';
import { registerCounts } from './native/memory/counts.js';
import { setBackend } from './storage/backend.js';
import { setModuleLoader } from './storage/device-backend.js';

setBackend(() => (hasNativeMemory() ? hostBackend() : null));
setModuleLoader(loadDeviceModule);
registerDisplay();
registerCounts();

export * from './index.js';
export { nativeStatus } from './native/load/load.js';
