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
  '@stdlib/ndarray-ctor@0.3.1',
  'zarrita@0.7.5',
  'onnxruntime-web@1.30.0',
  'webgpu@0.6.2',
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
      const flags = ['--no-audit', '--no-fund', '--ignore-scripts', '--no-package-lock'];
      await online(() => run(npm, ['install', ...flags, ...libraries], { cwd: at('.libraries') }));
    }),
  );
