/** The example with ONNX Runtime in JavaScript actors, in a project of its own that has the packed package installed. */

import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { equal } from '../assert.js';
import { runtimeArgs } from '../child.js';
import { makeProject, removeProject, root } from '../docs/project.js';
import { runtime, testWith } from '../harness.js';
import { rayMissing } from './available.js';

const library = join(root, '.libraries/node_modules/onnxruntime-node');
const missing = rayMissing || (existsSync(library) ? false : 'onnxruntime-node in .libraries');
const files = ['main.ts', 'model.ts'];

testWith(missing, 'examples/cluster/inference: data-parallel inference in JavaScript actors', () => {
  const folder = makeProject();
  const run = (command: string, args: string[]): string => {
    const { status, signal, stdout, stderr } = spawnSync(command, args, { cwd: folder, encoding: 'utf8' });
    return `${signal ?? status}\n${stdout}${status === 0 ? '' : stderr}`;
  };
  try {
    for (const file of files) copyFileSync(join(root, 'examples/cluster/inference', file), join(folder, file));
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    const flags = ['--module', 'nodenext', '--target', 'es2022', '--types', 'node', '--strict'];
    equal(run('node', [tsc, ...flags, ...files]), '0\n');
    equal(run(process.execPath, [...runtimeArgs[runtime], 'main.js']), '0\n0 2 4 6 8 10 12 14\n2 processes\n');
  } finally {
    removeProject(folder);
  }
});
