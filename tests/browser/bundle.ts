/** Libraries whose modules a page cannot load as they are, each in one file. */

import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
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
  build(options: object): Promise<{ outputFiles: readonly { readonly contents: Uint8Array }[] }>;
}

/** Writes one file of build/browser, as a whole, because another test may be reading it. */
async function bundle(name: string, contents: string): Promise<void> {
  const { build } = (await import('esbuild')) as Esbuild;
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: libraries },
    bundle: true,
    format: 'esm',
    platform: 'browser',
    write: false,
    logLevel: 'error',
  });
  const folder = join(root, 'build/browser');
  mkdirSync(folder, { recursive: true });
  const written = join(folder, `${process.pid}-${name}`);
  writeFileSync(written, outputFiles[0]?.contents ?? '');
  renameSync(written, join(folder, name));
}

/** The libraries on WebGPU. */
export async function bundleLibraries(): Promise<void> {
  await bundle('jax-js.js', "export * from '@jax-js/jax';");
  await bundle('litert.js', "export * from '@litertjs/core';");
  await bundle('typegpu.js', "export { default as tgpu } from 'typegpu'; export * as d from 'typegpu/data';");
  const backend = "export { WebGPUBackend } from '@tensorflow/tfjs-backend-webgpu';";
  await bundle('tfjs.js', `export * from '@tensorflow/tfjs-core'; ${backend}`);
}

/** The libraries of the other adapters, all in host memory. */
export const bundleAdapters = (): Promise<void> =>
  bundle(
    'adapters.js',
    `import '@tensorflow/tfjs-backend-cpu';
    export * as tf from '@tensorflow/tfjs-core';
    export * as jax from '@jax-js/jax';
    export * as litert from '@litertjs/core';
    export * as arrow from 'apache-arrow';
    export { default as ndarray } from 'ndarray';
    export { default as stdlib } from '@stdlib/ndarray-ctor';`,
  );
