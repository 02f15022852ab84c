/** Pyodide in a page. */

import { type Counterpart, load, type Pyodide } from '../../pyodide/load.js';

const root = '/.pyodide/node_modules/';

export const start = (counterpart: Counterpart): Promise<Pyodide> =>
  load(counterpart, root, async (path) => new Uint8Array(await (await fetch(root + path)).arrayBuffer()));
