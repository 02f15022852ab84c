/** Runs cases, and compares their results with the failures that are expected. */

import { ArgumentTypeError, textOf } from '../errors.js';
import { type Case, type Level, SPECIFICATION } from './case.js';

/**
 * `expected`: it failed, as the author said. `unexpected`: it passed, although the author said that it fails, so the
 * expectation is out of date.
 */
export type Outcome = 'passed' | 'failed' | 'skipped' | 'expected' | 'unexpected';

/** What became of one case. */
export interface Result extends Pick<Case, 'id' | 'section' | 'level' | 'title' | 'since'> {
  /** Whether it passed. */
  readonly outcome: Outcome;
  /** What was expected and what came, or why the case was skipped. Empty if it passed. */
  readonly message: string;
}

/** What became of all cases. */
export interface Report {
  /** The version of docs/spec.md that the cases follow. */
  readonly specification: string;
  /** The name of the library. */
  readonly subject: string;
  /** Where the cases ran, such as `Node 24.4.0`. */
  readonly runtime: string;
  /** No must failed, the expected failures are exactly those that happened, and not every case was skipped. */
  readonly conforms: boolean;
  /** The number of cases for each outcome. */
  readonly counts: Readonly<Record<Outcome, number>>;
  /** Expected failures that name no case. */
  readonly unused: readonly string[];
  /** The results, in the order of the cases. */
  readonly results: readonly Result[];
}

/** How {@link runCases} runs the cases. */
export interface RunCasesOptions {
  /** The name of the library, for the report; empty when absent. */
  readonly subject?: string;
  /** Ids, or beginnings of ids with a `*`, each with the reason why such cases fail; none when absent. */
  readonly expectFailures?: Readonly<Record<string, string>>;
  /** `'should'`: failures of these rules count, too. The default is `'must'`. */
  readonly level?: Level;
  /** Runs a case in another process, which may crash. Without it the cases run in this process. */
  readonly isolate?: (tested: Case) => Promise<string | null>;
  /** Called with each result; nothing when absent. */
  readonly onResult?: (result: Result, done: number, all: number) => void;
}

const matches = (pattern: string, id: string): boolean =>
  pattern.endsWith('*') ? id.startsWith(pattern.slice(0, -1)) : id === pattern;

/**
 * Runs cases one after the other. A case that fails does not stop the others.
 *
 * @param cases - What {@link casesOf} returns, or a part of it.
 * @param options - Which failures are expected, and how to run a case that may crash.
 * @returns What became of each case, and whether the library conforms.
 * @throws ArgumentTypeError if `cases` is no array.
 * @example
 * ```ts
 * import { Tensor } from 'dlpack';
 * import { casesOf, runCases } from 'dlpack/conformance';
 * const make = ({ bytes, shape }: { bytes: Uint8Array; shape: readonly number[] }) =>
 *   Tensor.wrap(bytes.slice().buffer, { dtype: 'float32', shape });
 * const cases = casesOf({ name: 'mine', producer: { make: (it) => (it.name === 'f32' ? make(it) : null) } });
 * console.log((await runCases(cases, { subject: 'mine' })).counts.failed); // 0
 * ```
 */
export async function runCases(cases: readonly Case[], options: RunCasesOptions = {}): Promise<Report> {
  if (!Array.isArray(cases)) throw new ArgumentTypeError('cases', 'an array of cases', cases);
  const { subject = '', expectFailures = {}, level = 'must', isolate, onResult } = options;
  const patterns = Object.keys(expectFailures);
  const results: Result[] = [];
  for (const tested of cases) {
    const pattern = patterns.find((candidate) => matches(candidate, tested.id));
    const run = () => (isolate === undefined ? tested.run() : isolate(tested));
    const { id, section, title, since } = tested;
    const { outcome, message } = await outcomeOf(run, pattern === undefined ? undefined : expectFailures[pattern]);
    const result = { id, section, level: tested.level, title, since, outcome, message };
    results.push(result);
    onResult?.(result, results.length, cases.length);
  }
  const counts = { passed: 0, failed: 0, skipped: 0, expected: 0, unexpected: 0 };
  for (const { outcome } of results) counts[outcome]++;
  const unused = patterns.filter((pattern) => !cases.some(({ id }) => matches(pattern, id)));
  const isBroken = results.some(
    (result) => result.outcome === 'failed' && (level === 'should' || result.level === 'must'),
  );
  // A subject that makes no tensor for the cases has shown nothing.
  const hasShown = counts.skipped < results.length;
  const conforms = hasShown && !isBroken && counts.unexpected === 0 && unused.length === 0;
  return { specification: SPECIFICATION, subject, runtime: runtimeName(), conforms, counts, unused, results };
}

function runtimeName(): string {
  const { process, navigator, HermesInternal } = globalThis as {
    process?: { versions?: Record<string, string> };
    navigator?: { userAgent?: string };
    HermesInternal?: { getRuntimeProperties(): Record<string, string> };
  };
  const versions = process?.versions ?? {};
  const found = (
    [
      ['Bun', versions.bun],
      ['Deno', versions.deno],
      ['Node', versions.node],
      ['Hermes', HermesInternal?.getRuntimeProperties()['OSS Release Version']],
    ] as const
  ).find(([, version]) => version !== undefined);
  return found === undefined ? (navigator?.userAgent ?? 'unknown') : found.join(' ');
}

async function outcomeOf(
  run: () => Promise<string | null>,
  reason: string | undefined,
): Promise<Pick<Result, 'outcome' | 'message'>> {
  let skipped: string | null;
  try {
    skipped = await run();
  } catch (error) {
    const message = error instanceof Error ? error.message : textOf(error);
    return reason === undefined
      ? { outcome: 'failed', message }
      : { outcome: 'expected', message: `${reason} (${message})` };
  }
  if (skipped !== null) return { outcome: 'skipped', message: skipped };
  return reason === undefined
    ? { outcome: 'passed', message: '' }
    : { outcome: 'unexpected', message: `expected to fail: ${reason}` };
}
