/** The package as Node sees it, with native memory and native casts, and the pure core as a browser sees it. */

import * as native from 'dlpack';
import * as pure from '../src/index.js';

/** Both have the same types; a value of one is never handed to the other. */
export const cores: readonly (readonly [name: string, core: typeof native])[] = [
  ['native', native],
  ['TypeScript', pure as unknown as typeof native],
];
