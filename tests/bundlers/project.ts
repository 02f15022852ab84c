/** Projects that use the packed package with another tool, in folders of .bundlers, where npm run test:bundlers installs both. */

import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ok } from '../assert.js';

export const root = fileURLToPath(new URL('../../../', import.meta.url));
export const tools = join(root, '.bundlers');

export const packageJson = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  version: string;
  exports: Record<string, { browser?: string } | string>;
};

/** Every module of the package, as programs name it. */
export const modules = Object.keys(packageJson.exports)
  .filter((path) => !/\.(h|json)$/.test(path))
  .map((path) => path.replace('.', 'dlpack'));

/** Imports every module, and checks that each has functions; `dlpack/adapters/register` has only an effect. */
const everything = `
${modules.map((name, i) => `import * as module${i} from '${name}';`).join('\n')}
const modules = { ${modules.map((name, i) => `'${name}': module${i}`).join(', ')} };
for (const [name, module] of Object.entries(modules)) {
  if (name !== 'dlpack/adapters/register' && Object.keys(module).length === 0) throw new Error(name);
}`;

/** Uses native memory, native exchange and every module, and prints the result. */
export const program = `${everything}
import { Tensor, fromDLPack, nativeStatus } from 'dlpack';
import { addressOf, exportManaged, importManaged } from 'dlpack/native';
const x = Tensor.from([[1, 2], [3, 4]], { dtype: 'float32' });
const y = importManaged(exportManaged(fromDLPack(x).transpose()));
if (addressOf(x) !== addressOf(y) || y.get(0, 1) !== 3) throw new Error('wrong');
console.log('native memory:', nativeStatus().loaded, Object.keys(modules).length);
`;
export const works = `native memory: true ${modules.length}`;

/** A program for a browser that also calls native functions: it runs to the end and prints our error. */
export const pageProgram = `${everything}
import { Tensor, isDLPackError, nativeStatus } from 'dlpack';
import { exportManaged } from 'dlpack/native';
const x = Tensor.from([1, 2, 3]);
try {
  exportManaged(x);
} catch (error) {
  console.log('page:', x.get(2), nativeStatus().loaded, isDLPackError(error, 'LoadError'), Object.keys(modules).length);
}
`;
export const pageWorks = `page: 3 false true ${modules.length}`;

/** A fresh folder in .bundlers with these files: what is installed there can be imported. */
export function makeProject(name: string, files: Record<string, string>): string {
  const folder = join(tools, 'projects', name);
  rmSync(folder, { recursive: true, force: true });
  write(folder, { 'package.json': '{ "private": true, "type": "module" }', ...files });
  return folder;
}

export function write(folder: string, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

/** Copies a build to a folder without node_modules, and calls `action` there. */
export function elsewhere<T>(folder: string, action: (folder: string) => T): T {
  const target = mkdtempSync(join(tmpdir(), 'dlpack-bundle-'));
  try {
    cpSync(folder, target, { recursive: true });
    return action(target);
  } finally {
    rmSync(target, { recursive: true, force: true });
  }
}

/** The output of a command. Throws if the command fails. */
export function run(command: string, args: string[], cwd: string, env: Record<string, string> = {}): string {
  const { status, signal, stdout, stderr } = spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, CI: 'true', NO_COLOR: '1', ...env },
    timeout: 900_000,
  });
  const output = `${stdout}${stderr}`;
  // Bundles have long lines, and errors show them.
  const shown = output.replaceAll(/^(.{300}).*$/gm, '$1 ...').slice(-6000);
  ok(status === 0, `${command} ${args.join(' ')} ended with ${signal ?? status}\n${shown}`);
  return output;
}

export const node = (args: string[], cwd: string, env?: Record<string, string>): string =>
  run(process.execPath, args, cwd, env);

/** A command of an installed tool. */
export const tool = (path: string, args: string[], cwd: string, env?: Record<string, string>): string =>
  node([join(tools, 'node_modules', path), ...args], cwd, env);

/** The binary of another runtime in .runtimes, or null. */
export function runtimePath(path: string): string | null {
  const file = join(root, '.runtimes/node_modules', path);
  return existsSync(file) ? file : null;
}
