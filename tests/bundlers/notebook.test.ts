/** Tensors in a notebook: cells that import the packed package, in the Jupyter kernel of Deno, driven by Jupyter's own client. */

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { equal, ok } from '../assert.js';
import { testWith } from '../harness.js';
import { makeProject, root, runtimePath } from './project.js';

const deno = runtimePath(process.platform === 'win32' ? 'deno/deno.exe' : 'deno/deno');
const python = join(root, '.venv-notebook', process.platform === 'win32' ? 'Scripts/python.exe' : 'bin/python');
const missing = (deno === null && 'Deno in .runtimes') || (!existsSync(python) && 'jupyter_client in .venv-notebook');

type Shown = [type: string, content: { data?: Record<string, string>; text?: string; ename?: string }];

/** What the kernel shows for each cell. */
function runCells(cells: readonly string[]): Shown[] {
  const project = makeProject('notebook', {});
  const args = [join(root, 'tests/bundlers/kernel.py'), deno as string, project];
  const { status, stdout, stderr } = spawnSync(python, args, {
    encoding: 'utf8',
    input: JSON.stringify(cells),
    env: { ...process.env, NO_COLOR: '1', DENO_NO_UPDATE_CHECK: '1' },
  });
  equal(status, 0, stderr);
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Shown);
}

testWith(missing, "Deno's Jupyter kernel shows tensors as tables, plots and pictures", () => {
  const [table, plot, picture, displayed, logged, printed, nested, cube, failed, disposed] = runCells([
    "import { Tensor } from 'dlpack'; const x = Tensor.from([[1, 2], [3, 4.5]]); x",
    "Tensor.arange(1000, 'int64')",
    "Tensor.arange(24, 'uint8').reshape([4, 2, 3])",
    'await Deno.jupyter.display(x)',
    'console.log(x)',
    'await x.print()',
    '({ x })',
    "Tensor.zeros([2, 2, 2], 'float32')",
    'x.reshape([5])',
    'x.dispose(); x',
  ]) as [Shown, Shown, Shown, Shown, Shown, Shown, Shown, Shown, Shown, Shown];
  const bundleOf = ([type, { data = {} }]: Shown, wanted = 'execute_result'): Record<string, string> => {
    equal(type, wanted);
    return data;
  };
  const text = 'Tensor float64 [2, 2] cpu\n[[1. , 2. ],\n [3. , 4.5]]';
  const html =
    '<table><caption>float64 [2, 2] cpu</caption><tr><th></th><th>0</th><th>1</th></tr>' +
    '<tr><th>0</th><td>1. </td><td>2. </td></tr><tr><th>1</th><td>3. </td><td>4.5</td></tr></table>';
  equal(bundleOf(table), { 'text/plain': text, 'text/html': html });
  equal(bundleOf(displayed, 'display_data'), { 'text/plain': text, 'text/html': html });
  const plotted = bundleOf(plot);
  equal(Object.keys(plotted).sort(), ['image/svg+xml', 'text/plain']);
  ok(plotted['image/svg+xml']?.includes('int64 [1000]: 0.000 to 999.0') === true);
  const png = Buffer.from(bundleOf(picture)['image/png'] ?? '', 'base64');
  equal([png.toString('latin1', 1, 4), png.readUInt32BE(16), png.readUInt32BE(20)], ['PNG', 2, 4]);
  for (const [, content] of [logged, printed]) equal(content.text, `${text}\n`);
  ok(bundleOf(nested)['text/plain']?.includes('x: Tensor float64 [2, 2] cpu') === true);
  equal(Object.keys(bundleOf(cube)), ['text/plain']);
  equal([failed[0], failed[1].ename], ['error', 'LayoutError']);
  equal(bundleOf(disposed), { 'text/plain': 'Tensor(disposed)' });
});
