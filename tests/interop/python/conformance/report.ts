/** Writes docs/compatibility.md and its pages of libraries from the results of a run. */

import { type Cell, cellsOf, type Direction, type PeerRow, peers } from '../../../../src/cli/python-matrix/cells.js';
import type { Context } from '../../../../src/cli/python-matrix/lines.js';
import type { Found } from './findings.js';
import { type Known, known } from './known.js';

type Text = string;

const table = (head: readonly Text[], rows: readonly (readonly Text[])[]): Text =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');

/** An outcome as a reader sees it. */
function show(outcome: string | undefined): Text {
  if (outcome === undefined || outcome === 'absent') return '–';
  return outcome.replace(/^refused: (\w+)$/, '✗ $1').replace('; read-only imposed', ', becomes read-only');
}

const plainCell = ({ readonly, copy }: Cell) => !readonly && copy === null;

/** The cell that represents a group: a plain tensor of the peer's simplest shape. */
const layoutOf = ({ name }: PeerRow): string => (name === 'Arrow Array' ? 'vector' : 'matrix');
const dtypeOf = ({ name }: PeerRow): string => (name === 'ml_dtypes' ? 'bfloat16' : 'float32');

class Book {
  readonly #found: readonly Found[];
  readonly #contexts: readonly Context[];

  constructor(found: readonly Found[], contexts: readonly Context[]) {
    this.#found = found;
    this.#contexts = contexts;
  }

  version({ name }: PeerRow): Text {
    return this.#contexts.find(({ peer }) => peer === name)?.version ?? '';
  }

  outcomes(peer: PeerRow, wanted: (cell: Cell) => boolean): string[] {
    return this.#found.filter(({ cell }) => cell.peer === peer.name && wanted(cell)).map(({ outcome }) => outcome);
  }

  one(peer: PeerRow, direction: Direction, wanted: (cell: Cell) => boolean): string | undefined {
    const route = direction === 'to JavaScript' ? peer.gives[0] : peer.takes[0];
    return this.outcomes(peer, (cell) => cell.direction === direction && cell.route === route && wanted(cell))[0];
  }

  /** The peer's result for its own tensor. */
  itself(peer: PeerRow, wanted: (cell: Cell) => boolean): string | undefined {
    const own = this.#contexts.find((context) => context.peer === peer.name)?.itself ?? [];
    const cells = cellsOf(peer).filter(
      (cell) => cell.direction === 'from JavaScript' && cell.route === peer.takes[0] && plainCell(cell),
    );
    return own[cells.findIndex(wanted)];
  }

  applies(row: Known): number {
    return this.#found.filter((found) => found.row === row).length;
  }

  get size(): number {
    return this.#found.length;
  }

  get exchanged(): number {
    return this.#found.filter(({ outcome }) => outcome !== 'absent').length;
  }
}

const distinct = (values: readonly string[]): string[] => [...new Set(values)];

function summary(book: Book): Text {
  const rows = peers.map((peer) => {
    const at = (direction: Direction, readonly: boolean, copy: Cell['copy']) =>
      show(
        book.one(
          peer,
          direction,
          (cell) =>
            cell.dtype.name === dtypeOf(peer) &&
            cell.layout.name === layoutOf(peer) &&
            cell.readonly === readonly &&
            cell.copy === copy,
        ),
      );
    const shared = (direction: Direction) => {
      const names = cellsOf(peer)
        .filter((cell) => plainCell(cell) && cell.layout.name === layoutOf(peer))
        .map(({ dtype }) => dtype.name);
      return distinct(names).filter((name) =>
        book
          .one(peer, direction, (c) => plainCell(c) && c.dtype.name === name && c.layout.name === layoutOf(peer))
          ?.startsWith('shared'),
      ).length;
    };
    return [
      `[${peer.title}](compatibility/${pageOf(peer)})`,
      book.version(peer),
      at('to JavaScript', false, null),
      String(shared('to JavaScript')),
      at('to JavaScript', true, null),
      at('from JavaScript', false, null),
      String(shared('from JavaScript')),
      at('from JavaScript', true, null),
    ];
  });
  const head = ['library', 'version', 'to JavaScript', 'dtypes', 'read-only'];
  return table([...head, 'from JavaScript', 'dtypes', 'read-only'], rows);
}

/** The name of a library's page in docs/compatibility. */
export const pageOf = ({ title }: PeerRow): string =>
  `${title
    .toLowerCase()
    .replace(/[^\w -]/g, '')
    .replaceAll(' ', '-')}.md`;

/** One table with a row for each value of a property, the rest being plain. */
function byProperty(
  book: Book,
  peer: PeerRow,
  head: Text,
  names: readonly string[],
  is: (cell: Cell, name: string) => boolean,
): Text {
  const rows = names.map((name) => {
    const wanted = (cell: Cell) => plainCell(cell) && is(cell, name);
    return [
      name,
      show(book.one(peer, 'to JavaScript', wanted)),
      show(book.one(peer, 'from JavaScript', wanted)),
      show(book.itself(peer, wanted)),
    ];
  });
  return table([head, 'to JavaScript', 'from JavaScript', 'to itself'], rows);
}

