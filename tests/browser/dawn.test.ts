/** The same WebGPU tests as in a page, on Node with Dawn. The software adapter is Chromium's SwiftShader. */

import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { equal } from '../assert.js';
import { runChild } from '../child.js';
import { testWith } from '../harness.js';
import { tools } from './run.js';
import { root } from './server.js';

const libraries = join(root, '.libraries/package.json');
const browser = tools.findBrowser();
const folders = ['/usr/lib/chromium', ...(browser === null ? [] : [dirname(realpathSync(browser))])];
const folder = folders.find((path) => existsSync(join(path, 'vk_swiftshader_icd.json')));
const missing = !existsSync(join(root, '.libraries/node_modules/webgpu'))
  ? 'webgpu in .libraries'
  : folder === undefined
    ? 'SwiftShader of Debian’s chromium package'
    : false;

for (const name of ['copies', 'lifetimes']) {
  testWith(missing, `Node with Dawn: ${name}`, () => {
    const env = {
      VK_ICD_FILENAMES: join(folder as string, 'vk_swiftshader_icd.json'),
      LD_LIBRARY_PATH: `${folder}:${process.env.LD_LIBRARY_PATH ?? ''}`,
    };
    const { output } = runChild(import.meta.url, '../webgpu/dawn.js', { args: [name, libraries], env });
    const result = /^RESULT (.*)$/m.exec(output)?.[1];
    equal(result !== undefined && JSON.parse(result).failed, 0, output);
    if (process.env.VERBOSE) console.log(output);
  });
}
