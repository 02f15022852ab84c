// npm run test:pythons: runs the Python tests on every CPython from 3.9 on that this machine has, with the same addon.
// It finds the executables in PYTHONS (separated as in PATH), the versions of pyenv, and python3.x on the PATH. `--
// 3.12` runs one version.
import { existsSync, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { runTests, summary } from './lib/run-tests.mjs';
import { prepare } from './lib/setup.mjs';
import { at, main, run, step } from './lib/steps.mjs';

function candidates() {
  const named = (process.env.PYTHONS ?? '').split(delimiter).filter((path) => path !== '');
  const pyenv = join(process.env.PYENV_ROOT ?? join(homedir(), '.pyenv'), 'versions');
  const installed = existsSync(pyenv)
    ? readdirSync(pyenv).map((version) => join(pyenv, version, 'bin', 'python3'))
    : [];
  const onPath = ['9', '10', '11', '12', '13', '13t', '14', '14t'].map((minor) => `python3.${minor}`);
  return [...named, ...installed, ...onPath];
}

const question =
  'import json, sys, sysconfig as s; print(json.dumps([list(sys.version_info[:2]), bool(s.get_config_var("Py_GIL_DISABLED")), ' +
  'bool(s.get_config_var("Py_ENABLE_SHARED")), ".".join(map(str, sys.version_info[:3]))]))';

/** The first Python of each version, with a shared library. */
async function findPythons() {
  const found = new Map();
  for (const executable of candidates()) {
    try {
      const { output } = await run(executable, ['-c', question]);
      const [[major, minor], isFree, isShared, version] = JSON.parse(output.trim().split('\n').at(-1));
      const name = `3.${minor}${isFree ? 't' : ''}`;
      if (major !== 3 || minor < 9 || found.has(name)) continue;
      if (isShared) found.set(name, { name, version, executable });
      else console.log(`${executable}: left out, it has no shared library`);
    } catch {
      // It does not exist, or it is a shim of a version that is not active.
    }
  }
  return [...found.values()].sort(
    (a, b) => Number.parseInt(a.name.slice(2), 10) - Number.parseInt(b.name.slice(2), 10),
  );
}

/** A virtual environment with the newest NumPy that has a wheel for this Python. */
async function makeEnvironment({ name, version, executable }) {
  const folder = at('.cache/pythons', name);
  const python = join(folder, 'bin/python');
  await step(`NumPy for Python ${version}`, async () => {
    const has = async () =>
      existsSync(python) && (await run(python, ['-c', 'import numpy'], { allowFailure: true })).code === 0;
    if (await has()) return 'up to date';
    await run(executable, ['-m', 'venv', folder]);
    const flags = ['--quiet', '--disable-pip-version-check', '--only-binary', ':all:'];
    await run(python, ['-m', 'pip', 'install', ...flags, 'numpy'], { allowFailure: true });
    return (await has()) ? 'done' : 'there is no wheel; its tests are skipped';
  });
  return folder;
}

/** NumPy before 2.1 neither sends nor accepts versioned capsules, so its arrays are read-only. */
async function hasOldNumPy(folder) {
  const script = 'import sys, numpy; sys.exit(tuple(map(int, numpy.__version__.split(".")[:2])) < (2, 1))';
  return (await run(join(folder, 'bin/python'), ['-c', script], { allowFailure: true })).code !== 0;
}

await main(async () => {
  const [only = ''] = process.argv.slice(2);
  await prepare();
  const pythons = (await findPythons()).filter(({ name }) => only === '' || name === only);
  const all = { passed: 0, failed: 0, skipped: 0 };
  const lines = [];
  for (const python of pythons) {
    const folder = await makeEnvironment(python);
    console.log(`Tests on Python ${python.version}${python.name.endsWith('t') ? ', free-threaded' : ''}`);
    // Libraries without a wheel for a version are skipped, in CI too.
    const env = { VIRTUAL_ENV: folder, CI: '' };
    const isOld = await hasOldNumPy(folder);
    if (isOld) console.log('  left out: tensors, convert and from-dlpack, which need NumPy 2.1; this Python has none');
    const exclude = (file) => isOld && /tensors|convert|from-dlpack/.test(file);
    const options = { args: ['--expose-gc'], filter: 'interop/python', exclude, env };
    const total = await runTests({ command: process.execPath, ...options });
    lines.push(`${python.name.padEnd(6)} ${summary(total)}`);
    for (const key of Object.keys(all)) all[key] += total[key];
  }
  console.log(`\n${lines.join('\n')}\n${summary(all)}`);
  return all.failed > 0 || all.passed === 0 ? 1 : 0;
});
