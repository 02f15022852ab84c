/**
 * docs/sizes.md: what a page and Node load, and the packed package. `UPDATE=1` writes it; the figures may drift by a tenth.
 * Those of the addons are measured where all eight are built (`npm run build:all`), and otherwise stay as they are.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { equal, ok } from '../assert.js';
import { test } from '../harness.js';
import { addonRows, type Row, restRow, root, subpathRows, sum } from './sizes.js';

const path = join(root, 'docs/sizes.md');
const kilobytes = (bytes: number): string => (bytes / 1000).toFixed(1);
const textOf = (rows: readonly Row[]): string =>
  rows.map(([name, ...bytes]) => `| ${[name, ...bytes.map(kilobytes)].join(' | ')} |`).join('\n');
/** The rows of all tables of a page, the pair of `textOf`. */
const rowsIn = (text: string): Row[] =>
  [...text.matchAll(/^\| (.*?) \|((?: [\d.]+ \|)+)$/gm)].map(([, name = '', cells = '']) => [
    name,
    ...(cells.match(/[\d.]+/g) ?? []).map((cell) => Number(cell) * 1000),
  ]);

test('docs/sizes.md has the size of each subpath, each addon and the packed package, which is at most 4 MB', () => {
  const written = () => rowsIn(readFileSync(path, 'utf8'));
  const { pages, node } = subpathRows();
  const { addons, allAddons } = addonRows(written());
  const rest = restRow();
  const packed = sum([allAddons, rest].map(([, , bytes = 0]) => bytes));
  console.log(`  packed ${packed} bytes`);
  ok(packed <= 4_000_000, `${packed} bytes`);
  if (process.env.UPDATE) {
    writeFileSync(
      path,
      `# Sizes

Everything here is in KB of 1,000 bytes. A test writes the tables.

## How much does a page load?

How much each subpath adds to a page, with everything that it exports and with the core that it needs. Two subpaths share their core,
and a bundler leaves out what you do not use.

| subpath | minified | minified and gzipped |
|---|---|---|
${textOf(pages)}

## How much does Node load?

These subpaths need Node, Bun or Deno. Their JavaScript is bundled in the same way, without the modules of Node and without the addon.

| subpath | minified | minified and gzipped |
|---|---|---|
${textOf(node)}

Node, Bun and Deno load one of the addons at the first tensor ([platforms](runtimes.md#platforms)):

| addon | size |
|---|---|
${textOf(addons)}

## How large is the package?

The packed package takes about ${(packed / 1e6).toFixed(1)} MB, with the addons of all platforms.

| part of the package | unpacked | packed |
|---|---|---|
${textOf([allAddons, rest])}
`,
    );
  }
  const now = [...pages, ...node, ...addons, allAddons, rest];
  const names = (rows: readonly Row[]) => rows.map(([name, ...bytes]) => `${name} ${bytes.length}`);
  equal(names(written()), names(now), 'UPDATE=1 npm test -- architecture/sizes writes the page');
  equal(addons.length, 8);
  for (const [i, [name, ...bytes]] of written().entries()) {
    for (const [j, figure] of bytes.entries()) {
      const measured = now[i]?.[j + 1] as number;
      const drift = `${name}: ${kilobytes(figure)} KB on the page, ${kilobytes(measured)} KB now; UPDATE=1 writes it`;
      ok(Math.abs(measured / figure - 1) < 0.1, drift);
    }
  }
});
