import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { equal } from '../assert.js';
import { test } from '../harness.js';

const root = new URL('../../../', import.meta.url);

interface Generator {
  dtypeFiles(): [path: string, text: string][];
}

test('the committed tables of dtypes equal those that the one table generates', async () => {
  const { dtypeFiles } = (await import(new URL('scripts/dtypes/files.mjs', root).href)) as Generator;
  const files = dtypeFiles();
  equal(
    files.map(([path]) => path),
    ['src/dtype-table.ts', 'native/dtype_table.h', 'native/python/tensors/dtypes.py'],
  );
  for (const [path, text] of files) {
    equal(readFileSync(fileURLToPath(new URL(path, root)), 'utf8'), text, `${path}: run "npm run dtypes"`);
  }
});

interface Table {
  codes: Record<string, string | null>;
  dtypes: { name: string; code: string; bits: number }[];
}

test('a name has one row, and so has a type code with a number of bits', async () => {
  const { codes, dtypes } = (await import(new URL('scripts/dtypes/table.mjs', root).href)) as Table;
  equal(new Set(dtypes.map(({ name }) => name)).size, dtypes.length);
  equal(new Set(dtypes.map(({ code, bits }) => `${code} ${bits}`)).size, dtypes.length);
  equal(
    dtypes.filter(({ code }) => !Object.hasOwn(codes, code)),
    [],
  );
});
