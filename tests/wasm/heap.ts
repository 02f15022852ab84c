/** dlpack/wasm with a real module, compiled for 32-bit and 64-bit memory. */

import { DLPACK, fromDLPack, type ManagedTensor, Tensor } from 'dlpack';
import { type WasmAddress, WasmHeap } from 'dlpack/wasm';
import { equal, ok, throws } from '../assert.js';
import { collectUntil, testWith } from '../harness.js';

/** The exports of tests/wasm/tensors.cc. */
export interface Exports {
  readonly memory: WebAssembly.Memory;
  readonly __indirect_function_table: WebAssembly.Table;
  malloc(size: WasmAddress): WasmAddress;
  free(address: WasmAddress): void;
  live(): number;
  deletions(): number;
  tensor_new(rows: number, columns: number): WasmAddress;
  tensor_free(tensor: WasmAddress): void;
  managed_new(rows: number, columns: number, major: number, flags: number): WasmAddress;
  managed_trap(): WasmAddress;
  sum(tensor: WasmAddress): number;
  scale(tensor: WasmAddress, by: number): void;
  keep(managed: WasmAddress): void;
  use_kept(): number;
  drop_kept(): void;
}

/** Registers the tests. `load` returns the bytes of a compiled module, or null where it was not compiled. */
export async function testHeap(load: (name: string) => Promise<Uint8Array<ArrayBuffer> | null>): Promise<void> {
  // Both before the first test is registered, because the tests start soon after that.
  const modules = [await load('tensors32.wasm'), await load('tensors64.wasm')] as const;
  for (const bits of [32, 64] as const) {
    const bytes = modules[bits === 32 ? 0 : 1];
    if (bytes !== null && !WebAssembly.validate(bytes)) {
      console.log(`skip ${bits}-bit WebAssembly memory: this runtime has none`);
      continue;
    }
    register(`wasm${bits}`, bytes, bits === 64);
  }
}

