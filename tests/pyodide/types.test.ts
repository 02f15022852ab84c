/** The types of dlpack/pyodide with those of every Pyodide that the tests run. */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { equal } from '../assert.js';
import { runtime, testWith, unless } from '../harness.js';
import { counterparts } from './load.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));

const program = (pyodide: string) => `
import { type DLPackSource, fromDLPack, type Tensor } from 'dlpack';
import { toOnnxRuntime } from 'dlpack/adapters';
import { attach } from 'dlpack/pyodide';
import type { PyBuffer, PyCallable, PyDict, PyProxy } from '../../.pyodide/node_modules/${pyodide}/ffi.js';
import type { loadPyodide } from '../../.pyodide/node_modules/${pyodide}/pyodide.js';

declare const pyodide: Awaited<ReturnType<typeof loadPyodide>>;
declare const proxy: PyProxy;
declare const others: { buffer: InstanceType<typeof PyBuffer>; function: PyCallable; dict: PyDict };

const python = attach(pyodide);
const x: Tensor = fromDLPack(proxy);
const y: Tensor<'float32'> = fromDLPack(proxy, { dtype: 'float32', shape: [null, 3] });
const sources: DLPackSource[] = [proxy, others.buffer, others.function, others.dict, pyodide.globals.get('a')];
fromDLPack(others.function);
toOnnxRuntime(proxy, { Tensor: class {} });
pyodide.globals.set('x', python.toPython(x));
// @ts-expect-error: not a Pyodide
attach(proxy);
export { sources, y };
`;

const versions = Object.values(counterparts).map(({ pyodide }) => pyodide);
const absent = versions.find((name) => !existsSync(join(root, '.pyodide/node_modules', name)));
const missing =
  unless(runtime === 'node', 'types do not depend on the runtime') || (absent !== undefined && `${absent} in .pyodide`);

testWith(missing, 'a PyProxy of every Pyodide is a source, and a Pyodide can be attached', () => {
  const folder = mkdtempSync(join(root, 'build/pyodide-types-')); // where `dlpack` is this package
  try {
    const files = versions.map((pyodide) => `${pyodide}.ts`);
    for (const [i, file] of files.entries()) writeFileSync(join(folder, file), program(versions[i] as string));
    const compilerOptions = {
      ...{ strict: true, noEmit: true, skipLibCheck: true, target: 'es2022', module: 'nodenext' },
      ...{ lib: ['es2023', 'esnext.disposable', 'dom'], types: ['node'], typeRoots: ['../../node_modules/@types'] },
    };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    const { stdout, status } = spawnSync(process.execPath, [tsc, '--project', folder], { encoding: 'utf8' });
    equal([stdout, status], ['', 0]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
