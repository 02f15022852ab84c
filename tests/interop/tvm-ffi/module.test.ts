import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Tensor } from 'dlpack';
import {
  asModule,
  describeFunction,
  describeModule,
  type FFIFunction,
  implementsFunction,
  importModule,
  loadModule,
  sameAs,
  systemLibrary,
} from 'dlpack/tvm-ffi';
import { equal, ok, throws } from '../../assert.js';
import { runChild } from '../../child.js';
import { testWith } from '../../harness.js';
import { kernelsMissing, kernelsPath, libraries, probePath, raises, testing } from './peer.js';

const root = fileURLToPath(new URL('../../../../', import.meta.url));

testWith(kernelsMissing, 'functions are properties, looked up once', () => {
  const kernels = loadModule(kernelsPath);
  const { add_one } = kernels;
  ok(add_one !== undefined && add_one === kernels.add_one);
  equal(['add_one' in kernels, 'no_such' in kernels], [true, false]);
  throws('ValueError', 'no_such', () => kernels.no_such);
  throws('TypeError', 'a string', () => loadModule(7 as never));
  raises('InternalError', '/no/such.so', () => loadModule('/no/such.so'));
  raises('RuntimeError', 'not registered', () => loadModule(`${root}package.json`));
  let name = '';
  try {
    (kernels as Record<string, unknown>).add_one = 1;
  } catch (error) {
    name = (error as Error).name;
  }
  equal(name, 'TypeError');
});

testWith(kernelsMissing, 'a module can be awaited, passed on and returned', async () => {
  const kernels = await Promise.resolve(loadModule(kernelsPath));
  const back = asModule(testing('echo')(kernels));
  ok((back.iota as FFIFunction)(2) instanceof Tensor);
  throws('TypeError', 'a module', () => asModule({}));
  throws('TypeError', 'a module', () => asModule(testing('make_unregistered_object')()));
});

testWith(kernelsMissing, 'objects that a module returned outlive its handle', () => {
  // A copy under another name, which nothing else keeps loaded.
  const copy = join(root, 'build/kernels/pinned.so');
  copyFileSync(probePath, copy);
  try {
    const { code, signal, output } = runChild(import.meta.url, './children/pinned.js', { args: [copy] });
    equal([code, signal], [0, null], output);
    equal(JSON.parse(output), { wasMapped: true, values: [0, 1, 2], blocks: 0 });
  } finally {
    rmSync(copy, { force: true });
  }
});

testWith(kernelsMissing, 'kernel errors have their kind and message', () => {
  const { fail, add_one } = loadModule<Record<'fail' | 'add_one', FFIFunction>>(kernelsPath);
  raises('ValueError', 'what was said', () => fail('what was said'));
  raises('TypeError', 'expected float32', () => add_one(Tensor.zeros([1], 'int32'), Tensor.zeros([1], 'float32')));
  raises('TypeError', 'Expected 2 but got 1', () => add_one(Tensor.zeros([1], 'float32')));
  raises('TypeError', 'argument #', () => add_one('x', 'y'));
});

testWith(kernelsMissing, 'metadata and documentation', () => {
  const kernels = loadModule(kernelsPath);
  const { metadata, doc } = describeFunction(kernels, 'add_one');
  ok(metadata?.includes('DLTensor*'));
  equal(doc, 'Writes x + 1 into y.');
  equal(describeFunction(kernels, 'add_one_c'), { metadata: null, doc: null });
  throws('TypeError', 'a module', () => describeFunction({}, 'x'));
});

/** A program with the declarations of the testing library and of probe.so. TypeScript finds each mistake in it. */
const program = `
import { loadModule, objectClass } from 'dlpack/tvm-ffi';
import type { Kernels } from './declarations.js';
import type { SchemaAllTypes, TestCxxClassDerived, TestIntPair } from './declarations-of-objects.js';
const pair = new (objectClass<TestIntPair>('testing.TestIntPair'))(1, 2);
const sum: number | bigint = pair.sum();
// @ts-expect-error the field is read-only
pair.a = 5;
// @ts-expect-error there is no such method
pair.product();
const derived = objectClass<TestCxxClassDerived>('testing.TestCxxClassDerived').fromFields({ v_i64: 1, v_f64: 2 });
derived.v_f64 = 0.5;
// @ts-expect-error a number, not a text
derived.v_i32 = 'one';
const all = objectClass<SchemaAllTypes>('testing.SchemaAllTypes').fromFields({});
const numbers: (number | bigint)[] = all.append_int([1], 2);
const table: Map<string, (number | bigint)[]> = all.v_map_str_arr_int;
const kernels = loadModule<Kernels>('probe.so');
// @ts-expect-error not a tensor
kernels.describe(5);
export { numbers, sum, table };
`;

