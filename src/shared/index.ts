/**
 * `dlpack/shared`: one tensor in several threads of a process, or in several processes, over the same memory.
 *
 * @module
 */

import '../index.node.js';

export type { SharedMemory } from '../storage/device-backend.js';
export type { TensorDescription } from './description.js';
export { type ForeignTensor, openForeign, sharedPath } from './foreign.js';
export { type DescribeOptions, describeTensor, type OpenTensorOptions, openTensor, shareTensor } from './share.js';
export type { IssuedToken, TensorToken } from './token.js';
