/**
 * The stack of the wire for the files of this folder. An import from another chunk of dist costs a load and a check at
 * each use, so the functions are constants of this chunk.
 */

import * as shared from '../native/wire.js';

export const { enter, leave } = shared;
