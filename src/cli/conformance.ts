/** dlpack conformance: runs the cases of dlpack/conformance on a library. */

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { extname, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type Case, ConformanceError } from '../conformance/case.js';
import {
  casesOf,
  type Environment,
  type Form,
  formatReport,
  type ReportFormat,
  type RunCasesOptions,
  runCases,
  type Subject,
} from '../conformance/index.js';
import { hasForm } from '../conformance/subject.js';
import { nativeStatus } from '../native/load/load.js';
import { conformancePeer } from '../native/peer.js';
import { afterWorker, runtimeArgs } from './after-worker.js';
import { type Command, paint, parse, UsageError } from './command.js';
import { peerNames, runMatrix } from './python-matrix/run.js';
import { serveCells } from './python-matrix/serve.js';

const formatOf: Readonly<Record<string, ReportFormat>> = {
  '.txt': 'text',
  '.md': 'markdown',
  '.json': 'json',
  '.xml': 'junit',
  '.svg': 'svg',
};

/** Each report's path with its format, by its ending. */
function reportsOf(list: string | undefined): [path: string, format: ReportFormat][] {
  if (list === undefined) return [];
  return list.split(',').map((path) => {
    const format = formatOf[extname(path)];
    if (format !== undefined) return [path, format];
    throw new UsageError(`expected a file that ends in ${Object.keys(formatOf).join(', ')} but received "${path}"`);
  });
}

/** The subject that a module exports as its default. */
async function loadSubject(path: string): Promise<Subject> {
  const module = (await import(pathToFileURL(resolve(path)).href)) as { default?: Partial<Subject> };
  const { default: subject } = module;
  if (typeof subject?.name !== 'string' || (subject.producer === undefined && subject.consumer === undefined)) {
    throw new UsageError(`expected "${path}" to export { name, producer, consumer } as its default`);
  }
  return subject as Subject;
}

/** The collector of the runtime, which programs normally cannot call. */
function collector(): () => void {
  const { Bun } = globalThis as { Bun?: { gc(force: boolean): void } };
  if (Bun !== undefined) return () => Bun.gc(true);
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}

const has = ({ producer, consumer }: Subject, form: Form): boolean =>
  hasForm(producer, form) || hasForm(consumer, form);

/** What this process lends to the cases. The cases of the parent, which never run there, need no GPUDevices. */
async function environmentOf(subject: Subject, path: string, runs: boolean): Promise<Environment> {
  const { gpuDevice } = subject;
  const { loaded, path: addon } = nativeStatus();
  return {
    collect: collector(),
    evaluate: (code) => runInNewContext(code),
    // A library in plain JavaScript needs no native code: without it one case is skipped.
    ...(loaded || has(subject, 'external')
      ? { peer: conformancePeer(), afterWorker: afterWorker(resolve(path), addon as string) }
      : {}),
    ...(runs && gpuDevice !== undefined
      ? { gpuDevices: [await gpuDevice(), await gpuDevice()] as const, makeGPUDevice: gpuDevice }
      : {}),
  };
}

/** A process that runs the cases whose ids it reads. A library that crashes ends it, and the next case starts another. */
class CaseRunner {
  readonly #args: readonly string[];
  #child: ChildProcessWithoutNullStreams | null = null;

  constructor(path: string) {
    this.#args = [...runtimeArgs, fileURLToPath(import.meta.url), 'conformance', path, '--serve'];
  }

  run({ id }: Case): Promise<string | null> {
    this.#child ??= spawn(process.execPath, this.#args, { stdio: 'pipe' });
    const child = this.#child;
    return new Promise((settle, reject) => {
      let [output, errors] = ['', ''];
      const onErrors = (text: Buffer) => {
        errors += text;
      };
      const onOutput = (text: Buffer) => {
        output += text;
        const line = /^RESULT (.*)\n/m.exec(output)?.[1];
        if (line === undefined) return;
        finish();
        const { skipped, expected, received } = JSON.parse(line) as Record<string, string | null>;
        if (typeof expected === 'string') reject(new ConformanceError(expected, String(received)));
        else settle(skipped ?? null);
      };
      const onClose = (code: number | null, signal: string | null) => {
        finish();
        this.#child = null;
        const last = errors.trim().split('\n').at(-1);
        reject(
          new ConformanceError('a process that lives', `it ended with ${signal ?? code}${last ? `: ${last}` : ''}`),
        );
      };
      const finish = () => {
        child.stdout.off('data', onOutput);
        child.stderr.off('data', onErrors);
        child.off('close', onClose);
      };
      child.stdout.on('data', onOutput);
      child.stderr.on('data', onErrors);
      child.on('close', onClose);
      child.stdin.write(`${id}\n`);
    });
  }

  end(): void {
    this.#child?.stdin.end();
  }
}

/** The other end of {@link CaseRunner}. */
async function serve(subject: Subject, environment: Environment): Promise<number> {
  const cases = new Map(casesOf(subject, environment).map((tested) => [tested.id, tested]));
  for await (const id of createInterface({ input: process.stdin })) {
    let result: object;
    try {
      result = { skipped: await (cases.get(id) as Case).run() };
    } catch (error) {
      const { expected, received } = error as ConformanceError;
      result = { expected, received };
    }
    process.stdout.write(`RESULT ${JSON.stringify(result)}\n`);
  }
  return 0;
}

