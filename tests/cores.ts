/** The package for Node, with native memory and native casts, and the pure core for browsers. */

import * as native from 'dlpack';
import * as pure from '../src/index.js';

/** Both have the same types; values of one are never passed to the other. */
export const cores: readonly (readonly [name: string, core: typeof native])[] = [
  ['native', native],
  ['TypeScript', pure as unknown as typeof native],
];
