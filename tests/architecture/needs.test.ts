/** `npm test -- folder` prepares what the files of the folder use, and nothing is forgotten. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { equal, ok } from '../assert.js';
import { test } from '../harness.js';

const root = new URL('../../../', import.meta.url);
const folder = fileURLToPath(new URL('tests/', root));

interface Needs {
  steps: Record<string, { sign: RegExp }>;
  needs: Record<string, string[]>;
  needsOf(file: string): string[];
}
const { steps, needs, needsOf } = (await import(new URL('scripts/lib/needs.mjs', root).href)) as Needs;

/** Folders with a command of their own, which prepares everything. */
const apart = ['bundlers', 'cluster', 'gpu', 'peers'];

const files = readdirSync(folder, { recursive: true })
  .map((file) => String(file).replaceAll('\\', '/'))
  .filter((file) => file.endsWith('.test.ts') && !apart.includes(file.split('/')[0] as string));

/** The text of a test file and of all files of tests/ that it imports or starts. */
function textOf(file: string, found = new Set<string>()): string {
  if (found.has(file) || !existsSync(join(folder, file))) return '';
  found.add(file);
  const text = readFileSync(join(folder, file), 'utf8');
  const others = [...text.matchAll(/['"`](\.\.?\/[^'"`]+)\.js['"`]/g)];
  return text + others.map(([, path]) => textOf(join(dirname(file), `${path}.ts`), found)).join('');
}

test('the table names every folder of tests, and only folders and steps that exist', () => {
  const folders = new Set(files.map((file) => file.split('/')[0] as string));
  equal(new Set(Object.keys(needs).map((start) => start.split('/')[0])), folders);
  for (const start of Object.keys(needs))
    ok(
      files.some((file) => file.startsWith(start)),
      start,
    );
  for (const name of Object.values(needs).flat()) ok(name in steps, name);
});

test('a file needs what its text shows', () => {
  const missing = files.flatMap((file) => {
    const text = textOf(file);
    const named = needsOf(file);
    return Object.entries(steps)
      .filter(([name, { sign }]) => sign.test(text) && !named.includes(name))
      .map(([name]) => `${file}: ${name}`);
  });
  equal(missing, []);
});

test('unit tests need nothing beside the package and its addon', () => {
  for (const file of files.filter((name) => name.startsWith('unit/'))) equal(needsOf(file), [], file);
});
