// JavaScript libraries with which the guides exchange tensors, in a separate folder, because the package does not
// depend on them.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { at, online, run, step, whenChanged } from './steps.mjs';

const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
const libraries = [
  'onnxruntime-node@1.30.0',
  'ndarray@1.1.1',
  '@types/ndarray@1.1.0',
  'apache-arrow@21.2.0',
  'sharp@0.35.5',
  '@tensorflow/tfjs-core@4.22.0',
  '@tensorflow/tfjs-backend-cpu@4.22.0',
  '@tensorflow/tfjs-backend-wasm@4.22.0',
  '@tensorflow/tfjs-backend-webgpu@4.22.0',
  '@huggingface/transformers@4.3.1',
  '@jax-js/jax@0.1.25',
  '@litertjs/core@2.5.3',
  '@duckdb/node-api@1.5.6-r.1',
  'numpy-ts@1.7.0',
  'typegpu@0.12.5',
  '@techstark/opencv-js@4.12.0-release.1',
  '@mediapipe/tasks-vision@20230920.0.0',
  '@stdlib/ndarray-ctor@0.3.1',
  'zarrita@0.7.5',
  '@napi-rs/canvas@1.1.0',
  'geotiff@3.0.5',
  'h5wasm@0.10.3',
  'npyjs@1.2.0',
  'onnxruntime-web@1.30.0',
  'webgpu@0.6.2',
  'three@0.187.0',
  'mediabunny@1.61.0',
  'koffi@3.3.4',
];

/**
 * A package of stdlib names a dependency by its git repository, and the registry has the same version. transformers.js
 * in Node never loads its own version of onnxruntime-web, which is large.
 */
const overrides = {
  '@stdlib/ndarray-dtype-ctor': '0.1.1',
  '@huggingface/transformers': { 'onnxruntime-web': 'npm:onnxruntime-common@1.30.0' },
};

const isInstalled = (library) => {
  const [, name, version] = /^(.+)@(.+)$/.exec(library);
  const manifest = at('.libraries/node_modules', name, 'package.json');
  return existsSync(manifest) && JSON.parse(readFileSync(manifest, 'utf8')).version === version;
};

const flags = ['--no-audit', '--no-fund', '--ignore-scripts', '--no-package-lock'];

/** The folder from which the demo runs, and finds ONNX Runtime: that of the tests, or one of its own. */
export const demoFolder = () => (isInstalled(libraries[0]) ? '.libraries' : '.cache/demo');

/** Installs ONNX Runtime for the demo, which works without it and says so. */
export const installDemoRuntime = () =>
  step('ONNX Runtime, 80 MB', async () => {
    if (isInstalled(libraries[0])) return 'up to date';
    mkdirSync(at('.cache/demo'), { recursive: true });
    if (!existsSync(at('.cache/demo/package.json'))) {
      writeFileSync(at('.cache/demo/package.json'), `${JSON.stringify({ private: true })}\n`);
    }
    try {
      await online(() => run(npm, ['install', ...flags, libraries[0]], { cwd: at('.cache/demo') }));
    } catch (error) {
      return `left out (${String(error.message).split('\n')[0]})`;
    }
  });

/** The oldest ONNX Runtime that the package takes, in a folder of its own. */
export const installOldestRuntime = () =>
  step('ONNX Runtime 1.20 in .libraries-oldest', () =>
    whenChanged('oldest', ['scripts/lib/libraries.mjs'], ['.libraries-oldest/node_modules'], async () => {
      mkdirSync(at('.libraries-oldest'), { recursive: true });
      writeFileSync(at('.libraries-oldest/package.json'), `${JSON.stringify({ private: true })}\n`);
      const args = ['install', ...flags, 'onnxruntime-node@1.20.1'];
      await online(() => run(npm, args, { cwd: at('.libraries-oldest') }));
    }),
  );

/**
 * The install scripts do not run, because they fetch files from other hosts. ONNX Runtime's script fetches CUDA, which
 * nothing here uses.
 */
export const installLibraries = () =>
  step('JavaScript libraries in .libraries', () =>
    whenChanged('libraries', ['scripts/lib/libraries.mjs'], ['.libraries/node_modules/onnxruntime-node'], async () => {
      if (libraries.every(isInstalled)) return 'up to date';
      mkdirSync(at('.libraries'), { recursive: true });
      writeFileSync(at('.libraries/package.json'), `${JSON.stringify({ private: true, overrides })}\n`);
      await online(() => run(npm, ['install', ...flags, ...libraries], { cwd: at('.libraries') }));
    }),
  );

/**
 * Pyodides, and a real NumPy for two of them. NumPy's package was made for another loader, but it is plain files for the
 * same Emscripten: 2.1 exports versioned capsules, 2.0 only older ones.
 */
const pyodides = [
  'pyodide-314@npm:pyodide@314.0.7',
  'pyodide-027@npm:pyodide@0.27.8',
  'pyodide-025@npm:pyodide@0.25.1',
  'numpy-20@npm:@emscripten-forge/numpy@2.0.1-py312h4e66579-0',
  'numpy-21@npm:@emscripten-forge/numpy@2.1.1-py311hc8e14bb-0',
];

export const installPyodide = () =>
  step('Pyodide and its NumPy in .pyodide', () =>
    whenChanged('pyodide', ['scripts/lib/libraries.mjs'], ['.pyodide/node_modules/pyodide-314'], async () => {
      mkdirSync(at('.pyodide'), { recursive: true });
      writeFileSync(at('.pyodide/package.json'), `${JSON.stringify({ private: true })}\n`);
      try {
        await online(() => run(npm, ['install', ...flags, ...pyodides], { cwd: at('.pyodide') }));
      } catch (error) {
        if (process.env.CI) throw error;
        return 'left out: the registry does not have them. Tests with Pyodide are skipped.';
      }
    }),
  );
