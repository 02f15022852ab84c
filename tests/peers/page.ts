/** The tables of more Python libraries in docs/compatibility.md: one row for each library and route. */

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Cell, Direction, PeerRow } from '../../src/cli/python-matrix/cells.js';
import { equal } from '../assert.js';

export interface Found {
  readonly cell: Cell;
  readonly outcome: string;
}

const document = fileURLToPath(new URL('../../../docs/compatibility.md', import.meta.url));
const headings: Readonly<Record<Direction, string>> = {
  'to JavaScript': '### More libraries: to JavaScript',
  'from JavaScript': '### More libraries: from JavaScript',
};
const directions = Object.keys(headings) as Direction[];

const show = (outcome: string): string =>
  outcome.replace(/^refused: (?:dlpack )?(\w+)$/, '✗ $1').replace('; read-only imposed', ', becomes read-only');

/** Names with the same outcome together: `shared: int8 int16; ✗ TypeError: bool`. */
function grouped(found: readonly Found[], nameOf: (cell: Cell) => string): string {
  const groups = new Map<string, string[]>();
  for (const { cell, outcome } of found) {
    if (outcome === 'absent') continue;
    const shown = show(outcome);
    groups.set(shown, [...(groups.get(shown) ?? []), nameOf(cell)]);
  }
  return [...groups].map(([shown, names]) => `${shown}: ${names.join(' ')}`).join('; ') || '–';
}

const isExchanged = ({ outcome }: Found): boolean => /^(shared|copied)/.test(outcome);

/** The rows of a library, for each direction. */
export function rowsOf(peer: PeerRow, version: string, found: readonly Found[]): Readonly<Record<Direction, string[]>> {
  const rowOf = (direction: Direction, route: string): string => {
    const all = found.filter(({ cell }) => cell.direction === direction && cell.route === route);
    const plain = all.filter(({ cell }) => !cell.readonly && cell.copy === null);
    const isMatrix = plain.some((one) => one.cell.layout.name === 'matrix' && isExchanged(one));
    const layout = isMatrix ? 'matrix' : 'vector';
    const float32 = ({ cell }: Found) => cell.dtype.name === 'float32';
    const request = (readonly: boolean, copy: Cell['copy']): string =>
      grouped(
        all.filter(
          (one) =>
            float32(one) && one.cell.layout.name === layout && one.cell.readonly === readonly && one.cell.copy === copy,
        ),
        () => '',
      ).replace(/: $/, '');
    const dtypes = plain.filter(({ cell }) => cell.layout.name === layout);
    const cells = [
      peer.title,
      version,
      `\`${route}\``,
      grouped(dtypes, ({ dtype }) => dtype.name),
      grouped(plain.filter(float32), (cell) => cell.layout.name.replaceAll(' ', '\u00a0')),
      request(true, null),
      request(false, true),
      request(false, false),
    ];
    return `| ${cells.join(' | ')} |`;
  };
  return {
    'to JavaScript': peer.gives.map((route) => rowOf('to JavaScript', route)),
    'from JavaScript': peer.takes.map((route) => rowOf('from JavaScript', route)),
  };
}

/** Where the rows of a library begin and end in the table below a heading. */
function rowsIn(lines: readonly string[], direction: Direction, { title }: PeerRow): { from: number; to: number } {
  const heading = lines.indexOf(headings[direction]);
  equal(heading > 0, true, `docs/compatibility.md has the heading "${headings[direction]}"`);
  const end = lines.findIndex((line, i) => i > heading && line.startsWith('#'));
  const isOurs = (line: string, i: number) => i > heading && i < end && line.startsWith(`| ${title} |`);
  const last = lines.findLastIndex((line, i) => i > heading && i < end && line.startsWith('| ')) + 1;
  const from = lines.findIndex(isOurs);
  return from < 0 ? { from: last, to: last } : { from, to: lines.findLastIndex(isOurs) + 1 };
}

/** Compares the rows of a library with the page. With UPDATE it writes them first. */
export function checkPage(peer: PeerRow, rows: Readonly<Record<Direction, string[]>>): void {
  for (const direction of directions) {
    const lines = readFileSync(document, 'utf8').split('\n');
    const { from, to } = rowsIn(lines, direction, peer);
    const committed = lines.slice(from, to);
    if (process.env.UPDATE) {
      lines.splice(from, to - from, ...rows[direction]);
      writeFileSync(document, lines.join('\n'));
    } else equal(committed, rows[direction], 'docs/compatibility.md; look at it, then: UPDATE=1 npm run test:peers');
  }
}