function register(name: string, bytes: Uint8Array<ArrayBuffer> | null, memory64: boolean): void {
  const compiled = bytes === null ? null : new WebAssembly.Module(bytes);
  const test = (title: string, body: (exports: Exports, heap: WasmHeap) => void | Promise<void>) =>
    testWith(compiled === null ? 'Zig, which compiles the module' : false, `${name}: ${title}`, async () => {
      const exports = new WebAssembly.Instance(compiled as WebAssembly.Module).exports as never as Exports;
      await body(exports, new WasmHeap(exports, { memory64 }));
    });

  test('a view shares the memory, in both directions', (exports, heap) => {
    const address = exports.tensor_new(2, 3);
    const view = heap.viewTensor(address);
    equal([view.dtype, view.toArray()], ['float32', [[0, 1, 2], [3, 4, 5]]]); // biome-ignore format: a table
    view.set(1, 2, 50);
    exports.scale(address, 2);
    equal(view.transpose().toArray(), [[0, 6], [2, 8], [4, 100]]); // biome-ignore format: a table
    exports.tensor_free(address);
    equal(exports.live(), 0);
  });

  test('the bits after the last packed element are zero', (exports, heap) => {
    const used = Array.from({ length: 8 }, () => heap.empty([3], 'uint8').fill(255));
    for (const tensor of used) tensor.dispose();
    using packed = heap.empty([5], 'uint4').fill(15);
    using bytes = Tensor.wrap(packed.data as Uint8Array);
    equal(bytes.toArray(), [255, 255, 15]);
    packed.dispose();
    equal(exports.live(), 0);
  });

  test('views, tensors and exports survive a growing memory, and typed arrays are detached', (exports, heap) => {
    const address = exports.tensor_new(2, 2);
    const view = heap.viewTensor(address);
    const owned = heap.empty([3], 'int32').fill(7);
    const old = owned.data;
    const before = exports.memory.buffer;
    exports.memory.grow((memory64 ? 4n : 4) as number);
    ok(exports.memory.buffer !== before);
    equal(old.length, 0);
    exports.scale(address, 3);
    equal(view.toArray(), [[0, 3], [6, 9]]); // biome-ignore format: a table
    view.set(0, 0, 1);
    equal(view.get(0, 0), 1);
    equal([...owned.data], [7, 7, 7]);
    // An export larger than the memory makes malloc grow it in the middle of the export.
    const large = heap.exportTensor(Tensor.zeros([300_000], 'float32').fill(1));
    equal([large.tensor.get(299_999), owned.get(2), view.get(1, 1)], [1, 7, 9]);
    large.dispose();
    owned.dispose();
  });

  test("an owned tensor is freed by the module's own function, once, by the last owner", (exports, heap) => {
    const address = exports.tensor_new(4, 4);
    let released = 0;
    const release = () => {
      released++;
      exports.tensor_free(address);
    };
    const x = heap.importTensor(address, { release });
    const part = x.slice([1, 3]);
    x.dispose();
    equal([released, part.get(0, 0)], [0, 4]);
    part.dispose();
    part.dispose();
    equal([released, exports.live()], [1, 0]);
  });

  test('a managed tensor: its deleter is called once', (exports, heap) => {
    const x = heap.importManaged(exports.managed_new(2, 2, 1, 1));
    equal([x.isReadOnly, x.toArray()], [true, [[0, 1], [2, 3]]]); // biome-ignore format: a table
    const second = x.transpose();
    x.dispose();
    equal(exports.deletions(), 0);
    second.dispose();
    equal([exports.deletions(), exports.live()], [1, 0]);
    const trap = heap.importManaged(exports.managed_trap());
    throws('ForeignError', 'deleter', () => trap.dispose());
    throws('VersionError', 'version 2', () => heap.importManaged(exports.managed_new(2, 2, 2, 0)));
    equal([exports.deletions(), exports.live()], [2, 3]); // 3 blocks of the tensor whose deleter failed
  });

  test('a managed tensor that was never disposed is deleted by the collector', async (exports, heap) => {
    if (!('gc' in globalThis) && !('Bun' in globalThis)) return;
    const make = () => void heap.importManaged(exports.managed_new(1, 1, 1, 0));
    make();
    ok(await collectUntil(() => exports.deletions() === 1));
  });

  test('new tensors come from malloc and go to free', (exports, heap) => {
    const x = heap.empty([2, 2], 'float64');
    x.copyFrom(Tensor.from([[1, 2], [3, 4]])); // biome-ignore format: a table
    const offset = Number(heap.addressOf(x));
    equal([...new Float64Array(exports.memory.buffer, offset, 4)], [1, 2, 3, 4]);
    equal(Number(heap.addressOf(x.slice(1))), offset + 16);
    equal(exports.live(), 1);
    throws('BufferError', 'exportTensor', () => heap.addressOf(Tensor.from([1])));
  });

  test('an export copies elements from outside with their strides, and shares those inside', (exports, heap) => {
    const source = Tensor.from([[1, 2, 3], [4, 5, 6]], { dtype: 'float32' }); // biome-ignore format: a table
    const sent = heap.exportTensor(source.transpose());
    equal([exports.sum(sent.address), sent.tensor.shape], [21, [3, 2]]);
    exports.scale(sent.address, 10);
    equal(sent.tensor.toArray(), [[10, 40], [20, 50], [30, 60]]); // biome-ignore format: a table
    equal(source.get(0, 0), 1);
    sent.dispose();
    sent.dispose();
    equal(exports.live(), 0);

    const inside = heap.empty([2, 3], 'float32');
    inside.copyFrom(source);
    const part = inside.slice(null, [1, 3]);
    const shared = heap.exportTensor(part);
    equal(exports.sum(shared.address), 16);
    inside.set(0, 1, 100);
    equal(exports.sum(shared.address), 114);
    inside.dispose();
    part.dispose();
    equal(shared.tensor.get(0, 0), 100); // still owned
    shared.dispose();
    equal(exports.live(), 0);
  });

  test('a managed export lives until the module calls its deleter', (exports, heap) => {
    const inside = heap.empty([1, 3], 'float32').fill(2);
    exports.keep(heap.exportManaged(inside));
    inside.set(0, 0, 5);
    inside.dispose();
    equal(exports.use_kept(), 9);
    exports.memory.grow((memory64 ? 1n : 1) as number);
    equal(exports.use_kept(), 9);
    exports.drop_kept();
    equal(exports.live(), 0);
    const copied = heap.exportManaged(Tensor.from([[1, 2]], { dtype: 'float32' }));
    exports.keep(copied);
    equal(exports.use_kept(), 3);
    exports.drop_kept();
    equal(exports.live(), 0);
    throws('ConsumedError', 'twice', () => exports.drop_kept());
  });

  test('a managed export of memory with other owners does not claim to be a copy', (exports, heap) => {
    const x = heap.importManaged(exports.managed_new(1, 1, 1, 2));
    equal(x.isCopied, true);
    const managed = heap.exportManaged(x);
    const flags = new DataView(exports.memory.buffer).getBigUint64(Number(managed) + (memory64 ? 24 : 16), true);
    equal(flags, 0n);
    exports.keep(managed);
    exports.drop_kept();
    x.dispose();
    equal(exports.live(), 0);
  });

  test('elements at an address need no struct', (exports, heap) => {
    const block = exports.malloc((memory64 ? 64n : 64) as never);
    const at = Number(block);
    new Float32Array(exports.memory.buffer, at, 6).set([0, 1, 2, 3, 4, 5]);
    let released = 0;
    const release = () => {
      released++;
      exports.free(block);
    };
    const x = heap.tensorAt(block, { shape: [2, 3], dtype: 'float32', readonly: true, release });
    equal([x.toArray(), x.isReadOnly, x.dtype], [[[0, 1, 2], [3, 4, 5]], true, 'float32']); // biome-ignore format: a table
    throws('ReadOnlyError', 'set', () => x.set(0, 0, 1));
    const last = (memory64 ? BigInt(at + 20) : at + 20) as WasmAddress;
    const reversed = heap.tensorAt(last, { shape: [2, 3], dtype: 'float32', strides: [-3, -1] });
    reversed.set(0, 0, 50);
    equal([x.get(1, 2), reversed.get(1, 2)], [50, 0]);
    exports.memory.grow((memory64 ? 1n : 1) as number);
    equal(x.get(1, 2), 50);
    x.dispose();
    equal([released, exports.live()], [1, 0]);
    equal(heap.tensorAt((memory64 ? 0n : 0) as WasmAddress, { shape: [0], dtype: 'int8' }).size, 0);
    const size = exports.memory.buffer.byteLength;
    const wrong = { shape: [size], dtype: 'float32', release } as const;
    throws('LayoutError', 'memory of', () => heap.tensorAt(block, wrong));
    throws('LayoutError', 'multiple of 4', () => heap.tensorAt((memory64 ? 6n : 6) as never, { ...wrong, shape: [1] }));
    throws('TypeError', 'NULL', () => heap.tensorAt((memory64 ? 0n : 0) as never, { ...wrong, shape: [1] }));
    throws('TypeError', 'release', () => heap.tensorAt(block, { ...wrong, shape: [1], release: 1 as never }));
    equal(released, 1);
  });

  test('an export without a version, and copies that say so', (exports, heap) => {
    const inside = heap.empty([2, 2], 'float32').fill(3);
    const old = heap.exportManaged(inside, { versioned: false });
    const x = heap.importManaged(old, { versioned: false, readonly: true });
    inside.set(1, 1, 4);
    inside.dispose();
    equal([x.toArray(), x.isReadOnly], [[[3, 3], [3, 4]], true]); // biome-ignore format: a table
    throws('BufferError', 'read-only', () => heap.exportManaged(x, { versioned: false }));
    const copied = heap.importManaged(heap.exportManaged(x, { copy: true }));
    equal([copied.isCopied, copied.isReadOnly, copied.toArray()], [true, false, x.toArray()]);
    copied.set(0, 0, 9);
    equal(x.get(0, 0), 3);
    copied.dispose();
    x.dispose();
    equal(exports.live(), 0);
    throws('BufferError', 'copy: false', () => heap.exportManaged(Tensor.from([1]), { copy: false }));
    throws('TypeError', 'copy', () => heap.exportManaged(Tensor.from([1]), { copy: 1 as never }));
  });

  test("a function of the program's own takes the place of the deleter", (exports, heap) => {
    const bare = new WasmHeap({ memory: exports.memory }, { memory64 });
    const managed = exports.managed_new(1, 1, 1, 0);
    let released = 0;
    const x = bare.importManaged(managed, { release: () => released++ });
    equal([x.get(0, 0), released], [0, 0]);
    x.dispose();
    equal([released, exports.deletions()], [1, 0]);
    const newer = exports.managed_new(1, 1, 2, 0);
    throws('VersionError', 'version 2', () => bare.importManaged(newer, { release: () => released++ }));
    equal(released, 2);
    heap.importManaged(managed).dispose(); // nothing has freed it
    equal(exports.deletions(), 1);
  });

  test('a consumer of the protocol follows the memory when it grows', (exports, heap) => {
    const x = heap.empty([3], 'int32').fill(7);
    const managed = x[DLPACK]({ memory: true }) as ManagedTensor;
    ok(managed.data === exports.memory);
    managed.deleter?.();
    const y = fromDLPack(x, { copy: false });
    const old = y.data;
    exports.memory.grow((memory64 ? 1n : 1) as number);
    equal([old.length, y.toArray()], [0, [7, 7, 7]]);
    y.set(1, 8);
    equal(x.toArray(), [7, 8, 7]);
    // A consumer that does not know of growth gets a copy, or an error.
    const plain = x[DLPACK]({}) as ManagedTensor;
    equal([plain.data instanceof ArrayBuffer, Number(plain.flags) & 2], [true, 2]);
    plain.deleter?.();
    throws('BufferError', 'memory: true', () => x[DLPACK]({ copy: false }));
    throws('TypeError', 'memory', () => x[DLPACK]({ memory: 1 as never }));
    const forged = { ...managed, deleter: null, data: { buffer: new ArrayBuffer(64) } };
    throws('TypeError', 'WebAssembly.Memory', () => fromDLPack(forged));
    x.dispose();
    equal(exports.live(), 1);
    y.dispose();
    equal(exports.live(), 0);
  });

  test("the parts of Emscripten's linker, and its addFunction", (exports, heap) => {
    const linked = new WasmHeap({ LDSO: { loadedLibsByName: { __main__: { exports } } } }, { memory64 });
    const x = linked.empty([1, 2], 'float32').fill(1);
    exports.keep(linked.exportManaged(x));
    equal(exports.use_kept(), 2);
    exports.drop_kept();
    x.dispose();
    const added: string[] = [];
    const { memory, malloc, free } = exports;
    const addFunction = (action: (self: WasmAddress) => void, signature: string) => {
      added.push(`${typeof action} ${signature}`);
      return 1;
    };
    const other = new WasmHeap({ memory, malloc, free, addFunction }, { memory64 });
    const managed = other.exportManaged(Tensor.from([1]));
    const deleterAt = Number(managed) + (memory64 ? 16 : 12);
    equal([added, new DataView(memory.buffer).getUint32(deleterAt, true)], [[`function ${memory64 ? 'vj' : 'vi'}`], 1]);
    equal(heap.importManaged(managed, { release: () => {} }).toArray(), [1]);
  });

  test('modules without the needed parts, and hostile addresses', (exports, heap) => {
    const bare = new WasmHeap({ memory: exports.memory }, { memory64 });
    throws('LoadError', '_malloc', () => bare.empty([1], 'int8'));
    throws('LoadError', 'wasmTable', () => bare.importManaged(exports.managed_new(1, 1, 1, 0)));
    throws('LoadError', '_malloc', () => bare.exportTensor(Tensor.from([1])));
    const renamed = { wasmMemory: exports.memory, _malloc: exports.malloc, _free: exports.free };
    new WasmHeap(renamed, { memory64 }).empty([1], 'int8').dispose(); // as Emscripten names them
    throws('TypeError', 'WebAssembly.Memory', () => new WasmHeap({}));
    throws('TypeError', 'exports', () => new WasmHeap(null as never));
    throws('TypeError', 'memory64', () => new WasmHeap(exports, { bits: 64 } as never));
    const size = exports.memory.buffer.byteLength;
    for (const address of [size, size - 8, -8]) throws('LayoutError', 'DLTensor', () => heap.viewTensor(address));
    throws('TypeError', 'address', () => heap.viewTensor(1.5));
    if (!memory64) throws('OutOfMemoryError', 'Out of memory', () => heap.empty([2 ** 30 + 1], 'float32'));
    const managed = exports.managed_new(1, 1, 1, 0);
    const struct = new DataView(exports.memory.buffer, Number(managed));
    if (memory64) struct.setBigUint64(16, 1_000_000n, true);
    else struct.setUint32(12, 1_000_000, true);
    throws('BufferError', 'at 1000000', () => heap.importManaged(managed));
    const address = exports.tensor_new(2, 2);
    let released = 0;
    const shape = new DataView(exports.memory.buffer);
    const at = Number(address) + (memory64 ? 24 : 20);
    const shapeAt = memory64 ? Number(shape.getBigUint64(at, true)) : shape.getUint32(at, true);
    shape.setBigInt64(shapeAt, 1_000_000_000n, true);
    throws('LayoutError', 'memory of', () => heap.importTensor(address, { release: () => released++ }));
    throws('TypeError', 'release', () => heap.importTensor(address, {} as never));
    equal(released, 0);
  });
}
