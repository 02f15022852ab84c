/** dlpack doctor: checks which parts of the package work on this machine. */

import { spawnSync } from 'node:child_process';
import { nativeStatus } from '../index.node.js';
import { findTarget } from '../native/load/target.js';
import { type Command, parse, UsageError } from './command.js';
import { packageVersion } from './package.js';
import { isProbe, isPythonLibrary, type Probe, probes, runProbe } from './probes.js';
import { quote } from './remedies.js';
import { type Check, check, checkText, endText, type Report, reportMarkdown } from './report.js';

/** A time limit in seconds: a library that hangs while it loads is a finding, and must not stop doctor. */
const patience = 60;

/** The start of the line with a probe's result. */
const answer = 'dlpack-doctor ';

function checkRuntime(): Check {
  const { versions } = process as { versions: Record<string, string | undefined> };
  const [name, version] = versions.bun
    ? ['Bun', versions.bun]
    : versions.deno
      ? ['Deno', versions.deno]
      : ['Node', versions.node as string];
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isOld =
    name === 'Node' && (major < 20 || (major === 20 && minor < 19) || major === 21 || (major === 22 && minor < 12));
  if (!isOld) return check('runtime', 'ok', `${name} ${version}`);
  return check('runtime', 'problem', `${name} ${version}; ^20.19 or >=22.12 is needed`, ['nvm install 22']);
}

function checkPlatform(): Check {
  const report = process.platform === 'linux' ? process.report?.getReport() : undefined;
  const { glibcVersionRuntime } = (report as { header?: { glibcVersionRuntime?: string } } | undefined)?.header ?? {};
  const library = glibcVersionRuntime === undefined ? '' : ` (glibc ${glibcVersionRuntime})`;
  return check('platform', 'ok', `${findTarget()}${library}`);
}

function checkAddon(): Check {
  const { loaded, path, reason } = nativeStatus();
  if (loaded) return check('addon', 'ok', path as string);
  const isForbidden = process.execArgv.includes('--no-addons');
  const builds = process.env.DLPACK_ADDON ? ['unset DLPACK_ADDON'] : ['npx dlpack build', 'npm install --force dlpack'];
  const advice = isForbidden ? ['start Node without --no-addons'] : [];
  return check('addon', 'problem', reason as string, isForbidden ? [] : builds, advice);
}

/** Runs one probe in a separate process, so that a library that crashes or hangs is reported here. */
function inChild(probe: Probe, limit: number): Check[] {
  const script = process.argv[1] as string;
  const runtimeArgs = 'deno' in process.versions ? ['run', '-A'] : process.execArgv;
  const args = [...runtimeArgs, script, 'doctor', '--probe', probe];
  const child = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    timeout: limit * 1000,
    killSignal: 'SIGKILL', // a library may ignore others
    maxBuffer: 1 << 26,
    env: { ...process.env, DLPACK_QUIET: '1' },
  });
  // Libraries may print, too, even after the probe has ended.
  const line = (child.stdout ?? '').split('\n').findLast((text) => text.startsWith(answer)) ?? answer;
  try {
    return JSON.parse(line.slice(answer.length)) as Check[];
  } catch {
    const isLate = (child.error as { code?: string } | undefined)?.code === 'ETIMEDOUT';
    const end = isLate
      ? `took longer than ${limit} seconds and was ended`
      : `ended with ${child.signal ?? child.status}`;
    const how = isLate ? end : (child.error?.message ?? end);
    const last = (child.stderr ?? '').trim().split('\n').at(-1) ?? '';
    const text = `the process that tried it ${how}${last === '' ? '' : `: ${last}`}`;
    const remedies = [[process.execPath, ...args].map(quote).join(' ')]; // shows everything that the process prints
    return [check(probe, 'problem', text, remedies)];
  }
}

/** Makes all checks, and shows each as soon as it is made. */
function examine(limit: number, show: (check: Check) => void): Report {
  const checks: Check[] = [];
  const add = (found: readonly Check[]) => {
    checks.push(...found);
    found.forEach(show);
  };
  const addon = checkAddon();
  add([checkRuntime(), checkPlatform(), addon]);
  for (const probe of probes) {
    // Without the addon there is no exchange to probe, and without Python none of its libraries.
    const needs = isPythonLibrary(probe) ? 'python' : 'addon';
    if (checks.find(({ name }) => name === needs)?.state === 'ok') add(inChild(probe, limit));
  }
  return { schema: 1, version: packageVersion(), ok: checks.every(({ state }) => state !== 'problem'), checks };
}

export const command: Command = {
  help: `Usage: dlpack doctor [--json | --markdown]

Checks runtime, platform and addon, and makes a real exchange with Python and its libraries, with JavaScript libraries of
this folder, with TVM-FFI, CUDA and ONNX Runtime, if they are installed. It is not a problem if one of them is absent. The commands after an arrow can be pasted into a shell.

  --json       for programs
  --markdown   to paste into an issue
  --timeout    how many seconds each library may take, ${patience} if it is not given

Python is found as dlpack/python finds it: VIRTUAL_ENV, .venv in this folder, python3 on the PATH.
`,
  async run(args) {
    const { values, positionals } = parse(args, {
      json: 'boolean',
      markdown: 'boolean',
      timeout: 'string',
      probe: 'string',
    });
    if (positionals.length > 0) throw new UsageError(`expected no argument but received "${positionals[0]}"`);
    if (values.json && values.markdown) throw new UsageError('expected --json or --markdown but received both');
    if (values.probe !== undefined) {
      if (!isProbe(values.probe)) throw new UsageError(`expected one of ${probes.join(', ')} for --probe`);
      process.stdout.write(`${answer}${JSON.stringify(await runProbe(values.probe))}\n`);
      return 0;
    }
    const limit = Number(values.timeout ?? patience);
    if (!(limit > 0))
      throw new UsageError(`expected a number of seconds for --timeout but received "${values.timeout}"`);
    if (values.json || values.markdown) {
      const report = examine(limit, () => {});
      process.stdout.write(values.json ? `${JSON.stringify(report, null, 2)}\n` : reportMarkdown(report));
      return report.ok ? 0 : 1;
    }
    process.stdout.write(`dlpack ${packageVersion()}\n\n`);
    const report = examine(limit, (found) => process.stdout.write(checkText(found)));
    process.stdout.write(endText(report));
    return report.ok ? 0 : 1;
  },
};
