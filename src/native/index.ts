/**
 * Native exchange: managed tensors by address, and counts of live objects.
 *
 * Functions that take or return an address are unsafe: a wrong address crashes the process.
 *
 * @module
 */

export { type Origin, setDebug } from '../storage/debug.js';
export { addressOf, type ExportOptions, exchangeApi, exportManaged, releaseManaged } from './export.js';
export { type ImportOptions, importManaged } from './import.js';
export { loadAddon } from './load.js';
export { type Stats, stats, trim } from './stats.js';

import '../index.node.js';
