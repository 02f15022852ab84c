/** Libraries whose modules a page cannot load as they are, each in one file. */

import { join } from 'node:path';
import { root } from './server.js';

export const libraries = join(root, '.libraries/node_modules');

/** transformers.js as a page loads it, with the same ONNX Runtime as the other libraries. */
export const transformersImports = {
  '@huggingface/transformers': '/.libraries/node_modules/@huggingface/transformers/dist/transformers.web.js',
  'onnxruntime-web/webgpu': '/.libraries/node_modules/onnxruntime-web/dist/ort.webgpu.bundle.min.mjs',
  'onnxruntime-common': '/.libraries/node_modules/onnxruntime-common/dist/esm/index.js',
};

interface Esbuild {
  build(options: object): Promise<unknown>;
}

/** Writes build/browser. */
export async function bundleLibraries(): Promise<void> {
  const { build } = (await import('esbuild')) as Esbuild;
  const bundle = (name: string, contents: string) =>
    build({
      stdin: { contents, resolveDir: libraries },
      bundle: true,
      format: 'esm',
      outfile: join(root, 'build/browser', name),
      logLevel: 'error',
    });
  await bundle('jax-js.js', "export * from '@jax-js/jax';");
  await bundle('litert.js', "export * from '@litertjs/core';");
  const backend = "export { WebGPUBackend } from '@tensorflow/tfjs-backend-webgpu';";
  await bundle('tfjs.js', `export * from '@tensorflow/tfjs-core'; ${backend}`);
}
