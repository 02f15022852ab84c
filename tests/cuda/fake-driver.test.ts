/** The fake driver itself: what tests of dlpack/cuda rely on when they find no error in it. */

import { deepEqual, equal, match, ok, throws } from 'node:assert/strict';
import { testWith } from '../harness.js';
import { captureMode, code, fake, fakeDriver, fakeDriverPath, fakeMissing, made, openDriver } from './fake.js';

const { call, must, start } = fakeDriver;
const bytes = (count: number, value: number): Uint8Array => new Uint8Array(count).fill(value);
const make = (symbol: string, ...rest: Parameters<typeof call>[1][]): bigint => made(fakeDriver, symbol, ...rest);

/** A test on a new machine with a current context, that ends without errors unless it says otherwise. */
function fakeTest(name: string, body: (context: bigint) => void | Promise<void>): void {
  testWith(fakeMissing, name, async () => {
    fake.forget();
    must('cuInit', 0);
    const context = make('cuDevicePrimaryCtxRetain', 0);
    must('cuCtxPushCurrent_v2', context);
    await body(context);
    deepEqual(fake.errors(), []);
  });
}

/** Takes the errors, each of which must match its pattern. */
function expectErrors(...patterns: RegExp[]): void {
  const errors = fake.errors();
  equal(errors.length, patterns.length, errors.join('\n'));
  for (const [i, pattern] of patterns.entries()) match(errors[i] as string, pattern);
  fake.reset();
}

const alloc = (count: number): bigint => make('cuMemAlloc_v2', count);
const stream = (nonBlocking = true): bigint => make('cuStreamCreateWithPriority', nonBlocking ? 1 : 0, 0);
const event = (): bigint => make('cuEventCreate', 2);
const fill = (address: bigint, value: number, count: number, on: bigint): void =>
  must('cuMemsetD8Async', address, value, count, on);

testWith(fakeMissing, 'who opens the driver by its path finds the machine that tests command', () => {
  fake.forget();
  fake.setDevices(2);
  const opened = openDriver(fakeDriverPath);
  opened.must('cuInit', 0);
  equal(fake.calls('cuInit'), 1);
  fake.failNext('cuDeviceGetCount', code.notSupported);
  const count = new Int32Array(1);
  equal(opened.call('cuDeviceGetCount', count), code.notSupported);
  must('cuDeviceGetCount', count);
  equal(count[0], 2);
  throws(() => openDriver('/nowhere/libcuda.so'), /missing: the library/);
});

testWith(fakeMissing, 'no device, no driver', () => {
  fake.forget();
  equal(call('cuDeviceGetCount', new Int32Array(1)), code.notInitialized);
  fake.setDevices(0);
  equal(call('cuInit', 0), code.noDevice);
  fake.setDevices(3);
  must('cuInit', 0);
  throws(() => fake.setDevices(1), /initialised/);
  const count = new Int32Array(1);
  must('cuDeviceGetCount', count);
  equal(count[0], 3);
  equal(call('cuDeviceGet', count, 3), code.invalidDevice);
  const name = bytes(32, 0);
  must('cuDeviceGetName', name, 32, 2);
  match(new TextDecoder().decode(name), /^Fake Device 2\0/);
  fake.setAttribute(1, 115, 0);
  must('cuDeviceGetAttribute', count, 115, 1);
  equal(count[0], 0);
  equal(call('cuDeviceGetAttribute', count, 999, 1), code.invalidValue);
});

testWith(fakeMissing, 'contexts are a stack of each thread', () => {
  fake.forget();
  fake.setDevices(2);
  must('cuInit', 0);
  const out = new BigUint64Array(1);
  equal(call('cuMemAlloc_v2', out, 8), code.invalidContext);
  const [first, second] = [make('cuDevicePrimaryCtxRetain', 0), make('cuDevicePrimaryCtxRetain', 1)];
  must('cuCtxPushCurrent_v2', first);
  const ofFirst = stream();
  must('cuCtxPushCurrent_v2', second);
  equal(call('cuMemsetD8Async', alloc(8), 0, 8, ofFirst), code.invalidHandle);
  equal(call('cuEventRecord', event(), 0n), code.success);
  equal(start(0n, 'cuMemAlloc_v2', out, 8).wait(), code.invalidContext);
  equal(start(first, 'cuMemAlloc_v2', out, 8).wait(), code.success);
  must('cuCtxPopCurrent_v2', out);
  equal(out[0], second);
  must('cuCtxGetCurrent', out);
  equal(out[0], first);
  must('cuCtxPopCurrent_v2', null);
  equal(call('cuCtxPopCurrent_v2', null), code.invalidContext);
  deepEqual(fake.errors(), []);
});

