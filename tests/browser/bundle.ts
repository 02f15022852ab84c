/** Libraries whose modules a page cannot load as they are, each in one file. */

import { join } from 'node:path';
import { root } from './server.js';

export const libraries = join(root, '.libraries/node_modules');

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
