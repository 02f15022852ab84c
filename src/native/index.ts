/**
 * Native exchange: managed tensors by address, and what is alive.
 *
 * Functions that take or return an address are unsafe: an address that is not what it is said to be ends the process.
 *
 * @module
 */

export { type Origin, setDebug } from './debug.js';
export { exchangeApi } from './exchange-api.js';
export { addressOf, type ExportOptions, exportManaged, releaseManaged } from './export.js';
export { type ImportOptions, importManaged } from './import.js';
export { loadAddon } from './load.js';
export { type Stats, stats } from './stats.js';

import '../index.node.js';
