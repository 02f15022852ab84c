/** The pure core of this package, which browsers load. */

import type * as dlpack from 'dlpack';
import { packageSubject } from './package.js';

const core = (await import(new URL('../../../../dist/index.js', import.meta.url).href)) as typeof dlpack;

export default packageSubject('the pure core of dlpack', core);
