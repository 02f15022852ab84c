/** dlpack doctor: checks which parts of the package work on this machine. */

import { spawnSync } from 'node:child_process';
import { nativeStatus } from '../index.node.js';
import { findTarget } from '../native/target.js';
import { type Command, parse, UsageError } from './command.js';
import { packageVersion } from './package.js';
import { isProbe, type Probe, probes, runProbe } from './probes.js';
import { quote } from './remedies.js';
import { type Check, check, type Report, reportMarkdown, reportText } from './report.js';

/** A time limit in milliseconds: a library that hangs while it loads is a finding, and must not stop doctor. */
const patience = 120_000;

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

/** Runs one probe in a separate process, so that a library that crashes is reported here. */
function inChild(probe: Probe): Check[] {
  const script = process.argv[1] as string;
  const runtimeArgs = 'deno' in process.versions ? ['run', '-A'] : process.execArgv;
  const args = [...runtimeArgs, script, 'doctor', '--probe', probe];
  const child = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    timeout: patience,
    maxBuffer: 1 << 26,
    env: { ...process.env, DLPACK_QUIET: '1' },
  });
  // Libraries may print, too, even after the probe has ended.
  const line = (child.stdout ?? '').split('\n').findLast((text) => text.startsWith(answer)) ?? answer;
  try {
    return JSON.parse(line.slice(answer.length)) as Check[];
  } catch {
    const how = child.error?.message ?? `ended with ${child.signal ?? child.status}`;
    const last = (child.stderr ?? '').trim().split('\n').at(-1) ?? '';
    const text = `the process that tried it ${how}${last === '' ? '' : `: ${last}`}`;
    const remedies = [[process.execPath, ...args].map(quote).join(' ')]; // shows everything that the process prints
    return [check(probe, 'problem', text, remedies)];
  }
}

function examine(): Report {
  const addon = checkAddon();
  const checks = [checkRuntime(), checkPlatform(), addon];
  // Without the addon there is no exchange to probe.
  if (addon.state === 'ok') for (const probe of probes) checks.push(...inChild(probe));
  return { schema: 1, version: packageVersion(), ok: checks.every(({ state }) => state !== 'problem'), checks };
}

export const command: Command = {
  help: `Usage: dlpack doctor [--json | --markdown]

Checks runtime, platform and addon, and makes a real exchange with Python and its libraries, with TVM-FFI and with CUDA, if
they are installed. It is not a problem if one of them is absent. The commands after an arrow can be pasted into a shell.

  --json       for programs
  --markdown   to paste into an issue

Python is found as dlpack/python finds it: VIRTUAL_ENV, .venv in this folder, python3 on the PATH.
`,
  run(args) {
    const { values, positionals } = parse(args, {
      json: 'boolean',
      markdown: 'boolean',
      probe: 'string',
    });
    if (positionals.length > 0) throw new UsageError(`expected no argument but received "${positionals[0]}"`);
    if (values.json && values.markdown) throw new UsageError('expected --json or --markdown but received both');
    if (values.probe !== undefined) {
      if (!isProbe(values.probe)) throw new UsageError(`expected one of ${probes.join(', ')} for --probe`);
      process.stdout.write(`${answer}${JSON.stringify(runProbe(values.probe))}\n`);
      return 0;
    }
    const report = examine();
    const write = values.json
      ? (r: Report) => `${JSON.stringify(r, null, 2)}\n`
      : values.markdown
        ? reportMarkdown
        : reportText;
    process.stdout.write(write(report));
    return report.ok ? 0 : 1;
  },
};
