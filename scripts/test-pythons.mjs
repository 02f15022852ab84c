// npm run test:pythons: runs the Python tests on every CPython from 3.9 on that this machine has, with the same addon.
// It finds the executables in PYTHONS (separated as in PATH), the versions of pyenv, and python3.x on the PATH. `--
// 3.12` runs one version. Python 3.11 also has the previous PyTorch and JAX.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { prepare } from './lib/needs.mjs';
import { findPythons } from './lib/pythons.mjs';
import { runTests, summary } from './lib/run-tests.mjs';
import { at, main, run, step } from './lib/steps.mjs';

const newestNumPy = { title: 'NumPy', imports: 'numpy', packages: ['numpy'] };
/** What .venv has on a Python that is too old for the newest counterparts. */
const previous = {
  title: 'The previous counterparts',
  imports: 'numpy, torch, jax',
  packages: ['-r', 'requirements/tests.txt'],
};

/** A virtual environment with the newest NumPy that has a wheel for this Python, or with more. */
async function makeEnvironment({ name, version, executable }) {
  const { title, imports, packages } = name === '3.11' ? previous : newestNumPy;
  const folder = at('.cache/pythons', name);
  const python = join(folder, 'bin/python');
  await step(`${title} for Python ${version}`, async () => {
    const has = async () =>
      existsSync(python) && (await run(python, ['-c', `import ${imports}`], { allowFailure: true })).code === 0;
    if (await has()) return 'up to date';
    await run(executable, ['-m', 'venv', folder]);
    const flags = ['--quiet', '--disable-pip-version-check', '--only-binary', ':all:'];
    await run(python, ['-m', 'pip', 'install', ...flags, ...packages], { allowFailure: true });
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
