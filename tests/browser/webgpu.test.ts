/** dlpack/webgpu in a real browser, on its software adapter. */

import { equal } from '../assert.js';
import { testWith } from '../harness.js';
import { checkReport, runPages, tools } from './run.js';
import { importMap, type Report } from './server.js';

const path = tools.findBrowser();
const missing = path === null ? tools.browserMissing : false;
const files = ['conformance', 'copies', 'lifetimes', 'example', 'tutorial'].map(
  (name) => `browser/gpu/${name}.page.js`,
);
let reports: Report[] = [];

testWith(missing, 'a browser runs the WebGPU tests', async () => {
  ({ reports } = await runPages(
    path as string,
    files,
    importMap(['.', './adapters', './conformance', './debug', './webgpu']),
  ));
  equal(
    reports.map(({ file }) => file),
    files,
  );
});

for (const file of files) {
  testWith(missing, `in a browser: ${file.replace('.page.js', '')}`, () => checkReport(reports, file));
}