testWith(kernelsMissing, 'the command writes declarations that TypeScript accepts', () => {
  const cli = join(root, 'dist/cli/main.js');
  const target = 'build/declarations.d.ts';
  const objects = 'build/declarations-of-objects.d.ts';
  const use = 'build/use-of-declarations.mts';
  const run = (...args: string[]) =>
    spawnSync(process.execPath, [cli, 'types', ...args], { cwd: root, encoding: 'utf8' });
  try {
    equal(run('build/kernels/probe.so', target).status, 0);
    equal(run(`${libraries}/libtvm_ffi_testing.so`, objects).status, 0);
    const types = readFileSync(join(root, objects), 'utf8');
    const pair =
      'TestIntPair extends FFIObject {\n  readonly a: number | bigint;\n  readonly b: number | bigint;\n  sum(): number | bigint;\n}';
    ok(types.includes(pair) && types.includes('TestCxxClassDerived extends TestCxxClassBase {'), types);
    const flags = [
      '--ignoreConfig',
      '--noEmit',
      '--strict',
      '--module',
      'nodenext',
      '--target',
      'es2022',
      '--types',
      '',
    ];
    writeFileSync(join(root, use), program);
    const tsc = spawnSync(join(root, 'node_modules/.bin/tsc'), [...flags, target, objects, use], {
      cwd: root,
      encoding: 'utf8',
    });
    equal([tsc.status, tsc.stdout], [0, '']);
  } finally {
    for (const file of [target, objects, use]) rmSync(join(root, file), { force: true });
  }
  ok(run('build/kernels/probe.so').stdout.includes('describe(arg0: TensorView): unknown[];'));
  const text = run(kernelsPath).stdout;
  for (const line of [
    'add_one(arg0: TensorView, arg1: TensorView): void;',
    'add_one_c: FFIFunction;',
    'iota(arg0: number | bigint): Tensor;',
    'fail(arg0: string): void;',
    '   * Writes x + 1 into y.',
  ]) {
    ok(text.includes(line), `${line} in ${text}`);
  }
  equal(run().status, 2);
  const missing = run('/no/such.so');
  equal([missing.status, missing.stderr.includes('no/such.so')], [1, true]);
});

testWith(kernelsMissing, 'kind, functions and imports of a module', () => {
  const kernels = loadModule(kernelsPath);
  const probes = loadModule(probePath);
  equal(describeModule(kernels), { kind: 'library', imports: [], source: '' });
  equal([implementsFunction(kernels, 'add_one'), implementsFunction(kernels, 'type_of')], [true, false]);
  importModule(kernels, probes);
  equal([implementsFunction(kernels, 'type_of'), (kernels.type_of as FFIFunction)(5)], [true, 1]);
  const { imports } = describeModule(kernels);
  ok(imports.length === 1 && sameAs(imports[0], probes));
  equal(implementsFunction(systemLibrary(), 'no_such_function'), false);
  throws('TypeError', 'a module', () => describeModule({}));
  throws('TypeError', 'a module', () => importModule(kernels, {}));
});

testWith(kernelsMissing, 'Python loads the same file', () => {
  const script = `
import numpy as np, tvm_ffi, sys
kernels = tvm_ffi.load_module(sys.argv[1])
x = np.array([1, 2, 3], dtype=np.float32); y = np.zeros(3, dtype=np.float32)
kernels.add_one(x, y); print(y.tolist())
kernels.add_one_c(y, y); print(y.tolist())`;
  const python = join(root, '.venv/bin/python');
  const output = execFileSync(python, ['-I', '-c', script, kernelsPath], { encoding: 'utf8' });
  equal(output.trim().split('\n'), ['[2.0, 3.0, 4.0]', '[3.0, 4.0, 5.0]']);
});
