/** Pyodide 0.27 with NumPy 2.0, which exports capsules without a version. */

import { testCases } from './cases.js';
import { counterparts } from './load.js';
import { testsWith } from './node.js';
import { testNumPy } from './numpy.js';

const test = testsWith(counterparts.unversioned);
testCases(test, true);
testNumPy(test, false);
