import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { equal } from '../assert.js';
import { test } from '../harness.js';

const root = new URL('../../../', import.meta.url);

interface Generator {
  embeddedFiles(): [path: string, text: string][];
}

test('the committed headers contain the Python code of the files beside them', async () => {
  const { embeddedFiles } = (await import(new URL('scripts/lib/embed.mjs', root).href)) as Generator;
  const files = embeddedFiles();
  equal(
    files.map(([path]) => path),
    [
      'native/python/tensors/dtypes_py.h',
      'native/python/interpreter/prelude_py.h',
      'native/python/tensors/tensor_py.h',
    ],
  );
  for (const [path, text] of files) {
    equal(readFileSync(fileURLToPath(new URL(path, root)), 'utf8'), text, `${path}: run "npm run embed"`);
  }
});
