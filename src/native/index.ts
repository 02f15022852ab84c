/**
 * Native exchange: managed tensors by address.
 *
 * Functions that take or return an address are unsafe: a wrong address crashes the process.
 *
 * @module
 */

export { addressOf, type ExportOptions, exchangeApi, exportManaged, releaseManaged } from './exchange/export.js';
export { type ExternalOptions, toExternal } from './exchange/external.js';
export { type ImportOptions, importManaged } from './exchange/import.js';
export { loadAddon } from './load/load.js';
export { conformancePeer } from './peer.js';

import '../index.node.js';
