/** dlpack build: compiles the addon from the installed package, if no prebuilt addon fits. */

import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { LoadError } from '../errors.js';
import { findTarget } from '../native/load/target.js';
import { withTemporaryFolder } from '../tvm-ffi/compile/private-folder.js';
import { runCommand } from '../tvm-ffi/compile/tool.js';
import { findCompiler } from '../tvm-ffi/compile/toolchain.js';
import { type Command, parse, UsageError } from './command.js';
import { packageFolder } from './package.js';

interface Flags {
  nativeFolder: string;
  sources(): string[];
  compileFlags(platform: string, headers: string): string[];
  linkFlags(platform: string): string[];
}

/** The folder with node_api.h: in node-api-headers beside the package or here, or in the Node installation. */
export function findHeaders(): string {
  const places = [packageFolder(), process.cwd()].map((folder) => {
    try {
      return join(dirname(createRequire(join(folder, 'package.json')).resolve('node-api-headers')), 'include');
    } catch {
      return join(folder, 'node_modules/node-api-headers/include');
    }
  });
  const installation = resolve(process.execPath, '../../include/node');
  const found = [...places, installation].find((folder) => existsSync(join(folder, 'node_api.h')));
  if (found !== undefined) return found;
  throw new LoadError(
    'node_api.h, the headers of Node-API',
    [...places, installation],
    ['npm install node-api-headers', 'or install Node with its headers (include/node beside bin/node)'],
  );
}

/** Runs a compiler. The error contains its output. */
export async function execute(command: string, args: readonly string[], cwd: string): Promise<void> {
  const { isDone, status, output } = await runCommand(command, args, { cwd });
  if (isDone) return;
  throw new LoadError(
    'the addon that this compiler makes',
    [`${command} ${args.join(' ')} ended with ${status}:\n${output.trim()}`],
    ['use another one: CXX=clang++ npx dlpack build'],
  );
}

/** Shows progress on a terminal only, and never on standard output, which carries data. */
function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
}

async function loadFlags(): Promise<Flags> {
  const file = join(packageFolder(), 'native/flags.mjs');
  if (existsSync(file)) return (await import(pathToFileURL(file).href)) as Flags;
  throw new LoadError('the C++ sources of the package', [dirname(file)], ['npm install --force dlpack']);
}

/** Compiles all sources into `folder`, links them and returns the path of the addon. */
async function compile(folder: string): Promise<string> {
  const { command, args: first } = await findCompiler(undefined);
  const headers = findHeaders();
  const { nativeFolder, sources, compileFlags, linkFlags } = await loadFlags();
  const queue = sources();
  const count = queue.length;
  const objectOf = (source: string): string => join(folder, `${source.replaceAll('/', '-')}.o`);
  const objects = queue.map(objectOf);
  const flags = [...first, ...compileFlags(process.platform, headers)];
  const worker = async () => {
    for (let source = queue.shift(); source !== undefined; source = queue.shift()) {
      progress(`${count - queue.length} of ${count}: ${source}`);
      try {
        await execute(command, [...flags, '-c', source, '-o', objectOf(source)], nativeFolder);
      } catch (error) {
        queue.length = 0; // the other workers start no further compilers
        throw error;
      }
    }
  };
  // All compilers have ended before the caller removes the folder.
  const ended = await Promise.allSettled(Array.from({ length: availableParallelism() }, worker));
  const failure = ended.find((result) => result.status === 'rejected');
  if (failure !== undefined) throw failure.reason;
  const linked = join(folder, 'dlpack.node');
  await execute(command, [...first, ...objects, '-o', linked, ...linkFlags(process.platform)], folder);
  return linked;
}

/** Loads the addon in a separate process, because this process may have another addon, and a broken addon can crash. */
function tryLoading(addon: string): void {
  const script = join(dirname(addon), 'try.cjs');
  const check = "if (typeof require('./dlpack.node').createInstance === 'function') process.exit(0);";
  writeFileSync(script, `${check}\nconsole.error('it has no createInstance');\nprocess.exit(1);\n`);
  const args = 'deno' in process.versions ? ['run', '-A', script] : [script];
  const { status, signal, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (status === 0) return;
  const reason = (stderr ?? '').trim() || `ended with ${signal ?? status}`;
  throw new LoadError(
    'the addon that was compiled',
    [reason],
    ['compile with another compiler: CXX=clang++ npx dlpack build'],
  );
}

/**
 * Compiles the addon and puts it at `target`. The file there is replaced, not overwritten: another process may have it
 * loaded, and pnpm's file is a link to its store.
 */
async function build(target: string): Promise<void> {
  if (existsSync(target) && statSync(target).isDirectory()) {
    throw new UsageError(`expected a file for --out but "${target}" is a folder`);
  }
  const beside = `${target}.${randomUUID()}`;
  try {
    // First, because a folder that cannot be written should not be noticed after minutes of compiling.
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(beside, '', { flag: 'wx' }); // fails if the name exists, and follows no link
    await withTemporaryFolder('the addon that was compiled', async (folder) => {
      const linked = await compile(folder);
      tryLoading(linked);
      copyFileSync(linked, beside);
    });
    renameSync(beside, target);
  } finally {
    progress('');
    rmSync(beside, { force: true });
  }
}

export const command: Command = {
  help: `Usage: dlpack build [--out file]

Compiles the addon for this machine and puts it where the package finds it. Use it where the package has no addon. It needs a
C++17 compiler (c++, g++ or clang++, or the one named in CXX) and the headers of Node-API, from node-api-headers or from the Node
installation. The addon has no kernels for CUDA, because every system with NVIDIA's driver has a prebuilt addon.

  --out file   write the addon there instead; name it in DLPACK_ADDON, or call loadAddon(file) of dlpack/native
`,
  async run(args) {
    const { values, positionals } = parse(args, { out: 'string' });
    if (positionals.length > 0) throw new UsageError(`expected no argument but received "${positionals[0]}"`);
    if (values.out === '') throw new UsageError('expected the path of a file for --out but received ""');
    const target = resolve(values.out ?? join(packageFolder(), 'prebuilds', findTarget(), 'dlpack.node'));
    await build(target);
    process.stdout.write(`${target}\n`);
    return 0;
  },
};
