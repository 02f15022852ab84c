import { type AllocRequest, fromEnvAlloc, fromNDAlloc, fromNDAllocStrided } from 'dlpack/tvm-ffi';
import { equal, ok, throws } from '../../assert.js';
import { collectUntil, test } from '../../harness.js';

/** An allocator over JavaScript memory that counts. */
function counting() {
  const counts = { allocated: 0, freed: 0, requests: [] as AllocRequest[] };
  const allocator = {
    allocData(request: AllocRequest) {
      counts.allocated++;
      counts.requests.push(request);
      return new Uint8Array(request.nbytes);
    },
    freeData(request: AllocRequest, data: unknown) {
      ok(data instanceof Uint8Array && data.length === request.nbytes);
      counts.freed++;
    },
  };
  return { counts, allocator };
}

test('fromNDAlloc: allocated once, freed once, with views and second owners in between', () => {
  const { counts, allocator } = counting();
  const x = fromNDAlloc(allocator, [2, 3], 'float32');
  equal([x.shape, x.dtype, x.device, x.strides], [[2, 3], 'float32', 'cpu', [3, 1]]);
  const { shape, strides, dtype, device, nbytes } = counts.requests[0] as AllocRequest;
  equal([shape, strides, dtype, device, nbytes], [[2, 3], [3, 1], 'float32', 'cpu', 24]);
  const row = x.slice(0);
  x.set(0, 1, 5);
  x.dispose();
  equal([row.toArray(), counts.freed], [[0, 5, 0], 0]);
  row.dispose();
  row.dispose();
  equal([counts.allocated, counts.freed], [1, 1]);
});

test('fromNDAllocStrided: gaps, transposes, negative strides and no strides', () => {
  const { counts, allocator } = counting();
  const nbytes = () => counts.requests.at(-1)?.nbytes;
  equal(fromNDAllocStrided(allocator, [2, 3], [1, 2], 'int16').strides, [1, 2]);
  equal(nbytes(), 12);
  fromNDAllocStrided(allocator, [2, 3], [8, 1], 'int16');
  equal(nbytes(), 22);
  const flipped = fromNDAllocStrided(allocator, [3], [-1], 'int32');
  equal([nbytes(), flipped.byteOffset], [12, 8]);
  flipped.set(2, 7);
  equal(flipped.toArray(), [0, 0, 7]);
  fromNDAllocStrided(allocator, [0, 3], [3, 1], 'int32');
  equal(nbytes(), 0);
  fromNDAlloc(allocator, [], 'float64');
  equal(nbytes(), 8);
});

test('memory of collected tensors is freed, too', async () => {
  const { counts, allocator } = counting();
  (() => fromNDAlloc(allocator, [4], 'int8'))();
  ok(await collectUntil(() => counts.freed === 1));
});

test('allocators that fail, or return too little, or nothing', () => {
  const { counts, allocator } = counting();
  throws('TypeError', 'allocData', () => fromNDAlloc({} as never, [1], 'int8'));
  throws('TypeError', 'allocData', () => fromNDAlloc(null as never, [1], 'int8'));
  const small = { ...allocator, allocData: () => new Uint8Array(3), freeData: () => counts.freed++ };
  throws('BufferError', '4 bytes', () => fromNDAlloc(small, [1], 'int32'));
  equal(counts.freed, 1);
  const misaligned = { ...small, allocData: () => new Uint8Array(new ArrayBuffer(8), 2, 4), freeData: () => {} };
  throws('BufferError', 'aligned to 4 bytes', () => fromNDAlloc(misaligned, [1], 'int32'));
  const nothing = { ...small, allocData: () => undefined as never };
  throws('TypeError', 'an address or a buffer', () => fromNDAlloc(nothing, [1], 'int32'));
  equal(counts.freed, 2);
  throws('BufferError', 'cuda:0', () => fromNDAlloc(allocator, [1], 'int32', 'cuda:0'));
  throws('LayoutError', '', () => fromNDAllocStrided(allocator, [2], [1, 1], 'int32'));
  const throwing = {
    ...small,
    allocData() {
      throw new RangeError('no');
    },
  };
  const freed = counts.freed;
  try {
    fromNDAlloc(throwing, [1], 'int32');
  } catch (error) {
    equal((error as Error).message, 'no');
  }
  equal(counts.freed, freed);
});

test('fromEnvAlloc: memory of this package unless another allocator is set', () => {
  const x = fromEnvAlloc([2, 2], 'float32');
  equal([x.shape, x.dtype, x.device], [[2, 2], 'float32', 'cpu']);
});
