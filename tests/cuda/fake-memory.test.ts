/** Memory and copies of the fake driver. */

import { equal } from '../assert.js';
import { code, fake } from './fake.js';
import { alloc, bytes, call, expectErrors, fakeTest, fill, make, must, pool, stream } from './fake-test.js';

fakeTest('pageable memory is read at the call, pinned memory when the stream runs', () => {
  const on = stream();
  const memory = alloc(4);
  const host = bytes(4, 1);
  must('cuMemcpyAsync', memory, host, 4, on);
  host.fill(2);
  must('cuStreamSynchronize', on);
  equal(fake.peek(memory, 4), bytes(4, 1));
  const pinned = make('cuMemHostAlloc', 4, 1);
  fake.poke(pinned, bytes(4, 3));
  must('cuMemcpyAsync', memory, pinned, 4, on);
  fake.poke(pinned, bytes(4, 4));
  must('cuStreamSynchronize', on);
  equal(fake.peek(memory, 4), bytes(4, 4));
  // To pageable memory the call waits; to pinned memory it does not.
  fill(memory, 5, 4, on);
  must('cuMemcpyAsync', host, memory, 4, on);
  equal(host, bytes(4, 5));
  fill(memory, 6, 4, on);
  must('cuMemcpyAsync', pinned, memory, 4, on);
  equal(fake.peek(pinned, 4), bytes(4, 4));
  fake.run(on);
  equal(fake.peek(pinned, 4), bytes(4, 6));
});

fakeTest('memory: limits, double frees and use after free', () => {
  fake.setMemory(0, 1000);
  const out = new BigUint64Array(1);
  equal(call('cuMemAlloc_v2', out, 1001), code.outOfMemory);
  const memory = alloc(1000);
  equal(call('cuMemAlloc_v2', out, 1), code.outOfMemory);
  const host = make('cuMemHostAlloc', 4, 0);
  equal({ ...fake.live(), modules: 0 }, { ...fake.live(), device: 1, deviceBytes: 1000, pinned: 1, pinnedBytes: 4 });
  must('cuMemFree_v2', memory);
  equal(call('cuMemFree_v2', memory), code.invalidValue);
  equal(call('cuMemFree_v2', 4096n), code.invalidValue);
  equal(call('cuMemFreeHost', alloc(8)), code.invalidValue);
  equal(call('cuMemsetD8Async', memory, 1, 4, 0n), code.invalidValue);
  expectErrors(/freed before/, /unknown memory/, /another kind/, /^violation: cuMemsetD8Async of freed memory/);
  equal(fake.peek(memory, 2), bytes(2, 0xdd));
  const on = stream();
  const small = alloc(4);
  must('cuMemcpyAsync', host, small, 4, on);
  must('cuMemFreeHost', host);
  equal(fake.peek(small, 1), bytes(1, 0xcd));
  fake.run(on);
  expectErrors(
    /^violation: peek touches freed device memory/,
    /^race: cuMemFreeHost frees memory that a copy on/,
    /^violation: a copy touches freed pinned memory/,
  );
  equal(call('cuMemsetD8Async', small, 1, 5, on), code.invalidValue);
  expectErrors(/of bytes up to 5 of 4/);
});

fakeTest("a block as large as a GPU's memory costs only the pages in use", () => {
  const size = 100 * 2 ** 30;
  fake.setMemory(0, size);
  const memory = alloc(size);
  const end = memory + BigInt(size);
  const on = stream();
  fill(end - 4n, 7, 4, on);
  must('cuMemcpyAsync', memory + 2n ** 33n, end - 4n, 4, on);
  must('cuStreamSynchronize', on);
  equal(fake.peek(memory + 2n ** 33n, 4), bytes(4, 7));
  equal(call('cuMemsetD8Async', end - 4n, 0, 5, on), code.invalidValue);
  expectErrors(/of bytes up to/);
  must('cuMemFree_v2', memory);
  equal(fake.live().deviceBytes, 0);
});