fakeTest('work waits until something forces it', () => {
  const memory = alloc(4);
  const on = stream();
  fill(memory, 1, 4, on);
  const done = event();
  equal(call('cuEventQuery', done), code.success);
  must('cuEventRecord', done, on);
  deepEqual(fake.peek(memory, 4), bytes(4, 0xcd));
  equal(call('cuEventQuery', done), code.notReady);
  equal(call('cuStreamQuery', on), code.notReady);
  deepEqual(fake.pending(on), ['a fill', 'record']);
  must('cuEventSynchronize', done);
  deepEqual(fake.peek(memory, 4), bytes(4, 1));
  equal(call('cuStreamQuery', on), code.success);
  fill(memory, 2, 4, on);
  equal(fake.run(on), 0);
  deepEqual(fake.peek(memory, 4), bytes(4, 2));
  fill(memory, 3, 4, on);
  must('cuCtxSynchronize');
  deepEqual(fake.peek(memory, 4), bytes(4, 3));
});

fakeTest('pageable memory is read at the call, pinned memory when the stream runs', () => {
  const on = stream();
  const memory = alloc(4);
  const host = bytes(4, 1);
  must('cuMemcpyAsync', memory, host, 4, on);
  host.fill(2);
  must('cuStreamSynchronize', on);
  deepEqual(fake.peek(memory, 4), bytes(4, 1));
  const pinned = make('cuMemHostAlloc', 4, 1);
  fake.poke(pinned, bytes(4, 3));
  must('cuMemcpyAsync', memory, pinned, 4, on);
  fake.poke(pinned, bytes(4, 4));
  must('cuStreamSynchronize', on);
  deepEqual(fake.peek(memory, 4), bytes(4, 4));
  // To pageable memory the call waits; to pinned memory it does not.
  fill(memory, 5, 4, on);
  must('cuMemcpyAsync', host, memory, 4, on);
  deepEqual(host, bytes(4, 5));
  fill(memory, 6, 4, on);
  must('cuMemcpyAsync', pinned, memory, 4, on);
  deepEqual(fake.peek(pinned, 4), bytes(4, 4));
  fake.run(on);
  deepEqual(fake.peek(pinned, 4), bytes(4, 6));
});

fakeTest('a wait orders streams by the record before it; without one there is a race', () => {
  const [a, b] = [stream(), stream()];
  const [from, to] = [alloc(4), alloc(4)];
  const ready = event();
  fill(from, 1, 4, a);
  must('cuEventRecord', ready, a);
  must('cuStreamWaitEvent', b, ready, 0);
  must('cuMemcpyAsync', to, from, 4, b);
  must('cuEventRecord', ready, a); // too late for the wait above
  must('cuStreamSynchronize', b);
  deepEqual(fake.peek(to, 4), bytes(4, 1));
  deepEqual(fake.errors(), []);
  fill(from, 2, 4, a);
  must('cuMemcpyAsync', to, from, 4, b);
  must('cuStreamSynchronize', b);
  deepEqual(fake.peek(to, 4), bytes(4, 1));
  expectErrors(/^race: a fill on .* and a copy on .*no order/);
});

