/** Images, frames of videos and canvases on the GPU, and a model between them, in a real browser with its software adapter. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { equal } from '../assert.js';
import { testWith } from '../harness.js';
import { checkReport, oneAdapter, runPages, tools } from './run.js';
import { importMap, type Report, root } from './server.js';

const path = tools.findBrowser();
const missing = path === null ? tools.browserMissing : false;
const hasModels = existsSync(join(root, '.libraries/node_modules/onnxruntime-web'));
const hasRecipes = existsSync(join(root, '.libraries/node_modules/three'));
const files = [
  'browser/gpu/images.page.js',
  ...(hasModels ? ['browser/libraries/camera.page.js'] : []),
  ...(hasRecipes ? ['browser/libraries/recipes.page.js'] : []),
];
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

for (const file of files) {
  testWith(missing, `in a browser: ${file.replace('.page.js', '')}`, () => checkReport(reports, file));
}
