/** The rows in a page. */

import { start } from '../../tests/browser/pyodide/load.js';
import { counterparts } from '../../tests/pyodide/load.js';
import { measureRows } from './rows.js';

const { testEnvironment } = globalThis as { testEnvironment?: { PYODIDE_SAMPLES?: string } };
const count = Number(testEnvironment?.PYODIDE_SAMPLES);

console.log(`RESULT ${JSON.stringify(measureRows(await start(counterparts.unversioned), count))}`);
