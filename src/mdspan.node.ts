/**
 * The entry of `dlpack/mdspan` for Node, Bun and Deno: the pure module, with native code that reads addresses.
 *
 * @module
 */

import './index.node.js';

export * from './mdspan/index.js';
