/** dlpack/pyodide in a real browser, with NumPy and WebGPU. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { equal } from '../assert.js';
import { testWith } from '../harness.js';
import { counterparts } from '../pyodide/load.js';
import { checkReport, runPages, tools } from './run.js';
import { importMap, type Report, root } from './server.js';

const { newest, unversioned } = counterparts;
const absent = [newest.pyodide, unversioned.pyodide, unversioned.numpy].find(
  (path) => !existsSync(join(root, '.pyodide/node_modules', path)),
);
const path = tools.findBrowser();
const missing = path === null ? tools.browserMissing : absent === undefined ? false : `${absent} in .pyodide`;
const files = ['newest', 'numpy', 'example'].map((name) => `browser/pyodide/${name}.page.js`);
let reports: Report[] = [];

testWith(missing, 'a browser runs Python', async () => {
  ({ reports } = await runPages(path as string, files, importMap(['.', './pyodide', './webgpu'])));
  equal(
    reports.map(({ file }) => file),
    files,
  );
});

for (const file of files) {
  testWith(missing, `in a browser: ${file.replace('.page.js', '')}`, () => checkReport(reports, file));
}
