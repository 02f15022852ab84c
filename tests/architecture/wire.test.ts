import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { equal, ok } from '../assert.js';
import { test } from '../harness.js';

const root = new URL('../../../', import.meta.url);

interface Generator {
  layoutFiles(): [path: string, text: string][];
}

test('the committed layouts of the wire equal the layouts that the table generates', async () => {
  const { layoutFiles } = (await import(new URL('scripts/wire/layout.mjs', root).href)) as Generator;
  const files = layoutFiles();
  ok(files.length >= 2, 'a TypeScript file and a header');
  for (const [path, text] of files) {
    equal(readFileSync(fileURLToPath(new URL(path, root)), 'utf8'), text, `${path}: run "npm run wire"`);
  }
});

interface Table {
  groups: { messages: { name: string; fields: [name: string, type: string][] }[] }[];
}

test('a message has each field once, and no two messages have the same name', async () => {
  const { groups } = (await import(new URL('scripts/wire/messages.mjs', root).href)) as Table;
  const messages = groups.flatMap((group) => group.messages);
  equal(new Set(messages.map(({ name }) => name)).size, messages.length);
  for (const { name, fields } of messages) equal(new Set(fields.map(([field]) => field)).size, fields.length, name);
});

/** Bytes and text, and the block itself. */
const exempt = ['native/wire/memory.ts', 'native/wire/bytes.ts'];

test('only functions that the table generates compute an index of the wire', () => {
  const source = fileURLToPath(new URL('src/', root));
  const files = (readdirSync(source, { recursive: true }) as string[])
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => file.endsWith('.ts') && !file.endsWith('wire-layout.ts') && !exempt.includes(file));
  // A sum of sizes is what a request takes. A word plus a size is a place, which the table names (`end`, `at`).
  const computed = /\b[iuf](32|64)\[|\b(slot|first|word|at|base|top)\s*\+\s*(\w+ \* )?\w+\.WORDS/;
  const indexed = files.filter((file) => computed.test(readFileSync(source + file, 'utf8')));
  ok(files.length > 200, `${files.length} files`);
  equal(indexed, []);
});
