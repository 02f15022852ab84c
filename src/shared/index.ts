/**
 * `dlpack/shared`: one tensor in several threads of a process, or in several processes, over the same memory.
 *
 * @module
 */

import '../index.node.js';

export type { SharedTensor } from './description.js';
export { type ForeignTensor, sharedPath } from './foreign.js';
export { type OpenOptions, openTensor, type ShareOptions, shareTensor } from './share.js';
export type { IssuedToken, TensorToken } from './token.js';