fakeTest('pool memory is allocated and freed in stream order', () => {
  const from = pool();
  const [a, b] = [stream(), stream()];
  const memory = make('cuMemAllocFromPoolAsync', 4, from, a);
  fill(memory, 1, 4, a);
  must('cuMemFreeAsync', memory, a);
  equal(fake.live().pool, 1);
  equal(call('cuMemFreeAsync', memory, a), code.invalidValue);
  expectErrors(/^error: cuMemFreeAsync of memory freed before/);
  equal(fake.live().pool, 0);
  const early = make('cuMemAllocFromPoolAsync', 4, from, a);
  fill(early, 1, 4, b);
  must('cuMemFreeAsync', early, a);
  fake.run(a);
  fake.run(b);
  expectErrors(
    /does not wait for the allocation/,
    /^race: a fill .* and a free/,
    /^violation: a fill touches freed pool/,
  );
  // An allocation that does not fit waits for memory that streams are about to free.
  fake.setMemory(0, 100);
  const large = make('cuMemAllocFromPoolAsync', 80, from, a);
  must('cuMemFreeAsync', large, a);
  must('cuMemFreeAsync', make('cuMemAllocFromPoolAsync', 80, from, a), a);
});

fakeTest('copies of rows', () => {
  const on = stream();
  const memory = alloc(12);
  const host = Uint8Array.from({ length: 12 }, (_, i) => i);
  // Two rows of two bytes, from column 1 of rows of 3 to rows of 4 on the device.
  const copy = new BigUint64Array(16);
  const pinned = make('cuMemHostAlloc', 12, 0);
  fake.poke(pinned, host);
  copy.set([1n, 1n, 1n, pinned, 0n, 0n, 3n, 0n, 0n, 2n, 0n, memory, 0n, 4n, 2n, 2n]);
  fill(memory, 0xff, 12, on);
  must('cuMemcpy2DAsync_v2', copy, on);
  equal(fake.pending(on), ['a fill', 'a copy']);
  must('cuStreamSynchronize', on);
  equal([...fake.peek(memory, 8)], [4, 5, 255, 255, 7, 8, 255, 255]);
  copy[13] = 1n;
  equal(call('cuMemcpy2DAsync_v2', copy, on), code.invalidValue);
});

fakeTest('pointer attributes name the memory they point to', () => {
  const from = pool();
  const asked = [1, 2, 3, 4, 8, 9, 11, 12];
  const look = (address: bigint): bigint[] => {
    // Values in pinned memory, so that their addresses are known.
    const place = make('cuMemHostAlloc', 64, 0);
    fake.poke(place, bytes(64, 0));
    const values = BigUint64Array.from(asked, (_, i) => place + BigInt(8 * i));
    must('cuPointerGetAttributes', asked.length, new Int32Array(asked), values, address);
    return [...new BigUint64Array(fake.peek(place, 64).buffer)];
  };
  const context = make('cuCtxGetCurrent');
  const device = alloc(8);
  equal(look(device + 4n), [context, 2n, device + 4n, 0n, 0n, 0n, device, 8n]);
  const pooled = make('cuMemAllocFromPoolAsync', 8, from, 0n);
  equal(look(pooled), [0n, 2n, pooled, 0n, 0n, 0n, pooled, 8n]);
  const pinned = make('cuMemHostAlloc', 8, 0);
  equal(look(pinned), [context, 1n, pinned, pinned, 0n, 0n, pinned, 8n]);
  const managed = make('cuMemAllocManaged', 8, 1);
  equal(look(managed), [context, 2n, managed, managed, 1n, 0n, managed, 8n]);
  equal(look(4096n), [0n, 0n, 0n, 4096n, 0n, 0xfffffffen, 0n, 0n]);
  fake.configure({ unknownPointersFail: true });
  const value = new BigUint64Array(1);
  equal(call('cuPointerGetAttributes', 1, new Int32Array([2]), value, 4096n), code.invalidValue);
});