fakeTest('the legacy stream and blocking streams wait for each other', () => {
  const [blocking, free] = [stream(false), stream()];
  const [one, two, three] = [alloc(4), alloc(4), alloc(4)];
  fill(one, 1, 4, blocking);
  fill(two, 1, 4, free);
  fill(one, 2, 4, 0n);
  fill(three, 2, 4, 0n);
  fill(one, 3, 4, blocking);
  fill(three, 3, 4, 2n);
  must('cuStreamSynchronize', 1n);
  deepEqual(fake.peek(one, 4), bytes(4, 3));
  deepEqual(fake.peek(three, 4), bytes(4, 3));
  deepEqual(fake.peek(two, 4), bytes(4, 0xcd));
  deepEqual(fake.pending(free), ['a fill']);
  // Neither two blocking streams nor a free one and the legacy stream have an order.
  fill(two, 2, 4, 0n);
  fill(one, 4, 4, blocking);
  fill(one, 5, 4, 2n);
  expectErrors(/^race: a fill on stream .* the legacy stream/, /^race: a fill on stream .* and a fill on stream/);
});

fakeTest('memory: limits, double frees and use after free', () => {
  fake.setMemory(0, 1000);
  const out = new BigUint64Array(1);
  equal(call('cuMemAlloc_v2', out, 1001), code.outOfMemory);
  const memory = alloc(1000);
  equal(call('cuMemAlloc_v2', out, 1), code.outOfMemory);
  const host = make('cuMemHostAlloc', 4, 0);
  deepEqual(
    { ...fake.live(), modules: 0 },
    { ...fake.live(), device: 1, deviceBytes: 1000, pinned: 1, pinnedBytes: 4 },
  );
  must('cuMemFree_v2', memory);
  equal(call('cuMemFree_v2', memory), code.invalidValue);
  equal(call('cuMemFree_v2', 4096n), code.invalidValue);
  equal(call('cuMemFreeHost', alloc(8)), code.invalidValue);
  equal(call('cuMemsetD8Async', memory, 1, 4, 0n), code.invalidValue);
  expectErrors(/freed before/, /unknown memory/, /another kind/, /^violation: cuMemsetD8Async of freed memory/);
  deepEqual(fake.peek(memory, 2), bytes(2, 0xdd));
  const on = stream();
  const small = alloc(4);
  must('cuMemcpyAsync', host, small, 4, on);
  must('cuMemFreeHost', host);
  deepEqual(fake.peek(small, 1), bytes(1, 0xcd));
  fake.run(on);
  expectErrors(
    /^violation: peek touches freed device memory/,
    /^race: cuMemFreeHost frees memory that a copy on/,
    /^violation: a copy touches freed pinned memory/,
  );
  equal(call('cuMemsetD8Async', small, 1, 5, on), code.invalidValue);
  expectErrors(/of bytes up to 5 of 4/);
});

fakeTest('memory of a pool begins and ends in the order of streams', () => {
  const properties = new Int32Array(22);
  properties.set([1, 0, 1, 0]);
  const pool = make('cuMemPoolCreate', properties);
  const [a, b] = [stream(), stream()];
  const memory = make('cuMemAllocFromPoolAsync', 4, pool, a);
  fill(memory, 1, 4, a);
  must('cuMemFreeAsync', memory, a);
  equal(fake.live().pool, 1);
  equal(call('cuMemFreeAsync', memory, a), code.invalidValue);
  expectErrors(/^error: cuMemFreeAsync of memory freed before/);
  equal(fake.live().pool, 0);
  const early = make('cuMemAllocFromPoolAsync', 4, pool, a);
  fill(early, 1, 4, b);
  must('cuMemFreeAsync', early, a);
  fake.run(a);
  fake.run(b);
  expectErrors(
    /does not wait for the allocation/,
    /^race: a fill .* and a free/,
    /^violation: a fill touches freed pool/,
  );
  // An allocation that does not fit takes what streams are about to give back.
  fake.setMemory(0, 100);
  const large = make('cuMemAllocFromPoolAsync', 80, pool, a);
  must('cuMemFreeAsync', large, a);
  must('cuMemFreeAsync', make('cuMemAllocFromPoolAsync', 80, pool, a), a);
});

