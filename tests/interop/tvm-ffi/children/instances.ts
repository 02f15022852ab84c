/** The package evaluated twice over one addon file: each instance has its own callbacks, allocator and references. */

import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import * as core from 'dlpack';
import * as first from 'dlpack/tvm-ffi';
import { libraries, probePath } from '../peer.js';

const root = fileURLToPath(new URL('../../../../../', import.meta.url));
const copy = mkdtempSync(join(tmpdir(), 'dlpack-instance-'));
cpSync(join(root, 'dist'), join(copy, 'dist'), { recursive: true });
cpSync(join(root, 'package.json'), join(copy, 'package.json'));
symlinkSync(join(root, 'prebuilds'), join(copy, 'prebuilds'));

interface Entry {
  readonly [condition: string]: string | Entry;
}

function entryOf(subpath: string): string {
  const { exports } = JSON.parse(readFileSync(join(copy, 'package.json'), 'utf8')) as { exports: Entry };
  let entry = exports[subpath] as string | Entry;
  while (typeof entry === 'object') entry = (entry.node ?? entry.import ?? entry.default) as string | Entry;
  return pathToFileURL(join(copy, entry)).href;
}

const second = (await import(entryOf('./tvm-ffi'))) as typeof first;
const otherCore = (await import(entryOf('.'))) as typeof core;
process.on('exit', () => rmSync(copy, { recursive: true }));

const instances = [first, second];
for (const ffi of instances) ffi.loadModule(`${libraries}/libtvm_ffi_testing.so`);
const [apply1, apply2] = instances.map((ffi) => ffi.getGlobalFunc('testing.apply')) as [
  first.FFIFunction,
  first.FFIFunction,
];
const [probe1, probe2] = instances.map((ffi) => ffi.loadModule(probePath)) as [first.KernelModule, first.KernelModule];

first.registerGlobalFunc('dlpack.test.first', (text: string) => `${text} the first`);
second.registerGlobalFunc('dlpack.test.second', (text: string) => `${text} the second`);
const calls = [
  apply1((x: number) => x + 1, 41),
  apply2((x: number) => x + 2, 41),
  apply1((text: string) => apply2((inner: string) => `${inner}, second`, text), 'first'),
];
const crossed = [second.getGlobalFunc('dlpack.test.first')('from'), first.getGlobalFunc('dlpack.test.second')('from')];
const nested = apply1((a: string) => [a, apply2((b: string, c: string) => [b, c], 'inner', a)], 'outer');

const asked: string[] = [];
const allocate =
  (name: string, { Tensor }: typeof core) =>
  (shape: readonly number[], dtype: core.DType) => {
    asked.push(name);
    return Tensor.zeros(shape, dtype);
  };
first.setAllocator(allocate('first', core));
second.setAllocator(allocate('second', otherCore));
const sizeOf = (probe: first.KernelModule, ffi: typeof first, n: number) =>
  ((probe.allocate as first.FFIFunction)(new ffi.Shape([n]), new ffi.DataType('int8')) as core.Tensor).nbytes;
const allocated = [sizeOf(probe1, first, 3), sizeOf(probe2, second, 5), asked];

const errors = instances.map((_, i) => {
  try {
    (i === 0 ? apply1 : apply2)(() => {
      throw new RangeError(`of the ${i === 0 ? 'first' : 'second'}`);
    });
  } catch (error) {
    return (error as Error).message;
  }
  return null;
});
const async = await Promise.all(
  instances.map((ffi, i) => ffi.callAsync(ffi.getGlobalFunc('testing.echo'), `async ${i === 0 ? 'first' : 'second'}`)),
);

// Each instance treats the other's tensors like those of another library: they are exchanged without a copy.
const x = core.Tensor.from([1, 2], { dtype: 'float32' });
const y = second.getGlobalFunc('testing.echo')(x) as core.Tensor<'float32'>;
y.set(0, 9);
const isOther = !(y instanceof core.Tensor);
console.log(JSON.stringify({ calls, crossed, nested, allocated, errors, async, written: x.get(0), isOther }));