function byRoute(book: Book, peer: PeerRow): Text {
  const requests: readonly (readonly [Text, boolean, Cell['copy']])[] = [
    ['writable', false, null],
    ['read-only', true, null],
    ['copy: true', false, true],
    ['copy: false', false, false],
    ['read-only, copy: true', true, true],
  ];
  const directions: readonly (readonly [Direction, readonly string[]])[] = [
    ['to JavaScript', peer.gives],
    ['from JavaScript', peer.takes],
  ];
  const rows = directions.flatMap(([direction, routes]) =>
    routes.map((route) => [
      direction,
      `\`${route}\``,
      ...requests.map(([, readonly, copy]) =>
        show(
          book.outcomes(
            peer,
            (cell) =>
              cell.direction === direction &&
              cell.route === route &&
              cell.dtype.name === dtypeOf(peer) &&
              cell.layout.name === layoutOf(peer) &&
              cell.readonly === readonly &&
              cell.copy === copy,
          )[0],
        ),
      ),
    ]),
  );
  return table(['direction', 'route', ...requests.map(([name]) => name)], rows);
}

/** The page of a library. */
function libraryPage(book: Book, peer: PeerRow): Text {
  const cells = cellsOf(peer);
  const dtypes = distinct(cells.map(({ dtype }) => dtype.name));
  const layouts = distinct(cells.map(({ layout }) => layout.name));
  const dtype = dtypeOf(peer);
  const layout = layoutOf(peer);
  return `# ${peer.title}

What ${peer.title} ${book.version(peer)} exchanges with JavaScript, and how. Each cell is the result of a test.
[Compatibility](../compatibility.md) explains the words, and its [known limits](../compatibility.md#known-limits) give the reason for
each exchange that is not simply shared.

## Dtypes

${byProperty(book, peer, `dtype (${layout})`, dtypes, (c, name) => c.dtype.name === name && c.layout.name === layout)}

## Layouts

${byProperty(book, peer, `layout (${dtype})`, layouts, (c, name) => c.layout.name === name && c.dtype.name === dtype)}

## Routes and requests

${byRoute(book, peer)}
`;
}

const titleOf = (name: string): Text => peers.find((peer) => peer.name === name)?.title ?? name;

function limits(book: Book): Text {
  const rows = known.map((row) => [
    row.peers.map(titleOf).join(', '),
    row.direction ?? 'both',
    row.what,
    show(row.outcome),
    `${row.why} ([more](${row.link}))`,
    String(book.applies(row)),
  ]);
  return table(['library', 'direction', 'what', 'result', 'reason', 'combinations'], rows);
}

function compatibility(book: Book): Text {
  return `# Compatibility

These pages show what each library exchanges with JavaScript, and how: a summary, and a page for each Python library in it. A test
(\`tests/interop/python/conformance\`) writes them, and fails when an exchange has another result than they say:
\`UPDATE=1 npm test -- conformance\`. The test tries every combination of library, direction, dtype, layout, read-only mark and request
for a copy, and many of them again by every other route.
It has ${book.size} combinations. In ${book.exchanged} of them a real tensor is exchanged, and in the others the library cannot hold such a tensor.

| word | means |
| --- | --- |
| shared | one memory: the address is the same, and each side reads what the other writes after the exchange |
| copied | two memories: the address differs, and neither side sees what the other writes |
| empty | no elements; shape and dtype arrived |
| as int32 | the values arrived, in another dtype |
| read-only lost | the other side can write to read-only memory |
| ✗ BufferError | refused with this error; nothing leaked |
| – | the library has no such tensor, or no such request |

Every exchange also proves that the values, the dtype, the shape and the strides are right, that memory marked as read-only cannot
be written, and that everything is released exactly once.

## Summary

A plain float32 tensor (bfloat16 for ml_dtypes) by the route that a user takes: \`fromDLPack(object)\` to JavaScript, the first
route on the library's page from JavaScript. *dtypes* counts those that are shared. The page of a library has its dtypes, layouts
and routes.

${summary(book)}

bytes, bytearray, memoryview and array.array have no DLPack: \`fromDLPack(np.frombuffer(object, kwargs({ dtype: 'float32' })))\`.

## Known limits

This table lists every exchange that is not simply shared, and the reason. The first row that applies to a combination decides, and
the last column counts the combinations for which a row decides. When a library improves, the test fails until its row is removed.

${limits(book)}
`;
}

/** Every page by its path in docs. */
export function writeReport(found: readonly Found[], contexts: readonly Context[]): ReadonlyMap<string, Text> {
  const book = new Book(found, contexts);
  return new Map([
    ['compatibility.md', compatibility(book)],
    ...peers.map((peer) => [`compatibility/${pageOf(peer)}`, libraryPage(book, peer)] as const),
  ]);
}