fakeTest('a delayed stream holds back what is behind the delay', async (context) => {
  const on = stream();
  const memory = alloc(4);
  const done = event();
  fill(memory, 1, 4, on);
  fake.delay(on);
  fill(memory, 2, 4, on);
  must('cuEventRecord', done, on);
  equal(fake.run(on), 3);
  deepEqual(fake.peek(memory, 4), bytes(4, 1));
  const waiting = start(context, 'cuEventSynchronize', done);
  await new Promise((resolve) => setTimeout(resolve, 20));
  ok(!waiting.ended());
  equal(call('cuEventQuery', done), code.notReady);
  fake.release(on);
  equal(waiting.wait(), code.success);
  deepEqual(fake.peek(memory, 4), bytes(4, 2));
  // On the thread that would release it, the wait ends by itself.
  fake.configure({ patience: 10 });
  fake.delay(on);
  equal(call('cuStreamSynchronize', on), code.launchTimeout);
  expectErrors(/waited for a delayed stream/);
});

fakeTest('a capture takes work in and is broken by calls that wait', (context) => {
  const on = stream();
  const memory = alloc(4);
  const done = event();
  const status = new Int32Array(1);
  fake.beginCapture(on);
  must('cuStreamIsCapturing', on, status);
  equal(status[0], 1);
  fill(memory, 1, 4, on);
  must('cuEventRecord', done, on);
  const side = stream();
  must('cuStreamWaitEvent', side, done, 0);
  must('cuMemcpyAsync', memory, bytes(4, 3), 4, side);
  must('cuEventRecord', done, side);
  must('cuStreamWaitEvent', on, done, 0);
  deepEqual(fake.endCapture(on), { code: 0, operations: ['a fill', 'record', 'wait', 'a copy', 'record', 'wait'] });
  deepEqual(fake.peek(memory, 4), bytes(4, 0xcd));
  // Forbidden to every thread in the global mode, unless it has chosen the relaxed one.
  fake.beginCapture(on);
  const mode = new Int32Array([captureMode.relaxed]);
  must('cuThreadExchangeStreamCaptureMode', mode);
  equal(mode[0], captureMode.global);
  const other = event();
  must('cuEventQuery', other);
  must('cuMemFree_v2', alloc(4));
  must('cuThreadExchangeStreamCaptureMode', mode);
  equal(fake.endCapture(on).code, 0);
  for (const forbidden of ['cuCtxSynchronize', 'cuEventQuery', 'cuStreamSynchronize', 'cuMemAlloc_v2'] as const) {
    fake.beginCapture(on);
    const out = new BigUint64Array(1);
    const args = { cuCtxSynchronize: [], cuEventQuery: [other], cuStreamSynchronize: [on], cuMemAlloc_v2: [out, 4] };
    equal(start(context, forbidden, ...args[forbidden]).wait(), code.captureUnsupported);
    must('cuStreamIsCapturing', on, status);
    equal(status[0], 2);
    equal(call('cuMemsetD8Async', memory, 1, 4, on), code.captureInvalidated);
    equal(fake.endCapture(on).code, code.captureInvalidated);
    expectErrors(new RegExp(`^error: ${forbidden} breaks the capture`));
  }
  // Another thread does not break a capture that is its thread's own affair.
  fake.beginCapture(on, captureMode.threadLocal);
  equal(start(context, 'cuCtxSynchronize').wait(), code.success);
  equal(call('cuCtxSynchronize'), code.captureUnsupported);
  fake.endCapture(on);
  expectErrors(/cuCtxSynchronize breaks/);
  // Captured work is no event of this world, and other work none of the capture's.
  must('cuEventRecord', other, side);
  fake.beginCapture(on);
  must('cuEventRecord', done, on);
  equal(call('cuEventQuery', done), code.capturedEvent);
  equal(fake.endCapture(on).code, code.captureInvalidated);
  fake.beginCapture(on);
  equal(call('cuStreamWaitEvent', on, other, 0), code.captureIsolation);
  equal(fake.endCapture(on).code, code.captureInvalidated);
  const blocking = stream(false);
  fake.beginCapture(blocking);
  equal(call('cuMemsetD8Async', memory, 1, 4, 0n), code.captureImplicit);
  fake.endCapture(blocking);
});

