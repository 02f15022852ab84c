/** The results of a run, compared with the expected results. */

import { type Cell, cellsOf, peers } from '../../../../src/cli/python-matrix/cells.js';
import type { Finding } from '../../../../src/cli/python-matrix/lines.js';
import { type Known, known } from './known.js';

export interface Found {
  readonly cell: Cell;
  readonly outcome: string;
  readonly message: string;
  /** The row of the known limits that applies. */
  readonly row: Known | undefined;
}

/** The row of the known limits for a cell. */
export function rowOf(cell: Cell): Known | undefined {
  return known.find(
    ({ peers: names, direction, when }) =>
      names.includes(cell.peer) && (direction === undefined || direction === cell.direction) && when(cell),
  );
}

/** The outcome that the tables expect of a cell. */
export function expectedOf(cell: Cell, row: Known | undefined): string {
  const outcome = row?.outcome ?? (cell.copy === true ? 'copied' : 'shared');
  if (!cell.layout.shape.includes(0)) return outcome;
  // Without elements there is nothing to share, copy or protect; a dtype is still converted.
  if (!/^(shared|copied)/.test(outcome)) return outcome;
  return ['empty', ...outcome.split('; ').filter((note) => note.startsWith('as '))].join('; ');
}

/** Cells with their outcomes. */
export function join(findings: readonly Finding[]): Found[] {
  const byKey = new Map(findings.map((finding) => [`${finding.peer}|${finding.key}`, finding.outcomes]));
  const next = new Map<string, number>();
  return peers.flatMap((peer) =>
    cellsOf(peer).flatMap((cell): Found[] => {
      const key = `${cell.peer}|${cell.direction}|${cell.route}`;
      const at = next.get(key) ?? 0;
      next.set(key, at + 1);
      const outcome = byKey.get(key)?.[at];
      return outcome === undefined ? [] : [{ cell, ...outcome, row: rowOf(cell) }];
    }),
  );
}

const nameOf = ({ peer, direction, route, dtype, layout, readonly, copy }: Cell): string =>
  `${peer}, ${direction}, ${route}, ${dtype.name}, ${layout.name}${readonly ? ', read-only' : ''}, copy ${copy}`;

/** Every cell that differs from the expected result, in words. */
export function surprises(found: readonly Found[]): string[] {
  return found.flatMap(({ cell, outcome, message, row }) => {
    const expected = expectedOf(cell, row);
    const said = outcome === expected && row?.message !== undefined && outcome.startsWith('refused');
    if (outcome === expected && (!said || message.includes(row?.message as string))) return [];
    return [`${nameOf(cell)}: expected ${expected} (${row?.message ?? ''}) but found ${outcome} (${message})`];
  });
}

/** Rows of the known limits that no cell needs. */
export function idleRows(found: readonly Found[]): string[] {
  const used = new Set(found.map(({ row }) => row));
  return known.filter((row) => !used.has(row)).map(({ peers: names, what }) => `${names.join(', ')}: ${what}`);
}
