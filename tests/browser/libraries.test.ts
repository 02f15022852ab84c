/** onnxruntime-web, TensorFlow.js, jax-js, LiteRT.js, TypeGPU and transformers.js exchange tensors in a real browser. */

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkRows } from '../adapters/matrix-page.js';
import { type Row, rowOf } from '../adapters/matrix-row.js';
import { equal } from '../assert.js';
import { testWith } from '../harness.js';
import { bundleLibraries, libraries, transformersImports } from './bundle.js';
import { checkReport, runPages, tools } from './run.js';
import { importMap, type Report } from './server.js';

const needed = [
  'onnxruntime-web',
  '@tensorflow/tfjs-backend-webgpu',
  '@jax-js/jax',
  '@litertjs/core',
  '@huggingface/transformers',
  'typegpu',
];
const absent = needed.find((name) => !existsSync(join(libraries, name)));
const path = tools.findBrowser();
const noAdapter = path !== null && !tools.canCollect(path) && tools.softwareAdapter() === null; // Firefox has none of its own
const missing =
  path === null
    ? tools.browserMissing
    : absent !== undefined
      ? `${absent} in .libraries`
      : noAdapter
        ? 'SwiftShader of Debian’s chromium package'
        : false;

const files = ['exchange', 'traps', 'litert', 'transformers', 'matrix'].map(
  (name) => `browser/libraries/${name}.page.js`,
);
let reports: Report[] = [];

testWith(missing, 'a browser runs the libraries on one GPUDevice', async () => {
  await bundleLibraries();
  const imports = { ...importMap(['.', './adapters', './webgpu']), ...transformersImports };
  ({ reports } = await runPages(path as string, files, imports));
  equal(
    reports.map(({ file }) => file),
    files,
  );
});

for (const file of files) {
  testWith(missing, `in a browser: ${file.replace('.page.js', '')}`, () => checkReport(reports, file));
}

/** UPDATE=1 npm test -- browser/libraries        writes these rows. Other browsers have other dtypes. */
const isChromium = path === null || tools.canCollect(path);
if (isChromium) {
  testWith(missing, 'in a browser: every library, dtype and direction is as docs/compatibility.md says', () => {
    const lines = reports.find(({ file }) => file.includes('/matrix'))?.lines ?? [];
    const versionOf = (name: string): string =>
      JSON.parse(readFileSync(join(libraries, name, 'package.json'), 'utf8')).version;
    const rows = lines
      .filter((line) => line.startsWith('ROW '))
      .map((line) => JSON.parse(line.slice(4)) as Row & { readonly library?: string })
      .map((row) =>
        rowOf({ ...row, version: row.library === undefined ? '' : versionOf(row.library), where: 'Chromium' }),
      );
    checkRows('Chromium', rows);
  });
}
