import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { ok } from '../assert.js';
import { test, testWith } from '../harness.js';
import { elsewhere, makeProject, node, program, run, runtimePath, tool, tools, works } from './project.js';

const target = `${process.platform}-${process.arch}`;
const addon = join(tools, 'node_modules/dlpack/prebuilds', target, 'dlpack.node');

const bun = runtimePath('bun/bin/bun');
testWith(bun === null && 'Bun in .runtimes', 'bun build --compile: one file with the addon inside', () => {
  const project = makeProject('bun-compile', { 'main.js': program });
  mkdirSync(join(project, 'out'));
  run(bun as string, ['build', '--compile', 'main.js', '--outfile', 'out/main'], project);
  elsewhere(join(project, 'out'), (copy) => ok(run(join(copy, 'main'), [], copy).includes(works), 'main'));
});

// Single executable applications can only require built-in modules, so the program names the addon before its first use.
const executableProgram = `
import { loadAddon } from 'dlpack/native';
import { dirname, join } from 'node:path';
loadAddon(join(dirname(process.execPath), 'dlpack.node'));
${program}`;

test('a single executable application of Node with the addon beside it', () => {
  const project = makeProject('sea', { 'main.js': executableProgram });
  const out = join(project, 'out');
  mkdirSync(out);
  buildSync({
    entryPoints: [join(project, 'main.js')],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    outfile: join(project, 'main.cjs'),
    loader: { '.node': 'empty' },
  });
  const config = { main: 'main.cjs', output: 'main.blob', disableExperimentalSEAWarning: true };
  writeFileSync(join(project, 'sea.json'), JSON.stringify(config));
  node(['--experimental-sea-config', 'sea.json'], project);
  const executable = join(out, process.platform === 'win32' ? 'main.exe' : 'main');
  copyFileSync(process.execPath, executable);
  chmodSync(executable, 0o755);
  const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';
  const segment = process.platform === 'darwin' ? ['--macho-segment-name', 'NODE_SEA'] : [];
  const blob = ['NODE_SEA_BLOB', 'main.blob', '--sentinel-fuse', fuse, ...segment];
  tool('postject/dist/cli.js', [executable, ...blob], project);
  copyFileSync(addon, join(out, 'dlpack.node'));
  elsewhere(out, (copy) => ok(run(join(copy, 'main'), [], copy).includes(works), 'main'));
});
