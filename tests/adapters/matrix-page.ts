/** The table of JavaScript libraries in docs/compatibility.md. Two tests write it, each the rows of its runtime. */

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { equal } from '../assert.js';

const document = fileURLToPath(new URL('../../../docs/compatibility.md', import.meta.url));
const heading = '\n## JavaScript libraries\n';
const isTable = (line: string): boolean => line.startsWith('| ') && !/^\| (library|---) /.test(line);

/** The rows of the committed table whose last cell starts with `where`. */
export function committedRows(where: string): string[] {
  const [, table = ''] = readFileSync(document, 'utf8').split(heading);
  return table.split('\n').filter((line) => isTable(line) && line.split(' | ').at(-1)?.startsWith(where));
}

/** Compares rows with the committed rows for `where`. With UPDATE it writes them first, and other rows keep their place. */
export function checkRows(where: string, found: readonly string[]): void {
  if (process.env.UPDATE) {
    const [head = '', table = ''] = readFileSync(document, 'utf8').split(heading);
    const lines = table.split('\n');
    const old = new Set(committedRows(where));
    const at = lines.findIndex((line) => old.has(line));
    const place = at < 0 ? lines.findLastIndex((line) => line.startsWith('| ')) + 1 : at;
    const kept = lines.filter((line) => !old.has(line));
    kept.splice(place, 0, ...found);
    writeFileSync(document, [head, kept.join('\n')].join(heading));
  }
  equal(committedRows(where), [...found], 'the table of docs/compatibility.md:');
}
