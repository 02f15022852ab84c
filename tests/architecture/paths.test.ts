/** The files that the pages for contributors name exist. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { equal, ok } from '../assert.js';
import { test } from '../harness.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const pages = [
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  ...readdirSync(`${root}docs/design`).map((name) => `docs/design/${name}`),
];
/** Where a path may begin that is not written from the root: `storage/backend.ts`, `memory/memory.cc`. */
const starts = ['', 'src/', 'src/native/', 'native/'];
/** Made by a build, or a file of another project. */
const elsewhere = /^(?:build|dist|prebuilds|node_modules|\.\w)|^(?:dlpack|cuda|node_api|c_api|onnxruntime_c_api)\.h$/;
const folders = ['src', 'native', 'scripts', 'tests', 'bench', 'include', 'examples'];

test('every file that a page for contributors names exists', () => {
  const files = folders.flatMap((folder) =>
    readdirSync(root + folder, { recursive: true }).map((file) => `${folder}/${String(file).replaceAll('\\', '/')}`),
  );
  const names = new Set(files.map((file) => file.split('/').at(-1) as string));
  const exists = (path: string) =>
    path.includes('/')
      ? starts.some((start) => existsSync(root + start + path))
      : names.has(path) || existsSync(root + path);
  const named = pages.flatMap((page) =>
    [...readFileSync(root + page, 'utf8').matchAll(/`([\w./-]+\.(?:ts|cc|h|cu|py|mjs|md))`/g)]
      .filter(([, path = '']) => !elsewhere.test(path))
      .map(([, path = '']) => ({ page, path })),
  );
  ok(named.length > 100, `${named.length} paths`);
  equal(
    named.filter(({ path }) => !exists(path)),
    [],
  );
});
