/** Pyodide 0.25 with NumPy 2.1, which exports versioned capsules. Its Python 3.11 has no `__buffer__`. */

import { testCases } from './cases.js';
import { counterparts } from './load.js';
import { testsWith } from './node.js';
import { testNumPy } from './numpy.js';

const test = testsWith(counterparts.versioned);
testCases(test, false);
testNumPy(test, true);
