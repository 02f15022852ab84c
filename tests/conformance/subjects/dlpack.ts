/** This package, with native code. */

import * as dlpack from 'dlpack';
import { packageSubject } from './package.js';

export default packageSubject('dlpack', dlpack, ['buffer', 'external']);
