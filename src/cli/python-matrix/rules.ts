/** The rules that a Python library keeps or breaks, found in the outcomes of its cells. */

import { type Case, ConformanceError, type Level, SPECIFICATION } from '../../conformance/case.js';
import type { Cell } from './cells.js';
import type { Outcome } from './lines.js';

export interface Found extends Outcome {
  readonly cell: Cell;
}

interface Rule {
  readonly id: string;
  /** The rule of docs/spec.md with the same meaning. */
  readonly section: string;
  readonly level: Level;
  readonly title: string;
  breaks(found: Found): boolean;
}

const isRefused = ({ outcome }: Found): boolean => outcome.startsWith('refused');
const notes =
  (pattern: RegExp) =>
  ({ outcome }: Found): boolean =>
    pattern.test(outcome);
const named = /^refused: (dlpack )?(BufferError|TypeError|ValueError|RuntimeError|NotImplementedError|\w*DTypeError)\b/;

const rules: readonly Rule[] = [
  {
    id: 'py.values',
    section: '3',
    level: 'must',
    title: 'exchanges shape and values unchanged',
    breaks: notes(/broken: (shape|values)/),
  },
  {
    id: 'py.memory',
    section: '2.1',
    level: 'must',
    title: 'shares memory where it says so: each side sees what the other writes',
    breaks: notes(/broken: (address|JavaScript|the peer|not writable)/),
  },
  {
    id: 'py.release',
    section: '5.2',
    level: 'must',
    title: 'releases everything, once',
    breaks: notes(/broken: .* alive/),
  },
  {
    id: 'py.readonly.kept',
    section: '3.3',
    level: 'must',
    title: 'does not write to read-only memory, and marks its own',
    breaks: notes(/read-only lost|read-only tensor was written/),
  },
  {
    id: 'py.readonly.imposed',
    section: '3.3',
    level: 'should',
    title: 'leaves writable memory writable',
    breaks: notes(/read-only imposed/),
  },
  {
    id: 'py.copy.true',
    section: '2.1',
    level: 'must',
    title: 'copies when a copy is asked for',
    breaks: ({ cell, outcome }) => cell.copy === true && outcome.startsWith('shared'),
  },
  {
    id: 'py.copy.false',
    section: '2.1',
    level: 'must',
    title: 'does not copy when none is allowed',
    breaks: ({ cell, outcome }) => cell.copy === false && outcome.startsWith('copied'),
  },
  {
    id: 'py.copy.null',
    section: '2.1',
    level: 'should',
    title: 'shares when it may',
    breaks: ({ cell, outcome }) => cell.copy === null && outcome.startsWith('copied'),
  },
  {
    id: 'py.strides',
    section: '3.7',
    level: 'must',
    title: 'keeps the strides of shared memory',
    breaks: notes(/; strides /),
  },
  {
    id: 'py.dtype',
    section: '3.8',
    level: 'must',
    title: 'keeps the dtype, or refuses it',
    breaks: notes(/; as /),
  },
  {
    id: 'py.layout',
    section: '3.7',
    level: 'should',
    title: 'takes float32 in every layout',
    breaks: (found) => found.cell.dtype.name === 'float32' && found.cell.copy === null && isRefused(found),
  },
  {
    id: 'py.error',
    section: '6.2',
    level: 'should',
    title: 'refuses with an error that says what cannot be exchanged',
    breaks: (found) => isRefused(found) && !named.test(found.outcome),
  },
];

const nameOf = ({ direction, route, dtype, layout, readonly, copy }: Cell): string =>
  `${direction}, ${route}, ${dtype.name}, ${layout.name}${readonly ? ', read-only' : ''}, copy ${copy}`;

/** One case for each rule, and one for the process. `crash` says how it ended, if not well. */
export function casesOfMatrix(found: readonly Found[], crash: string | null): Case[] {
  const lives: Case = {
    id: 'py.process',
    section: '5.2',
    level: 'must',
    title: 'does not end the process',
    since: SPECIFICATION,
    run: async () => {
      if (crash !== null) throw new ConformanceError('a process that ends by itself', crash);
      return null;
    },
  };
  const exchanged = found.filter(({ outcome }) => outcome !== 'absent');
  return [
    lives,
    ...rules.map(({ breaks, ...rule }) => ({
      ...rule,
      since: SPECIFICATION,
      run: async () => {
        const broken = exchanged.filter(breaks);
        const [first] = broken as [Found?];
        if (first === undefined) return exchanged.length === 0 ? 'nothing was exchanged' : null;
        const example = `${nameOf(first.cell)}: ${first.outcome}${first.message && ` (${first.message})`}`;
        throw new ConformanceError(
          `all of ${exchanged.length} exchanges to keep the rule`,
          `${broken.length} break it, such as ${example}`,
        );
      },
    })),
  ];
}
