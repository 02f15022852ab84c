/** What `dlpack inspect` reads ONNX models with. The package has it only inside of its program, so this bundles it. */

import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Tensor } from 'dlpack';
import { newPath } from './make.js';

interface Model {
  readonly sections: readonly {
    readonly tensors: readonly { readonly nbytes: number | null; readonly load: (() => Tensor) | null }[];
  }[];
  close(): void;
}

let reader: Promise<{ readOnnx(path: string): Model }> | null = null;

async function bundle(): Promise<{ readOnnx(path: string): Model }> {
  const { build } = (await import('esbuild')) as { build(options: object): Promise<unknown> };
  const outfile = newPath('onnx.mjs');
  const source = fileURLToPath(new URL('../../../src/cli/inspect/onnx.ts', import.meta.url));
  await build({ entryPoints: [source], bundle: true, format: 'esm', platform: 'node', outfile, logLevel: 'error' });
  return import(pathToFileURL(outfile).href);
}

/** Opens a model. The tensors that it loads belong to a copy of the package without native memory. */
export async function readOnnx(path: string): Promise<Model> {
  reader ??= bundle();
  return (await reader).readOnnx(path);
}
