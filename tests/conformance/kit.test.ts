/** The kit itself: expected failures, reports, and the mistakes that it must find. */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  type Case,
  ConformanceError,
  casesOf,
  formatReport,
  type Peer,
  pairCases,
  runCases,
  SPECIFICATION,
  type Subject,
} from 'dlpack/conformance';
import { equal, ok, rejection, throws } from '../assert.js';
import { runtime, test, testWith } from '../harness.js';
import { conformance, fileOf } from './command.js';
import { environment } from './environment.js';
import { mistakes } from './mistakes.js';
import { nativeMistakes } from './native-mistakes.js';

const plain = fileOf('tests/conformance/plain/');
const { subjectOf } = (await import(pathToFileURL(join(plain, 'subject.mjs')).href)) as {
  subjectOf(library: object): Subject;
};

const tested = (id: string, run: Case['run'], level: Case['level'] = 'must'): Case => ({
  id,
  section: '1.1',
  level,
  title: 'follows a rule',
  since: SPECIFICATION,
  run,
});
const passing = tested('a.passes', async () => null);
const failing = tested('a.fails', async () => {
  throw new ConformanceError('a rule', 'it was <broken> | twice');
});
const weak = tested('a.weak', failing.run, 'should');
const skipped = tested('a.skipped', async () => 'no such memory');

/** The cases of a library that has everything. */
function allCases(): Case[] {
  const forms = ['buffer', 'external', 'gpuBuffer'] as const;
  const { name, producer, consumer } = subjectOf({}) as Required<Subject>;
  const sides = { producer: { ...producer, forms, makeOn: () => null }, consumer: { ...consumer, forms } };
  return casesOf({ name, ...sides }, { peer: {} as Peer });
}

test('ids are stable: none is gone, and a new one is listed with the version that brought it', () => {
  const list = fileOf('tests/conformance/ids.txt');
  const known = existsSync(list) ? readFileSync(list, 'utf8').trim().split('\n') : [];
  const now = allCases().map(({ id, since }) => `${id} ${since}`);
  equal(
    known.filter((line) => !now.includes(line)),
    [],
    'a rule that changed needs a new id, and lists of expected failures name the old one',
  );
  if (process.env.UPDATE) writeFileSync(list, `${now.join('\n')}\n`);
  else
    equal(
      now.filter((line) => !known.includes(line)),
      [],
      'run this test with UPDATE=1',
    );
});

test('ids are unique, and every case names a rule', () => {
  const cases = allCases();
  ok(cases.length > 400, `${cases.length} cases`);
  equal(new Set(cases.map(({ id }) => id)).size, cases.length);
  const specification = readFileSync(fileOf('docs/spec.md'), 'utf8');
  for (const { id, section, title } of cases) {
    const isRule =
      ['**', ' '].some((after) => specification.includes(`**${section}${after}`)) ||
      new RegExp(`^##+ ${section}\\.? `, 'm').test(specification);
    ok(isRule && title !== '', `${id} names section ${section}`);
  }
});

test('a must that fails decides, a should that fails does not, unless it is asked for', async () => {
  equal((await runCases([passing, skipped])).conforms, true);
  equal((await runCases([passing, failing])).conforms, false);
  equal((await runCases([passing, weak])).conforms, true);
  equal((await runCases([passing, weak], { level: 'should' })).conforms, false);
});

test('a run without a case that says something does not conform', async () => {
  const report = await runCases([skipped, skipped]);
  equal([report.conforms, (await runCases([])).conforms], [false, false]);
  const text = formatReport(report, 'text');
  ok(text.includes('every case was skipped: no such memory') && text.includes('does not conform'), text);
});

test('subjects with a misspelled form or without their function are errors', () => {
  const make = () => null;
  const wrong = (side: object) => casesOf({ name: 'wrong', producer: side as { make(): null } });
  throws('ValueError', 'buffer, external, gpuBuffer for producer.forms', () => wrong({ make, forms: ['bufer'] }));
  throws('TypeError', 'a function for producer.make', () => wrong({}));
  const consumer = { consume: 5 } as never;
  throws('TypeError', 'a function for consumer.consume', () => casesOf({ name: 'wrong', consumer }));
  throws('TypeError', 'a function for consumer.consume', () => pairCases([{ name: 'wrong', consumer }]));
});

test('expected failures: exactly those that happen', async () => {
  const outcome = async (expectFailures: Record<string, string>) => {
    const { conforms, results, unused } = await runCases([passing, failing], { expectFailures });
    return [conforms, results.map((result) => result.outcome), unused];
  };
  equal(await outcome({ 'a.fails': 'known' }), [true, ['passed', 'expected'], []]);
  equal(await outcome({ 'a.f*': 'known' }), [true, ['passed', 'expected'], []]);
  equal(await outcome({ 'a.*': 'known' }), [false, ['unexpected', 'expected'], []]);
  equal(await outcome({ 'a.fails': 'known', 'b.gone': 'known' }), [false, ['passed', 'expected'], ['b.gone']]);
});

