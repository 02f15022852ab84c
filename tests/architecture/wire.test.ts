import { readFileSync } from 'node:fs';
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

test('a CUDA message with a status and a device begins with them, as src/cuda/requests.ts expects', async () => {
  const { groups } = (await import(new URL('scripts/wire/messages.mjs', root).href)) as Table;
  const cuda = groups.find(({ messages }) => messages.some(({ name }) => name === 'DeviceRequest'))?.messages ?? [];
  const names = ({ fields }: (typeof cuda)[number]) => fields.map(([field]) => field);
  const requests = cuda.filter((message) => ['status', 'device'].every((field) => names(message).includes(field)));
  ok(requests.length > 10, `${requests.length} messages`);
  for (const message of requests) equal(names(message).slice(0, 2), ['status', 'device'], message.name);
});
