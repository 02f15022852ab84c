// What tests need beside the package, the addon and themselves: one table. `npm test -- unit/` prepares only that.
import { readdirSync } from 'node:fs';
import { installBrowser } from './apt.mjs';
import {
  buildConformance,
  buildCudaCheck,
  buildDeviceLibrary,
  buildExampleAddon,
  buildFakeDriver,
  buildFFILibrary,
  buildKernels,
  buildPeerAddon,
  buildSpanProgram,
} from './counterparts.mjs';
import { installHeaders, installNvrtc, installOldNumPy, installPython, installXGrammar } from './environments.mjs';
import { installLibraries, installOldestRuntime, installPyodide } from './libraries.mjs';
import { buildFaults, buildNative } from './native.mjs';
import { buildTests, buildTypeScript, checkNode, installPackages } from './setup.mjs';
import { at } from './steps.mjs';
import { buildWasmModules } from './wasm.mjs';

/** The steps, in order. `sign` is what a file that needs the step contains, for tests/architecture/needs.test.ts. */
export const steps = {
  python: { run: installPython, sign: /\bpython\(\)|\.venv\/bin/ },
  oldNumPy: { run: installOldNumPy, sign: /\.venv-numpy1/ },
  headers: { run: installHeaders, sign: /tvm_ffi\/include/ },
  libraries: { run: installLibraries, sign: /\.libraries\b(?!-)/ },
  oldestRuntime: { run: installOldestRuntime, sign: /\.libraries-oldest/ },
  pyodide: { run: installPyodide, sign: /\.pyodide\b/ },
  spans: { run: buildSpanProgram, sign: /mdspan_tensors/ },
  peer: { run: buildPeerAddon, sign: /\/peer\.node|native\/abi_layout/ },
  ffi: { run: buildFFILibrary, sign: /libscale/ },
  conformance: { run: buildConformance, sign: /conformance_(c|rust)\.node/ },
  faults: { run: buildFaults, sign: /native\/faults/ },
  example: { run: buildExampleAddon, sign: /scale\.node/ },
  kernels: { run: buildKernels, sign: /\/kernels\/|\/kernels'/ },
  xgrammar: { run: installXGrammar, sign: /build\/xgrammar|xgrammar\/xgrammar/ },
  nvrtc: { run: installNvrtc, sign: /make-ptx/ },
  driver: { run: buildFakeDriver, sign: /fake_cuda/ },
  deviceLibrary: { run: buildDeviceLibrary, sign: /onnxruntime_device/ },
  cudaHeader: { run: buildCudaCheck, sign: /cuda_abi/ },
  wasm: { run: buildWasmModules, sign: /wasm\/tensors|tensors(32|64)\.wasm/ },
  browser: { run: installBrowser, sign: /CHROME_PATH|lib\/browser\.mjs/ },
};

/** What the files of a folder need, and more for those whose path goes on as named. */
export const needs = {
  adapters: ['python', 'libraries', 'kernels'],
  architecture: [],
  browser: ['libraries', 'pyodide', 'wasm', 'browser'],
  cli: ['python', 'libraries', 'driver'],
  conformance: ['conformance', 'libraries'],
  cuda: ['python', 'kernels', 'driver', 'cudaHeader'],
  'cuda/ptx': ['nvrtc'],
  docs: ['python', 'libraries', 'example', 'kernels', 'xgrammar', 'driver'],
  examples: ['python', 'peer', 'example', 'kernels'],
  faults: ['python', 'libraries', 'faults', 'kernels', 'driver'],
  files: [],
  'files/python': ['python'],
  fuzz: ['python', 'kernels'],
  interop: ['python', 'oldNumPy', 'libraries', 'spans', 'peer', 'kernels', 'xgrammar'],
  'interop/python/headers': ['headers'],
  native: ['headers', 'peer'],
  'native/ffi': ['ffi', 'libraries'],
  onnxruntime: ['libraries'],
  'onnxruntime/oldest': ['oldestRuntime'],
  'onnxruntime/device': ['driver', 'deviceLibrary'],
  'onnxruntime/values': ['python'],
  pyodide: ['pyodide'],
  shared: ['python'],
  unit: [],
  wasm: ['wasm'],
};

/** The test files below `folder` whose path contains `filter`, relative to it. */
const testFiles = () =>
  readdirSync(at('tests'), { recursive: true })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => file.endsWith('.test.ts'));

/** The names of the steps that a test file needs. A folder with its own command is prepared completely. */
export function needsOf(file) {
  const rows = Object.keys(needs).filter((start) => file.startsWith(`${start}/`) || file.startsWith(`${start}.`));
  return rows.length === 0 ? Object.keys(steps) : rows.flatMap((start) => needs[start]);
}

/** Prepares what the test files whose path contains `filter` need, or everything that tests and benchmarks need. */
export async function prepare(filter = '') {
  checkNode();
  console.log('Set-up');
  await installPackages();
  await buildTypeScript();
  await buildNative();
  const files = testFiles().filter((file) => `tests/${file.replace(/\.ts$/, '.js')}`.includes(filter));
  const needed = new Set(filter === '' ? Object.keys(steps) : files.flatMap(needsOf));
  for (const [name, { run }] of Object.entries(steps)) if (needed.has(name)) await run();
  await buildTests();
}
