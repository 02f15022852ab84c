/** dlpack/wasm with modules as compilers make them: C++ with Emscripten, and Rust. */

import { Tensor } from 'dlpack';
import { type WasmExports, WasmHeap } from 'dlpack/wasm';
import { equal, ok } from '../assert.js';
import { test } from '../harness.js';

/** The functions of tests/wasm/real. Emscripten puts `_` before their names. */
interface Functions {
  matrix_new(rows: number, columns: number): number;
  deletions(): number;
  sum(tensor: number): number;
  keep(managed: number): void;
  use_kept(): number;
  drop_kept(): void;
  malloc(size: number): number;
  free(address: number): void;
}

interface RealModule {
  readonly exports: WasmExports;
  readonly functions: Functions;
  readonly memory: WebAssembly.Memory;
}

export type Bytes = (name: string) => Promise<Uint8Array<ArrayBuffer>>;

async function loadRust(bytes: Bytes): Promise<RealModule> {
  const { instance } = await WebAssembly.instantiate(await bytes('rust.wasm'));
  const { exports } = instance;
  return { exports, functions: exports as never as Functions, memory: exports.memory as WebAssembly.Memory };
}

type Make = (options: object) => Promise<WasmExports & Record<string, unknown>>;

async function loadEmscripten(bytes: Bytes, make: Make): Promise<RealModule> {
  const module = await make({ wasmBinary: await bytes('emscripten.wasm') });
  const names = ['matrix_new', 'deletions', 'sum', 'keep', 'use_kept', 'drop_kept', 'malloc', 'free'];
  const functions = Object.fromEntries(names.map((name) => [name, module[`_${name}`]])) as never as Functions;
  return { exports: module, functions, memory: (module.asm as { memory: WebAssembly.Memory }).memory };
}

/** Registers the tests. `bytes` loads a file of tests/wasm/real, and `make` is the function of Emscripten's script. */
export async function testReal(bytes: Bytes, make: Make): Promise<void> {
  const modules = { Rust: await loadRust(bytes), Emscripten: await loadEmscripten(bytes, make) };
  for (const [name, module] of Object.entries(modules)) register(name, module);

  test('a tensor goes from Rust to C++', () => {
    const { Rust, Emscripten } = modules;
    const x = new WasmHeap(Rust.exports).importManaged(Rust.functions.matrix_new(3, 4));
    const sent = new WasmHeap(Emscripten.exports).exportTensor(x.transpose());
    equal(Emscripten.functions.sum(sent.address as number), 66);
    sent.dispose();
    x.dispose();
  });
}

function register(name: string, { exports, functions, memory }: RealModule): void {
  const heap = new WasmHeap(exports);

  test(`${name}: its tensor is shared, and its deleter runs once, for the last owner`, () => {
    const before = functions.deletions();
    const address = functions.matrix_new(2, 3);
    const x = heap.importManaged(address);
    equal([x.dtype, x.toArray()], ['float32', [[0, 1, 2], [3, 4, 5]]]); // biome-ignore format: a table
    const column = x.slice(null, [1, 2]);
    x.dispose();
    column.set(1, 0, 40);
    const sent = heap.exportTensor(column);
    equal([functions.sum(sent.address as number), functions.deletions() - before], [41, 0]);
    column.dispose();
    equal(functions.deletions() - before, 0, 'the export is an owner, too');
    sent.dispose();
    sent.dispose();
    equal(functions.deletions() - before, 1);
  });

  test(`${name}: tensors survive the growth of the memory, and typed arrays end`, () => {
    const x = heap.importManaged(functions.matrix_new(2, 2));
    const own = heap.empty([4], 'int16').fill(7);
    const old = own.data;
    const before = memory.buffer;
    const large = functions.malloc(before.byteLength); // the allocator grows the memory
    ok(large !== 0 && memory.buffer !== before);
    equal([old.length, own.toArray(), x.toArray()], [0, [7, 7, 7, 7], [[0, 1], [2, 3]]]); // biome-ignore format: a table
    functions.free(large);
    own.dispose();
    x.dispose();
  });

  test(`${name}: exports are copied into its memory, and its free gets them back`, () => {
    const source = Tensor.from([[1, 2], [3, 4]], { dtype: 'float32' }); // biome-ignore format: a table
    const total = () => {
      const sent = heap.exportTensor(source.transpose());
      sent.tensor.set(0, 0, 10);
      const sum = functions.sum(sent.address as number);
      sent.dispose();
      return sum;
    };
    equal([total(), source.get(0, 0)], [19, 1]);
    const size = memory.buffer.byteLength;
    const wide = Tensor.zeros([1, 1000], 'float32');
    for (let i = 0; i < 10_000; i++) heap.exportTensor(wide).dispose(); // 40 MB if none were freed
    equal(memory.buffer.byteLength, size);
  });

  test(`${name}: it keeps our tensor and calls our deleter`, () => {
    const x = heap.empty([2, 2], 'float32').fill(1);
    functions.keep(heap.exportManaged(x) as number);
    x.set(0, 0, 5);
    x.dispose();
    equal(functions.use_kept(), 8);
    const size = memory.buffer.byteLength;
    functions.drop_kept();
    for (let i = 0; i < 1000; i++) {
      functions.keep(heap.exportManaged(Tensor.zeros([100, 100], 'float32')) as number);
      functions.drop_kept(); // 40 MB if the deleter freed nothing
    }
    equal(memory.buffer.byteLength, size);
  });
}
