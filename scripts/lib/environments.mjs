// Virtual environments of Python, one for each file in requirements.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { newestPython, pythonAmong } from './pythons.mjs';
import { at, Missing, online, run, step, whenChanged } from './steps.mjs';

// Python compiles a module at its first import. Compiling all modules of PyTorch and JAX here takes a minute.
const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-compile'];
const pythonOf = (venv) => at(venv, process.platform === 'win32' ? 'Scripts/python.exe' : 'bin/python');
export const venvPython = pythonOf('.venv');

/** The version in what Python writes, such as `[3, 11, 7]`. */
const parts = (text) => /\d+(\.\d+)+/.exec(text)[0].split('.').map(Number);
/** The version of an environment's Python. */
const versionOf = (venv) => parts(/^version.*$/m.exec(readFileSync(at(venv, 'pyvenv.cfg'), 'utf8'))[0]);

/** The Pythons that the newest counterparts were tried with. */
const wanted = ['3.12', '3.13'];
/** The named Python, or one for the newest counterparts. Another one gets older ones: see requirements/tests.txt. */
const testPython = async () => process.env.PYTHON ?? (await newestPython(wanted))?.executable ?? 'python3';

/** Makes an environment of a Python, and makes it again if it has another version. */
async function makeEnvironment(venv, python, oldest = 9) {
  const { code, output } = await run(python, ['--version'], { allowFailure: true }).catch(() => ({ code: 1 }));
  const [major, minor] = code === 0 ? parts(output) : [0];
  if (major !== 3 || minor < oldest)
    throw new Missing(`Python 3.${oldest} or newer as "${python}". Install it, or name one in PYTHON.`);
  if (existsSync(pythonOf(venv)) && versionOf(venv)[1] === minor) return;
  rmSync(at(venv), { recursive: true, force: true });
  await run(python, ['-m', 'venv', venv]);
}

const packagesIn = (venv, requirements, find, oldest) =>
  whenChanged(`python${venv.slice(5)}`, [requirements], [`${venv}/pyvenv.cfg`], async () => {
    await makeEnvironment(venv, await find(), oldest);
    await online(() => run(pythonOf(venv), [...pip, '-r', requirements]));
  });

/** Installs the packages of a requirements file in a separate virtual environment. `find` finds a Python other than that of the tests. */
export const installEnvironment = (venv, requirements, find = testPython) =>
  step(`Python packages in ${venv}`, () => packagesIn(venv, requirements, find));

/** Says which Python the tests use, and what is missing for the newest counterparts. */
function testPythonNote() {
  const version = versionOf('.venv');
  const hint = `. The newest counterparts need ${wanted.join(' or ')}: install it or name it in PYTHON, then remove .venv`;
  return `Python ${version.join('.')}${version[1] < 12 ? hint : ''}`;
}

/** Installs the counterparts of tests and benchmarks. */
export const installPython = () =>
  step('Python packages in .venv', async () => {
    const note = await packagesIn('.venv', 'requirements/tests.txt', testPython, 11);
    return `${note ?? 'done'}, ${testPythonNote()}`;
  });

/** Installs wheels that contain their own tests. */
export const installUpstream = () => installEnvironment('.venv-upstream', 'requirements/upstream.txt');

/** Installs Ray and Dask. */
export const installCluster = () => installEnvironment('.venv-cluster', 'requirements/cluster.txt');

/** Installs Jupyter's client of kernels. */
export const installNotebook = () => installEnvironment('.venv-notebook', 'requirements/notebook.txt');

/** Installs Python libraries that are large or rare. Their newest versions have wheels for these Pythons. */
export const installPeers = () =>
  installEnvironment('.venv-peers', 'requirements/peers.txt', () => pythonAmong(['3.12', '3.13']));

/** An interpreter has only one NumPy, so the old one has a separate environment. It supports Python up to 3.12. */
export async function installOldNumPy() {
  const find = async () =>
    (await newestPython(['3.9', '3.10', '3.11', '3.12']))?.executable ?? process.env.PYTHON ?? 'python3';
  try {
    await installEnvironment('.venv-numpy1', 'requirements/numpy1.txt', find);
  } catch (error) {
    console.log(`  left out: ${String(error.message).split('\n')[0]}`);
  }
}

/** Installs a package in the version of requirements/tests.txt, without PyTorch's gigabyte, unless Python can import `module`. */
async function installOne(name, module) {
  const canImport = async () => (await run(venvPython, ['-c', `import ${module}`], { allowFailure: true })).code === 0;
  if (existsSync(venvPython) && (await canImport())) return 'up to date';
  await makeEnvironment('.venv', await testPython());
  await online(() => run(venvPython, [...pip, '-c', 'requirements/tests.txt', name]));
  return 'done';
}

/** Installs the wheel that contains the real dlpack.h. */
export const installHeaders = () =>
  step('dlpack.h of apache-tvm-ffi in .venv', () => installOne('apache-tvm-ffi', 'tvm_ffi'));

/** Installs NumPy for the demo, which works without it and says so. */
export const installDemoPython = () =>
  step('NumPy in .venv', async () => {
    try {
      return await installOne('numpy', 'numpy');
    } catch (error) {
      return `left out (${String(error.message).split('\n')[0]})`;
    }
  });

/** Installs the web server that bench/server.bench.ts compares with. PyTorch comes from .venv. */
export const installFastAPI = () =>
  step('FastAPI and uvicorn', () =>
    whenChanged('fastapi', ['requirements/fastapi.txt', '.venv/pyvenv.cfg'], ['build/fastapi/uvicorn'], async () => {
      const into = ['--upgrade', '--target', 'build/fastapi'];
      await online(() => run(venvPython, [...pip, ...into, '-r', 'requirements/fastapi.txt']));
    }),
  );

/** Installs the peer of bench/values.bench.ts for images. PyTorch comes from .venv. */
export const installTorchvision = () =>
  step('torchvision', () =>
    whenChanged('torchvision', ['requirements/torchvision.txt'], ['build/torchvision/torchvision'], async () => {
      const into = ['--no-deps', '--upgrade', '--target', 'build/torchvision'];
      await online(() => run(venvPython, [...pip, ...into, '-r', 'requirements/torchvision.txt']));
    }),
  );

/** Installs a wheel without what it needs, in a folder of its own; left out where that is not possible. */
const installAlone = (title, name) =>
  step(title, () =>
    whenChanged(name, [`requirements/${name}.txt`], [`build/${name}`], async () => {
      const into = ['--no-deps', '--upgrade', '--target', `build/${name}`];
      try {
        await online(() => run(venvPython, [...pip, ...into, '-r', `requirements/${name}.txt`]));
      } catch {
        return 'left out: PyPI cannot be reached, or has no wheel for this system';
      }
    }),
  );

/** Installs the library of XGrammar from its wheel, without the wheel's Python dependencies, which it does not need. */
export const installXGrammar = () => installAlone('XGrammar, a TVM-FFI library that others wrote', 'xgrammar');

/** Installs the compiler of the kernels in native/cuda. */
export const installNvrtc = () => installAlone('NVRTC, the compiler of the committed PTX', 'nvrtc');
