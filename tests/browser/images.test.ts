/** Images, frames of videos and canvases on the GPU, and a model between them, in a real browser with its software adapter. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { equal } from '../assert.js';
import { testWith } from '../harness.js';
import { checkReport, oneAdapter, runPages, tools } from './run.js';
import { importMap, type Report, root } from './server.js';

const lacks = (library: string): string | false =>
  !existsSync(join(root, '.libraries/node_modules', library)) && `${library} in .libraries`;
const path = tools.findBrowser();
const missing = path === null ? tools.browserMissing : false;
/** The pages, and what is missing for each; false if it is there. */
const pages: readonly (readonly [file: string, missing: string | false])[] = [
  ['browser/gpu/images.page.js', missing],
  ['browser/libraries/camera.page.js', missing || lacks('onnxruntime-web')],
  ['browser/libraries/recipes.page.js', missing || lacks('three')],
];
const files = pages.filter(([, lack]) => lack === false).map(([file]) => file);
const libraries = {
  'three/webgpu': '/.libraries/node_modules/three/build/three.webgpu.js',
  mediabunny: '/.libraries/node_modules/mediabunny/dist/bundles/mediabunny.mjs',
};
let reports: Report[] = [];

testWith(missing, 'a browser runs the tests of images', async () => {
  const imports = { ...importMap(['.', './adapters', './debug', './webgpu']), ...libraries };
  ({ reports } = await runPages(path as string, files, imports, oneAdapter));
  equal(
    reports.map(({ file }) => file),
    files,
  );
});

for (const [file, lack] of pages) {
  testWith(lack, `in a browser: ${file.replace('.page.js', '')}`, () => checkReport(reports, file));
}
