/**
 * Native exchange: managed tensors by address.
 *
 * Functions that take or return an address are unsafe: a wrong address crashes the process.
 *
 * @module
 */

export { addressOf, type ExportOptions, exchangeApi, exportManaged, releaseManaged } from './export.js';
export { type ExternalOptions, toExternal } from './external.js';
export { type ImportOptions, importManaged } from './import.js';
export { loadAddon } from './load.js';
export { conformancePeer } from './peer.js';

import '../index.node.js';