const options = {
  only: 'string',
  expect: 'string',
  level: 'string',
  report: 'string',
  serve: 'boolean',
  python: 'string',
  venv: 'string',
} as const;

type Values = { readonly [K in keyof typeof options]?: (typeof options)[K] extends 'boolean' ? boolean : string };

/** The ids of cases that are known to fail, each with the reason. */
function expectedIn(path: string): Record<string, string> {
  const text = readFileSync(path, 'utf8');
  let listed: unknown;
  try {
    listed = JSON.parse(text);
  } catch {
    listed = null;
  }
  if (typeof listed === 'object' && listed !== null && !Array.isArray(listed)) return listed as Record<string, string>;
  throw new UsageError(`expected a JSON object such as { "p.symbol": "the reason" } in "${path}"`);
}

/**
 * Shows progress on standard error, because standard output carries the report: on a terminal in place, elsewhere a line
 * for each tenth, so that a log shows that the command goes on.
 */
function progressBar(): (done: number, all: number, what: string) => void {
  let tenth = 0;
  return (done, all, what) => {
    const text = `${done} of ${all}: ${what}`;
    if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${done === all ? '' : text}`);
    else if (Math.floor((done * 10) / all) > tenth) {
      tenth = Math.floor((done * 10) / all);
      process.stderr.write(`${text}\n`);
    }
  };
}

/** Runs cases, writes the reports, and returns the exit code. */
async function report(cases: readonly Case[], values: Values, more: RunCasesOptions): Promise<number> {
  const { level = 'must', only = '' } = values;
  if (level !== 'must' && level !== 'should') {
    throw new UsageError(`expected must or should for --level but received "${level}"`);
  }
  const reports = reportsOf(values.report);
  const chosen = cases.filter(({ id }) => id.startsWith(only));
  if (chosen.length === 0) throw new UsageError(`expected the beginning of an id for --only but received "${only}"`);
  const listed = values.expect === undefined ? {} : expectedIn(values.expect);
  const progress = progressBar();
  const result = await runCases(chosen, {
    ...more,
    level,
    expectFailures: { ...more.expectFailures, ...listed },
    onResult: ({ id }, done, all) => progress(done, all, id),
  });
  for (const [file, format] of reports) writeFileSync(file, formatReport(result, format));
  process.stdout.write(paint(result.conforms ? 'green' : 'red', formatReport(result, 'text')));
  return result.conforms ? 0 : 1;
}

async function runSubject(subject: Subject, path: string, values: Values): Promise<number> {
  const runner = new CaseRunner(path);
  const { name, expectFailures = {} } = subject;
  const isolate = (tested: Case) => runner.run(tested);
  try {
    return await report(casesOf(subject, await environmentOf(subject, path, false)), values, {
      subject: name,
      expectFailures,
      isolate,
    });
  } finally {
    runner.end();
  }
}

/** The exchanges of Python libraries with this package. */
async function runPython(list: string, values: Values): Promise<number> {
  const names = peerNames(list);
  if (values.serve) return serveCells(names, values.venv);
  const venv = values.venv === undefined ? [] : ['--venv', values.venv];
  const self = [...runtimeArgs, fileURLToPath(import.meta.url), 'conformance', '--python', list, '--serve', ...venv];
  const { subject, cases } = await runMatrix(names, self, progressBar());
  return report(cases, values, { subject });
}

export const command: Command = {
  help: `Usage: dlpack conformance <subject.mjs> [options]
       dlpack conformance --python torch [--venv folder] [options]

Runs the cases of dlpack/conformance on a library. The module exports { name, producer, consumer } as its default:
docs/guides/conformance.md shows how to write one.

With --python it exchanges thousands of tensors with a Python library that is installed here: numpy, ml_dtypes, torch, jax,
tvm_ffi, pyarrow, onnxruntime, tensorflow, paddle, mlx, warp, cuda.core, openvino, tinygrad, nanoarrow, polars, pandas or duckdb, or
several, separated by commas. Every combination of direction, route, dtype, layout, read-only mark and
request for a copy is tried.

  --venv folder    the Python environment; the default is VIRTUAL_ENV, then .venv
  --only text      run only the cases whose id begins with this, such as c.bad
  --expect file    a JSON file with the ids of cases that are known to fail, each with the reason
  --level should   failures of these rules count, too
  --report files   write reports there, by their endings: .txt, .md, .json, .xml (JUnit), .svg (a badge); separated by commas

Exit code 1: a must failed, or an expected failure did not happen.
`,
  async run(args) {
    const { values, positionals } = parse(args, options);
    const [path] = positionals;
    if (values.python !== undefined) return runPython(values.python, values);
    if (path === undefined || positionals.length > 1) throw new UsageError('expected the path of one subject');
    const subject = await loadSubject(path);
    if (values.serve) return serve(subject, await environmentOf(subject, path, true));
    return runSubject(subject, path, values);
  },
};
