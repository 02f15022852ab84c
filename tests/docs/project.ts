/** A user's project: an empty folder with the packed package and the libraries that the guides name. */

import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../../', import.meta.url));

/** The environment of its programs: the Python of the set-up, a GPU of tests/cuda/driver, no colours. */
export const env = {
  ...process.env,
  VIRTUAL_ENV: join(root, '.venv'),
  DLPACK_CACHE_DIR: join(root, 'build/compile'),
  DLPACK_CUDA_DRIVER: join(root, 'build/native/fake_cuda.node'),
  NO_COLOR: '1',
};

/** Runs to the end. Returns the output, or throws an error with it. */
function run(command: string, args: string[], cwd: string): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: 'utf8', env });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${error ?? ''}${stdout}${stderr}`);
  return stdout;
}

/** Folders of node_modules; for scopes, the folders of their packages. */
function packagesIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => !name.startsWith('.'))
    .flatMap((name) =>
      name.startsWith('@') ? readdirSync(join(folder, name)).map((part) => `${name}/${part}`) : name,
    );
}

/** Makes the folder. The libraries are links to the installed ones. */
export function makeProject(): string {
  const folder = mkdtempSync(join(tmpdir(), 'dlpack-docs-'));
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n');
  const [packed] = JSON.parse(run('npm', ['pack', '--json', '--pack-destination', folder], root));
  run('npm', ['install', '--no-audit', '--no-fund', '--offline', join(folder, packed.filename)], folder);
  const links = { '@types/node': join(root, 'node_modules/@types/node') } as Record<string, string>;
  const libraries = join(root, '.libraries/node_modules');
  if (existsSync(libraries)) for (const name of packagesIn(libraries)) links[name] ??= join(libraries, name);
  for (const [name, target] of Object.entries(links)) {
    const link = join(folder, 'node_modules', name);
    mkdirSync(join(link, '..'), { recursive: true });
    symlinkSync(target, link, 'dir');
  }
  const addon = join(root, 'build/native/scale.node');
  if (existsSync(addon)) copyFileSync(addon, join(folder, 'scale.node'));
  const kernels = join(root, 'build/kernels/kernels.so');
  if (existsSync(kernels)) {
    copyFileSync(kernels, join(folder, 'kernels.so'));
    // As in docs/guides/tvm-ffi-compile.md, with npx.
    run('npm', ['exec', '--offline', '--', 'dlpack', 'types', 'kernels.so', 'kernels.d.ts'], folder);
  }
  const xgrammar = join(root, 'build/xgrammar');
  if (existsSync(xgrammar)) symlinkSync(xgrammar, join(folder, 'xgrammar'), 'dir');
  return folder;
}

export const removeProject = (folder: string): void => rmSync(folder, { recursive: true, force: true });
