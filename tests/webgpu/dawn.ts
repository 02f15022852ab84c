/** Runs the WebGPU tests that an argument names on Node, with the `webgpu` package (Dawn). */

import { createRequire } from 'node:module';

interface Dawn {
  create(options: readonly string[]): object;
  readonly globals: Record<string, unknown>;
}

const [tests = '', libraries = ''] = process.argv.slice(2);
const path = createRequire(libraries).resolve('webgpu');
const { create, globals } = (await import(path)) as Dawn;
Object.assign(globalThis, globals);
Object.defineProperty(globalThis, 'navigator', { value: { gpu: create([]) } });
await import(`./${tests}.js`);
