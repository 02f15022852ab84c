/** dlpack/wasm with allocators that fail, align less than the elements need, or are in a module of another width. */

import { Tensor } from 'dlpack';
import { toNdarray } from 'dlpack/adapters';
import { type WasmAddress, WasmHeap } from 'dlpack/wasm';
import { equal, ok, throws } from '../assert.js';
import { collectUntil, test } from '../harness.js';

/** The parts of a module, with an allocator that aligns nothing. */
function parts() {
  const memory = new WebAssembly.Memory({ initial: 1 });
  let top = 1001;
  const live = new Set<number>();
  const malloc = (size: WasmAddress): WasmAddress => {
    const block = top;
    top += Number(size) + ((Number(size) + 1) % 2); // the next address is odd, too
    live.add(block);
    return block;
  };
  const free = (block: WasmAddress): void => ok(live.delete(block as number), `${block} was not allocated`);
  return { memory, malloc, free, live };
}

test('elements are aligned where the allocator does not align them', () => {
  const module = parts();
  const heap = new WasmHeap(module);
  for (const dtype of ['float64', 'float32', 'int16', 'uint8', 'complex128'] as const) {
    const x = heap.empty([2], dtype).fill(1);
    equal([x.data.byteLength, module.live.size], [x.nbytes, 1], dtype);
    const sent = heap.exportTensor(Tensor.zeros([3], dtype));
    equal(sent.tensor.data.byteLength, sent.tensor.nbytes, dtype);
    sent.dispose();
    x.dispose();
    equal(module.live.size, 0, dtype);
  }
  const y = heap.empty([2, 2], 'float32').fill(3);
  type Made = { get(...at: number[]): number };
  const make = (data: never, shape: number[], stride: number[], offset: number): Made => ({
    get: (i = 0, j = 0) => (data as Float32Array)[offset + i * (stride[0] ?? 0) + j * (stride[1] ?? 0)] ?? shape.length,
  });
  y.set(0, 1, 5);
  equal(toNdarray(y.transpose(), make).get(1, 0), 5);
});

test('a malloc of 64-bit memory that returns a negative number: typed errors', () => {
  const { memory } = parts();
  for (const start of [-8, -256, -65536, -(2 ** 40), -8n]) {
    const heap = new WasmHeap({ memory, malloc: () => start, free: () => {} }, { memory64: true });
    throws('BufferError', 'outside its memory', () => heap.empty([4], 'float32'));
    throws('BufferError', 'outside its memory', () => heap.exportTensor(Tensor.from([1])));
    throws('LayoutError', 'the buffer has 65536', () => heap.viewTensor(start));
  }
});

test('a malloc that traps, or returns memory that does not exist: typed errors', () => {
  const module = parts();
  const { memory, free } = module;
  const with32 = (malloc: (size: WasmAddress) => unknown) => new WasmHeap({ memory, malloc, free });
  const trap = () => {
    throw new WebAssembly.RuntimeError('unreachable');
  };
  throws('ForeignError', "The module's malloc failed: RuntimeError: unreachable", () =>
    with32(trap).empty([1], 'int8'),
  );
  throws('ForeignError', 'memory64: true', () =>
    with32((size) => BigInt.asIntN(64, size as bigint)).empty([1], 'int8'),
  );
  const wrong = new WasmHeap({ memory, malloc: (size: never) => Math.abs(size), free }, { memory64: true });
  const { message } = throws('ForeignError', 'malloc failed: TypeError', () => wrong.empty([1], 'int8'));
  equal(message.includes('memory64'), false, 'no advice to pass what was passed');
  for (const address of [65_532, 1e9, -16]) {
    const heap = with32(() => address);
    throws('BufferError', `returned ${address >>> 0}`, () => heap.empty([2], 'int32'));
    throws('BufferError', `returned ${address >>> 0}`, () => heap.empty([9], 'int4'));
    throws('BufferError', `returned ${address >>> 0}`, () => heap.exportTensor(Tensor.from([1])));
  }
  const bad = new WasmHeap({ memory, malloc: module.malloc, free: trap });
  throws('ForeignError', "The module's free failed", () => bad.empty([1], 'int8').dispose());
});

test('NULL and addresses above the memory of 32 bits are refused', () => {
  const heap = new WasmHeap(parts());
  for (const use of [
    (at: number) => heap.viewTensor(at),
    (at: number) => heap.importTensor(at, { release() {} }),
    (at: number) => heap.importManaged(at),
  ]) {
    throws('TypeError', 'the module returned NULL', () => use(0));
    throws('TypeError', 'an address in the memory', () => use(2 ** 32));
  }
});

test('an export ends with its block, and the collector frees one that was never disposed', async () => {
  const module = parts();
  const heap = new WasmHeap(module);
  {
    using sent = heap.exportTensor(Tensor.from([1, 2]));
    equal([sent.tensor.toArray(), module.live.size], [[1, 2], 2]);
  }
  equal(module.live.size, 0);
  if (!('gc' in globalThis) && !('Bun' in globalThis)) return;
  // The tensor alone keeps the struct: a program may take the object apart.
  const { address, tensor } = heap.exportTensor(Tensor.from([5]));
  const forget = () => void heap.exportTensor(Tensor.from([1]));
  for (let i = 0; i < 10; i++) forget();
  ok(await collectUntil(() => module.live.size === 2));
  equal([heap.viewTensor(address).toArray(), tensor.toArray()], [[5], [5]]);
});
