// Virtual environments of Python, one for each file in requirements.
import { existsSync, readFileSync } from 'node:fs';
import { pythonAmong } from './pythons.mjs';
import { at, Missing, online, run, step, whenChanged } from './steps.mjs';

// Python compiles a module at its first import. Compiling all modules of PyTorch and JAX here takes a minute.
const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-compile'];
const pythonOf = (venv) => at(venv, process.platform === 'win32' ? 'Scripts/python.exe' : 'bin/python');
export const venvPython = pythonOf('.venv');

/** Installs the packages of a requirements file in a separate virtual environment. `find` finds a Python other than python3. */
export const installEnvironment = (venv, requirements, find = () => process.env.PYTHON ?? 'python3') =>
  step(`Python packages in ${venv}`, () =>
    whenChanged(`python${venv.slice(5)}`, [requirements], [`${venv}/pyvenv.cfg`], async () => {
      const python = await find();
      try {
        await run(python, ['-c', 'import sys; sys.exit(0 if sys.version_info >= (3, 9) else 1)']);
      } catch {
        throw new Missing(`Python 3.9 or newer as "${python}". Install it, or name one in PYTHON.`);
      }
      if (!existsSync(pythonOf(venv))) await run(python, ['-m', 'venv', venv]);
      await online(() => run(pythonOf(venv), [...pip, '-r', requirements]));
    }),
  );

export const installPython = () => installEnvironment('.venv', 'requirements/tests.txt');

/** Installs wheels that contain their own tests. */
export const installUpstream = () => installEnvironment('.venv-upstream', 'requirements/upstream.txt');

/** Installs Ray and Dask. */
export const installCluster = () => installEnvironment('.venv-cluster', 'requirements/cluster.txt');

/** Installs Python libraries that are large or rare. Their newest versions have wheels for these Pythons. */
export const installPeers = () =>
  installEnvironment('.venv-peers', 'requirements/peers.txt', () => pythonAmong(['3.12', '3.13']));

/** An interpreter has only one NumPy, so the old one has a separate environment. It supports Python up to 3.12. */
export async function installOldNumPy() {
  try {
    await installEnvironment('.venv-numpy1', 'requirements/numpy1.txt');
  } catch (error) {
    console.log(`  left out: ${String(error.message).split('\n')[0]}`);
  }
}

/** Installs some packages of requirements/tests.txt, without PyTorch's gigabyte, unless Python can import `modules`. */
async function installSome(names, modules) {
  const canImport = async () =>
    (await run(venvPython, ['-c', `import ${modules.join(', ')}`], { allowFailure: true })).code === 0;
  if (existsSync(venvPython) && (await canImport())) return 'up to date';
  const lines = readFileSync(at('requirements/tests.txt'), 'utf8').split('\n');
  const wanted = lines.filter((line) => names.includes(line.split('==')[0]));
  if (!existsSync(venvPython)) await run(process.env.PYTHON ?? 'python3', ['-m', 'venv', '.venv']);
  await online(() => run(venvPython, [...pip, ...wanted]));
  return 'done';
}

/** Installs the wheel that contains the real dlpack.h. */
export const installHeaders = () =>
  step('dlpack.h of apache-tvm-ffi in .venv', () => installSome(['apache-tvm-ffi'], ['tvm_ffi']));

/** Installs NumPy for the demo, which works without it and says so. */
export const installDemoPython = () =>
  step('NumPy in .venv', async () => {
    try {
      return await installSome(['numpy'], ['numpy']);
    } catch (error) {
      return `left out (${String(error.message).split('\n')[0]})`;
    }
  });

/** Installs the web server that bench/server.bench.ts compares with. PyTorch comes from .venv. */
export const installFastAPI = () =>
  step('FastAPI and uvicorn', () =>
    whenChanged('fastapi', ['requirements/fastapi.txt'], ['build/fastapi/uvicorn'], async () => {
      const into = ['--upgrade', '--target', 'build/fastapi'];
      await online(() => run(venvPython, [...pip, ...into, '-r', 'requirements/fastapi.txt']));
    }),
  );

/** Installs the library of XGrammar from its wheel, without the wheel's Python dependencies, which it does not need. */
export const installXGrammar = () =>
  step('XGrammar, a TVM-FFI library that others wrote', () =>
    whenChanged('xgrammar', ['requirements/xgrammar.txt'], ['build/xgrammar/xgrammar'], async () => {
      const into = ['--no-deps', '--upgrade', '--target', 'build/xgrammar'];
      try {
        await online(() => run(venvPython, [...pip, ...into, '-r', 'requirements/xgrammar.txt']));
      } catch {
        return 'left out: PyPI cannot be reached, or has no wheel for this system';
      }
    }),
  );