test('reports: text, Markdown, JSON, JUnit and a badge', async () => {
  const report = await runCases([passing, failing, weak, skipped], { subject: 'mini <1>' });
  const text = formatReport(report, 'text');
  ok(text.includes('must 1.1 a.fails: follows a rule\n    Expected a rule but it was <broken> | twice'), text);
  ok(text.includes('mini <1> does not conform') && text.includes('1 passed, 2 failed, 1 skipped'), text);
  const markdown = formatReport(report, 'markdown');
  ok(markdown.includes('# Conformance of mini <1>') && markdown.includes('<broken> \\| twice'), markdown);
  ok(!markdown.includes(']('), 'links of this repository, in a report of another');
  equal(JSON.parse(formatReport(report, 'json')).counts.skipped, 1);
  const junit = formatReport(report, 'junit');
  ok(junit.includes('tests="4" failures="1" skipped="2"') && junit.includes('&lt;broken&gt;'), junit);
  ok(formatReport(report, 'svg').includes('does not conform'));
  throws('ValueError', 'markdown', () => formatReport(report, 'html' as 'svg'));
});

test('reports: a library whose errors have colours does not colour the terminal, and its XML is valid', async () => {
  const red = tested('a.red', async () => {
    throw new ConformanceError('a rule', 'it threw \u001b[31mred\u001b[0m\nand more');
  });
  const report = await runCases([red], { subject: '\u001b[31mred' });
  for (const format of ['text', 'markdown', 'junit'] as const) {
    const text = formatReport(report, format);
    ok(!text.includes('\u001b') && text.includes('\\u001b[31mred'), text);
  }
});

test('cases run in another process, if there is one', async () => {
  const report = await runCases([failing], { isolate: async ({ id }) => `${id} ran elsewhere` });
  equal(report.results[0]?.message, 'a.fails ran elsewhere');
});

test('an error of the library inside a check is a failure of that case', async () => {
  const broken = { name: 'broken', producer: { make: () => ({}) } };
  const [first] = casesOf(broken) as [Case];
  const error = await rejection<ConformanceError>(first.run());
  equal([error.tag, error.expected], ['ConformanceError', 'a function at Symbol.for("dlpack")']);
});

const text = readFileSync(join(plain, 'tensor.mjs'), 'utf8');

const original = subjectOf((await import(pathToFileURL(join(plain, 'tensor.mjs')).href)) as object);

/** Runs only the case that must fail, because most mistakes break many. */
async function finds(subject: Subject, id: string): Promise<string[]> {
  const all = id.startsWith('x.')
    ? pairCases([
        { ...original, name: 'plain' },
        { ...subject, name: 'changed' },
      ])
    : casesOf(subject, environment);
  const cases = all.filter((candidate) => candidate.id === id);
  const { results } = await runCases(cases);
  return results.filter(({ outcome }) => outcome === 'failed').map((result) => result.id);
}

test(`the kit finds each of ${mistakes.length} planted mistakes`, async () => {
  ok(mistakes.length >= 20);
  const folder = mkdtempSync(join(tmpdir(), 'dlpack-mistakes-'));
  try {
    const missed: string[] = [];
    for (const [i, { what, from, to, found }] of mistakes.entries()) {
      equal(text.split(from).length, 2, `${what}: its place in tensor.mjs`);
      const file = join(folder, `tensor-${i}.mjs`);
      writeFileSync(
        file,
        text.replace(from, () => to),
      );
      const library = (await import(pathToFileURL(file).href)) as object;
      if (!(await finds(subjectOf(library), found)).includes(found)) missed.push(`${what}: ${found}`);
      equal(await finds(original, found), [], found);
    }
    equal(missed, []);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

const cLibrary = readFileSync(fileOf('tests/conformance/c/tensor.c'), 'utf8');
const compiler = process.env.CC ?? 'cc';
const headers = fileOf('node_modules/node-api-headers/include');
const nativeMissing =
  (spawnSync(compiler, ['--version']).status !== 0 && 'a C compiler') || (process.platform !== 'linux' && 'Linux');

/** Runs one case on the C library with other text or other flags. */
function runChanged(text: string, flags: readonly string[], id: string) {
  const folder = mkdtempSync(join(tmpdir(), 'dlpack-mistakes-'));
  try {
    writeFileSync(join(folder, 'tensor.c'), text);
    const common = ['-std=c11', '-O1', '-w', '-fPIC', '-shared', `-I${headers}`];
    const addon = join(folder, 'tensor.node');
    const compiled = spawnSync(compiler, [...common, ...flags, join(folder, 'tensor.c'), '-o', addon], {
      encoding: 'utf8',
    });
    equal(compiled.status, 0, compiled.stderr);
    const subject = readFileSync(fileOf('tests/conformance/c/subject.mjs'), 'utf8');
    const changed = subject.replace('../../../build/native/conformance_c.node', './tensor.node');
    writeFileSync(join(folder, 'subject.mjs'), changed);
    return conformance([join(folder, 'subject.mjs'), '--only', id]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const pinned = ['-Wl,-z,nodelete'];

testWith(nativeMissing, `the kit finds each of ${nativeMistakes.length} mistakes in native code`, () => {
  const missed = nativeMistakes.filter(({ what, from, to, found }) => {
    equal(cLibrary.split(from).length, 2, `${what}: its place in tensor.c`);
    const { status, output } = runChanged(
      cLibrary.replace(from, () => to),
      pinned,
      found,
    );
    return status !== 1 || !output.includes(found);
  });
  equal(
    missed.map(({ what }) => what),
    [],
  );
});

// Only Node unloads an addon with the last worker that loaded it.
if (runtime === 'node') {
  testWith(nativeMissing, 'the kit finds a library that does not stay loaded', () => {
    const { status, output } = runChanged(cLibrary, [], 'np.worker.ended');
    ok(status === 1 && output.includes('SIGSEGV'), output);
  });
}
