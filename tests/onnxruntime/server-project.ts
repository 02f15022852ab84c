/** The example server in a folder of its own, as a user would have it: with links to this package and to the libraries. */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { makeGraph } from '../interop/libraries/model.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const installed = join(root, '.libraries/node_modules');
const names = ['onnxruntime-node', 'onnxruntime-common', 'sharp'];
export const missing = names.every((name) => existsSync(join(installed, name))) ? false : 'sharp in .libraries';

/** The mean of each channel, for images of this size. */
export const meansModel = (size: number): Uint8Array =>
  makeGraph({
    nodes: [
      { op: 'GlobalAveragePool', inputs: ['x'], outputs: ['means'] },
      { op: 'Flatten', inputs: ['means'], outputs: ['y'] },
    ],
    inputs: { x: { tensor: 1, shape: ['n', 3, size, size] } },
    outputs: { y: { tensor: 1, shape: ['n', 3] } },
  });

/** Makes the folder, with a model. The caller removes it. */
export function makeProject(model: Uint8Array): string {
  const folder = mkdtempSync(join(tmpdir(), 'dlpack-server-'));
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(root, join(folder, 'node_modules/dlpack'), 'junction');
  for (const name of names) symlinkSync(join(installed, name), join(folder, 'node_modules', name), 'junction');
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(folder, 'model.onnx'), model);
  const files = ['main', 'server', 'batches'].map((name) => join(root, `examples/server/${name}.ts`));
  const args = [...files, `--outdir=${folder}`, '--format=esm', '--target=es2022', '--log-level=warning'];
  const { status, stderr } = spawnSync(join(root, 'node_modules/.bin/esbuild'), args, { encoding: 'utf8' });
  if (status === 0) return folder;
  rmSync(folder, { recursive: true });
  throw new Error(stderr);
}

export interface Started {
  readonly child: ChildProcess;
  readonly url: string;
}

/** Starts a server that prints its URL. */
export async function start(
  command: string,
  args: readonly string[],
  folder: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<Started> {
  const child = spawn(command, args, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'], env });
  const lines = createInterface({ input: child.stdout });
  const exit = once(child, 'exit').then(([code]) => {
    throw new Error(`the server ended with ${code}`);
  });
  exit.catch(() => {}); // expected later
  const [url] = (await Promise.race([once(lines, 'line'), exit])) as [string];
  return { child, url };
}