/** Memory of a CopyPlan: axes as [length, source step, target step], outermost first. */
function planOf(source: bigint, target: bigint, axes: [number, number, number][], breakAxis = -1): Uint8Array {
  const plan = new Uint8Array(24 + 8 * 32);
  const view = new DataView(plan.buffer);
  view.setBigUint64(0, source, true);
  view.setBigUint64(8, target, true);
  view.setUint32(
    16,
    axes.reduce((count, [length]) => count * length, 1),
    true,
  );
  view.setUint32(20, axes.length, true);
  axes.forEach(([length, sourceStep, targetStep], i) => {
    const at = 24 + i * 32;
    const shift = length === 1 ? 0 : Math.ceil(Math.log2(length));
    const multiplier = ((1n << 32n) * ((1n << BigInt(shift)) - BigInt(length))) / BigInt(length) + 1n;
    view.setUint32(at, length, true);
    view.setUint32(at + 4, Number(multiplier) + (i === breakAxis ? 1 << 30 : 0), true);
    view.setUint32(at + 8, shift, true);
    view.setBigInt64(at + 16, BigInt(sourceStep), true);
    view.setBigInt64(at + 24, BigInt(targetStep), true);
  });
  return plan;
}

fakeTest('kernels follow their plan, and its divisions are checked', () => {
  const module = make('cuModuleLoadData', '.entry strided_copy_16() .entry strided_copy_2() .entry transpose_copy_2()');
  const out = new BigUint64Array(1);
  equal(call('cuModuleGetFunction', out, module, 'strided_copy_1'), code.notFound);
  const strided = make('cuModuleGetFunction', module, 'strided_copy_2');
  const transposed = make('cuModuleGetFunction', module, 'transpose_copy_2');
  const on = stream();
  const [source, target] = [alloc(24), alloc(24)];
  fake.poke(source, new Uint8Array(new Uint16Array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]).buffer));
  let kept: BigUint64Array | undefined;
  const launch = (kernel: bigint, plan: Uint8Array, grid = 1, block = 256): number => {
    // The parameter array holds the address of the plan; pinned memory gives both an address.
    const place = make('cuMemHostAlloc', plan.length, 0);
    fake.poke(place, plan);
    kept = new BigUint64Array([place]);
    return call('cuLaunchKernel', kernel, grid, 1, 1, block, 1, 1, 0, on, kept, null);
  };
  const result = (): number[] => {
    must('cuStreamSynchronize', on);
    return [...new Uint16Array(fake.peek(target, 24).buffer)];
  };
  // A [3, 4] matrix transposed, by either kernel: axes [4][3] of the target.
  const turned = [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11];
  equal(
    launch(
      strided,
      planOf(source, target, [
        [4, 1, 3],
        [3, 4, 1],
      ]),
    ),
    0,
  );
  deepEqual(fake.pending(on), ['strided_copy_2']);
  deepEqual(result(), turned);
  fill(target, 0, 24, on);
  equal(
    launch(
      transposed,
      planOf(source, target, [
        [4, 1, 3],
        [3, 4, 1],
      ]),
    ),
    0,
  );
  deepEqual(result(), turned);
  // Backwards, over three axes.
  equal(
    launch(
      strided,
      planOf(source + 22n, target, [
        [2, -6, 6],
        [3, -2, 2],
        [2, -1, 1],
      ]),
    ),
    0,
  );
  deepEqual(result(), [11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
  deepEqual(fake.errors(), []);
  equal(
    launch(
      strided,
      planOf(
        source,
        target,
        [
          [4, 1, 3],
          [3, 4, 1],
        ],
        1,
      ),
    ),
    0,
  );
  result();
  expectErrors(/^error: a plan divides/);
  equal(launch(strided, planOf(source, target, [[13, 1, 1]])), 0);
  result();
  expectErrors(/^violation: strided_copy_2 touches 2 bytes at .* outside/, /^violation: strided_copy_2 .* outside/);
  equal(launch(strided, planOf(source, target, [[2, 1, 1]]), 1, 1025), code.invalidValue);
  equal(launch(strided, planOf(source, target, [[2, 1, 1]]), 0), code.invalidValue);
  equal(
    launch(
      transposed,
      planOf(source, target, [
        [2, 2, 1],
        [2, 1, 2],
      ]),
    ),
    code.invalidValue,
  );
  equal(launch(strided, planOf(source + 1n, target, [[2, 1, 1]])), code.invalidValue);
  expectErrors(/block 1025/, /grid 0/, /last axes/, /misaligned/);
  const freed = alloc(24);
  must('cuMemFree_v2', freed);
  equal(launch(strided, planOf(freed, target, [[12, 1, 1]])), 0);
  result();
  expectErrors(/^violation: strided_copy_2 touches freed device memory/);
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
  deepEqual(fake.pending(on), ['a fill', 'a copy']);
  must('cuStreamSynchronize', on);
  deepEqual([...fake.peek(memory, 8)], [4, 5, 255, 255, 7, 8, 255, 255]);
  copy[13] = 1n;
  equal(call('cuMemcpy2DAsync_v2', copy, on), code.invalidValue);
});

