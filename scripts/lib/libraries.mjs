// JavaScript libraries with which the guides exchange tensors, in a separate folder, because the package does not
// depend on them.
import { mkdirSync, writeFileSync } from 'node:fs';
import { at, run, step, whenChanged } from './steps.mjs';

const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
const libraries = [
  'onnxruntime-node@1.30.0',
  'ndarray@1.1.1',
  '@types/ndarray@1.1.0',
  'apache-arrow@21.2.0',
  'sharp@0.35.5',
  '@tensorflow/tfjs-core@4.22.0',
  '@tensorflow/tfjs-backend-cpu@4.22.0',
];

/**
 * The install scripts do not run, because they fetch files from other hosts. ONNX Runtime's script fetches CUDA, which
 * nothing here uses.
 */
export const installLibraries = () =>
  step('JavaScript libraries in .libraries', () =>
    whenChanged('libraries', ['scripts/lib/libraries.mjs'], ['.libraries/node_modules/onnxruntime-node'], async () => {
      mkdirSync(at('.libraries'), { recursive: true });
      writeFileSync(at('.libraries/package.json'), '{ "private": true }\n');
      const flags = ['--no-audit', '--no-fund', '--ignore-scripts', '--no-package-lock'];
      await run(npm, ['install', ...flags, ...libraries], { cwd: at('.libraries') });
    }),
  );
