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

/** Bytes, text and elements, the stack, and the block itself. */
const exempt = ['memory', 'bytes', 'elements', 'wire'].map((name) => `native/wire/${name}.ts`);
/** Gives the block to native code. */
const giver = 'native/load/load.ts';

const isGenerated = (file: string) => file.endsWith('wire-layout.ts');

/**
 * An element of an array over the wire, or arithmetic with a word. A sum of sizes is what a request takes. A word plus a size is a
 * place, which the table names (`end`, `at`, `below`).
 */
const computed =
  /\b[iuf](8|16|32|64)\[|\b(slot|word|at|base|top|cells?)(\(\))? [-+*/] |\b(?:enter\(.*\)|leave\(.*) [-+*/] /;

test('only functions that the table generates compute an index of the wire', () => {
  for (const line of [
    'u32[slot * 2 + X.Y]',
    'const start = at * 8 + 8;',
    'u8[start + i] = code;',
    'const start = enter(words) * 8;',
    'leave((start - VALUES) / 8);',
    'setTensorSlot(slot, slot + words);',
    'const slot = WireHeader.top() - TensorResult.WORDS;',
  ])
    ok(computed.test(line), line);
  const source = fileURLToPath(new URL('src/', root));
  const files = (readdirSync(source, { recursive: true }) as string[])
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => file.endsWith('.ts') && !isGenerated(file) && !exempt.includes(file));
  ok(files.length > 200, `${files.length} files`);
  const texts = files.map((file) => [file, readFileSync(source + file, 'utf8')] as const);
  const owners = texts.filter(([, text]) => /from '.*wire\/memory\.js'/.test(text)).map(([file]) => file);
  equal(owners, [giver], 'files with the memory of the wire');
  const users = texts.filter(([, text]) => /from '.*(wire-layout|wire\/\w+)\.js'/.test(text));
  ok(users.length > 40, `${users.length} files use the wire`);
  const code = (text: string) => text.replace(/^ *(\/\*\*[\s\S]*?\*\/|\/\/.*)\n/gm, '');
  const indexed = users.flatMap(([file, text]) =>
    code(text)
      .split('\n')
      .filter((line) => computed.test(line))
      .map((line) => `${file}: ${line.trim()}`),
  );
  equal(indexed, []);
});