fakeTest('pointers know where they point', () => {
  const properties = new Int32Array(22);
  properties.set([1, 0, 1, 0]);
  const pool = make('cuMemPoolCreate', properties);
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
  deepEqual(look(device + 4n), [context, 2n, device + 4n, 0n, 0n, 0n, device, 8n]);
  const pooled = make('cuMemAllocFromPoolAsync', 8, pool, 0n);
  deepEqual(look(pooled), [0n, 2n, pooled, 0n, 0n, 0n, pooled, 8n]);
  const pinned = make('cuMemHostAlloc', 8, 0);
  deepEqual(look(pinned), [context, 1n, pinned, pinned, 0n, 0n, pinned, 8n]);
  const managed = make('cuMemAllocManaged', 8, 1);
  deepEqual(look(managed), [context, 2n, managed, managed, 1n, 0n, managed, 8n]);
  deepEqual(look(4096n), [0n, 0n, 0n, 0n, 0n, 0xfffffffen, 0n, 0n]);
  fake.configure({ unknownPointersFail: true });
  const value = new BigUint64Array(1);
  equal(call('cuPointerGetAttributes', 1, new Int32Array([2]), value, 4096n), code.invalidValue);
});

fakeTest('failures on demand, and counts', () => {
  fake.failNext('cuMemAlloc_v2', code.outOfMemory, 1);
  const before = fake.calls('cuMemAlloc_v2');
  alloc(4);
  equal(call('cuMemAlloc_v2', new BigUint64Array(1), 4), code.outOfMemory);
  alloc(4);
  equal(fake.calls('cuMemAlloc_v2') - before, 3);
  throws(() => fake.failNext('cuMemAlloc', 2), /not in the table/);
  throws(() => fake.calls('cuMemAlloc'), /not in the table/);
  const names = new BigUint64Array(1);
  must('cuGetErrorName', 900, names);
  equal(new TextDecoder().decode(fake.peek(names[0] as bigint, 37)), 'CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED');
  equal(call('cuGetErrorString', 12345, names), code.invalidValue);
});

fakeTest('handles end once, and times have an order', () => {
  const on = stream();
  const [first, second] = [make('cuEventCreate', 0), make('cuEventCreate', 0)];
  const elapsed = new Float32Array(1);
  equal(call('cuEventElapsedTime', elapsed, first, second), code.invalidHandle);
  must('cuEventRecord', first, on);
  must('cuEventRecord', second, on);
  equal(call('cuEventElapsedTime', elapsed, first, second), code.notReady);
  const memory = alloc(4);
  fill(memory, 7, 4, on);
  must('cuStreamDestroy_v2', on);
  equal(call('cuStreamSynchronize', on), code.invalidHandle);
  equal(call('cuStreamDestroy_v2', on), code.invalidHandle);
  expectErrors(/^error: stream .* does not exist/, /^error: stream .* does not exist/);
  deepEqual(fake.peek(memory, 4), bytes(4, 7));
  must('cuEventElapsedTime', elapsed, first, second);
  ok((elapsed[0] as number) >= 0);
  must('cuEventDestroy_v2', first);
  equal(call('cuEventDestroy_v2', first), code.invalidHandle);
  expectErrors(/^error: event .* does not exist/);
  equal(fake.live().events, 1);
  equal(fake.live().streams, 0);
});
