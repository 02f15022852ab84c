/** npx dlpack of the packed package, in a project that has nothing else. */
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { equal, ok } from '../assert.js';
import { test, testWith } from '../harness.js';
import { packageJson, program, root, run, tools, works, write } from './project.js';

const project = mkdtempSync(join(tmpdir(), 'dlpack-cli-'));
process.on('exit', () => rmSync(project, { recursive: true, force: true }));
const installed = join(project, 'node_modules/dlpack');

/** The command that npm linked, without npx, which would hide the exit code of a process that a signal ended. */
function dlpack(args: string[], env: Record<string, string> = {}, node: string[] = []) {
  const bin = join(project, 'node_modules/.bin/dlpack');
  const options = { cwd: project, encoding: 'utf8', env: { ...process.env, NO_COLOR: '1', ...env } } as const;
  const { status, stdout, stderr } =
    node.length === 0
      ? spawnSync(bin, args, options)
      : spawnSync(node[0] as string, [...node.slice(1), bin, ...args], options);
  return { status, stdout, stderr };
}

test('the package installs without a network', () => {
  write(project, { 'package.json': '{ "private": true, "type": "module" }', 'main.js': program });
  const flags = ['--no-audit', '--no-fund', '--offline'];
  run('npm', ['install', ...flags, join(tools, 'packed/dlpack.tgz')], project);
});

test('npx dlpack: help, version and exit codes', () => {
  ok(run('npx', ['--no-install', 'dlpack', '--version'], project).includes(packageJson.version));
  for (const args of [
    ['--help'],
    ['-h'],
    ['help'],
    ['help', 'build'],
    ['doctor', '-h'],
    ['build', '--help'],
    ['types', '--help'],
  ]) {
    const { status, stdout } = dlpack(args);
    ok(status === 0 && stdout.startsWith('Usage: dlpack '), args.join(' '));
  }
  for (const args of [[], ['none'], ['doctor', '--none'], ['build', 'none'], ['types'], ['help', 'none']]) {
    equal(dlpack(args).status, 2, args.join(' '));
  }
});

test('npx dlpack doctor: as text, JSON and Markdown', () => {
  const { status, stdout } = dlpack(['doctor', '--json']);
  const { schema, ok: isFine, version, checks } = JSON.parse(stdout);
  equal([status, schema, isFine, version], [0, 1, true, packageJson.version], stdout);
  const { text } = checks.find(({ name }: { name: string }) => name === 'addon');
  ok(text.startsWith(installed), text);
  ok(dlpack(['doctor', '--markdown']).stdout.includes('| addon | ok |'));
  const shown = dlpack(['doctor']);
  ok(shown.status === 0 && shown.stdout.includes('✓ addon') && !shown.stdout.includes('\u001b['), shown.stdout);
  const broken = dlpack(['doctor', '--json'], { DLPACK_ADDON: '/no/such.node', DLPACK_QUIET: '1' });
  equal([broken.status, JSON.parse(broken.stdout).ok], [1, false]);
});

test('npx dlpack demo: runs from the installed package', () => {
  const output = run('npx', ['--no-install', 'dlpack', 'demo'], project);
  ok(output.includes('1,048,576 elements, 4 MiB') && output.includes(`${installed}/docs/tutorials`), output);
});

const kernels = join(root, 'build/kernels/kernels.so');
testWith(!existsSync(kernels) && 'build/kernels (npm test)', 'npx dlpack types: to the output and to a file', () => {
  const env = { VIRTUAL_ENV: join(root, '.venv') };
  const { status, stdout, stderr } = dlpack(['types', kernels], env);
  ok(status === 0 && stdout.includes('add_one'), stderr);
  equal(dlpack(['types', kernels, 'kernels.d.ts'], env).status, 0);
  equal(readFileSync(join(project, 'kernels.d.ts'), 'utf8'), stdout);
});

// A platform that the package has no addon for.
const pretend = ['--import', "data:text/javascript,Object.defineProperty(process,'arch',{value:'mips'})"];
const mips = join(installed, `prebuilds/${process.platform}-mips`);

test('npx dlpack build: names headers that are missing', () => {
  // A Node without headers beside it.
  const bare = join(project, 'bin/node');
  mkdirSync(join(project, 'bin'));
  copyFileSync(process.execPath, bare);
  const { status, stderr } = dlpack(['build'], {}, [bare, ...pretend]);
  equal([status, existsSync(join(mips, 'dlpack.node'))], [1, false], stderr);
  ok(stderr.includes('node_api.h') && stderr.includes('npm install node-api-headers'), stderr);
});

test('npx dlpack build: compiles the installed sources, and the package loads the result', () => {
  const before = dlpack(['doctor'], {}, [process.execPath, ...pretend]);
  ok(before.status === 1 && before.stdout.includes('→ npx dlpack build'), before.stdout);
  cpSync(join(root, 'node_modules/node-api-headers'), join(project, 'node_modules/node-api-headers'), {
    recursive: true,
  });
  // Without optimisation the compiler takes a fifth of the time. The name of its folder has a space.
  const compiler = join(project, 'a compiler/c++');
  const script = '#!/bin/sh\nfor a in "$@"; do shift; [ "$a" = -O3 ] || set -- "$@" "$a"; done\nexec c++ "$@"\n';
  mkdirSync(join(project, 'a compiler'));
  writeFileSync(compiler, script, { mode: 0o755 });
  // pnpm links files to its store, which a build must not write.
  const store = join(project, 'store');
  writeFileSync(store, 'kept');
  mkdirSync(mips, { recursive: true });
  linkSync(store, join(mips, 'dlpack.node'));
  const { status, stdout, stderr } = dlpack(['build'], { CXX: compiler }, [process.execPath, ...pretend]);
  equal([status, stdout], [0, `${join(mips, 'dlpack.node')}\n`], stderr);
  equal(readFileSync(store, 'utf8'), 'kept');
  ok(run(process.execPath, [...pretend, 'main.js'], project).includes(works));
  const { stdout: after } = dlpack(['doctor', '--json'], {}, [process.execPath, ...pretend]);
  ok(after.includes(join(mips, 'dlpack.node')), after);
});
