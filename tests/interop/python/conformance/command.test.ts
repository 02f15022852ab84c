/** npx dlpack conformance --python: the rules that outcomes break, and whole runs against libraries of two environments. */

import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Cell, cellsOf, peers } from '../../../../src/cli/python-matrix/cells.js';
import { casesOfMatrix } from '../../../../src/cli/python-matrix/rules.js';
import { equal, ok } from '../../../assert.js';
import { conformance, fileOf } from '../../../conformance/command.js';
import { test, testWith } from '../../../harness.js';
import { pythonMissing } from '../available.js';

const cells = peers.flatMap((peer) => cellsOf(peer));
const cellWith = (wanted: Partial<Cell>): Cell => {
  const { dtype: _, ...rest } = wanted;
  const found = cells.find(
    (cell) =>
      cell.dtype.name === 'float32' && Object.entries(rest).every(([key, value]) => cell[key as keyof Cell] === value),
  );
  ok(found !== undefined, JSON.stringify(rest));
  return found as Cell;
};

/** The ids of the rules that one outcome breaks. */
async function broken(outcome: string, wanted: Partial<Cell> = {}, crash: string | null = null): Promise<string[]> {
  const cases = casesOfMatrix([{ cell: cellWith(wanted), outcome, message: '' }], crash);
  const ids = await Promise.all(
    cases.map(({ id, run }) =>
      run().then(
        () => '',
        () => id,
      ),
    ),
  );
  return ids.filter((id) => id !== '');
}

test('each outcome of an exchange breaks its rules, and no other', async () => {
  const expected: [rules: string[], outcome: string, cell?: Partial<Cell>][] = [
    [[], 'shared'],
    [[], 'absent'],
    [[], 'refused: BufferError'],
    [['py.values'], 'shared; broken: values'],
    [['py.memory'], 'shared; broken: address'],
    [['py.release'], 'shared; broken: 1 alive'],
    [['py.readonly.kept'], 'shared; read-only lost'],
    [['py.readonly.imposed'], 'shared; read-only imposed'],
    [['py.copy.true'], 'shared', { copy: true }],
    [['py.copy.false'], 'copied', { copy: false }],
    [['py.copy.null'], 'copied', { copy: null }],
    [['py.strides'], 'shared; strides [1]'],
    [['py.dtype'], 'shared; as float64'],
    [['py.layout'], 'refused: BufferError', { copy: null }],
    [['py.error'], 'refused: SystemError', { copy: false }],
  ];
  for (const [rules, outcome, cell = { copy: false }] of expected) {
    equal(await broken(outcome, cell), rules, `${outcome} ${JSON.stringify(cell)}`);
  }
  equal(await broken('shared', { copy: false }, 'it ended with SIGSEGV during torch'), ['py.process']);
});

test('a run without any exchange has shown nothing', async () => {
  const [, ...rules] = casesOfMatrix([], null);
  equal(
    await Promise.all(rules.map(({ run }) => run())),
    rules.map(() => 'nothing was exchanged'),
  );
});

const oldMissing = pythonMissing || (!existsSync(fileOf('.venv-numpy1/pyvenv.cfg')) && 'NumPy 1 in .venv-numpy1');

/** A whole run on one library, with a report. */
function reportOf(name: string, venv: string) {
  const folder = mkdtempSync(join(tmpdir(), 'dlpack-matrix-'));
  try {
    const file = join(folder, 'report.json');
    const { status, output } = conformance(['--python', name, '--venv', fileOf(venv), '--report', file]);
    ok(existsSync(file), output);
    const report = JSON.parse(readFileSync(file, 'utf8')) as {
      subject: string;
      conforms: boolean;
      counts: Record<string, number>;
      results: { id: string; outcome: string; message: string }[];
    };
    return { status, output, ...report };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

testWith(pythonMissing, 'a library of the environment: thousands of exchanges, progress, a report', () => {
  const { status, output, subject, conforms, results } = reportOf('ml_dtypes', '.venv');
  equal([status, conforms, subject.startsWith('ml_dtypes ')], [0, true, true], output);
  ok(results.length === 13 && results.every(({ outcome }) => outcome !== 'skipped'), JSON.stringify(results));
  const lines = output.match(/^\d+ of (\d+): /gm) ?? [];
  ok(lines.length >= 10 && Number(/of (\d+)/.exec(lines[0] as string)?.[1]) > 1000, output);
});

testWith(oldMissing, 'an old version breaks rules, which the report names with an example', () => {
  const { status, output, subject, counts, results } = reportOf('numpy', '.venv-numpy1');
  ok(subject.startsWith('NumPy 1.'), subject);
  const failed = results.filter(({ outcome }) => outcome === 'failed');
  ok(failed.length > 0 && failed.length === counts.failed, output);
  for (const { id, message } of failed) ok(/\d+ break it, such as .*float|bool|int/.test(message), `${id}: ${message}`);
  equal(status, results.some(({ id, outcome }) => outcome === 'failed' && isMust(id)) ? 1 : 0);
});

const musts = casesOfMatrix([], null).filter(({ level }) => level === 'must');
const isMust = (id: string): boolean => musts.some((rule) => rule.id === id);
