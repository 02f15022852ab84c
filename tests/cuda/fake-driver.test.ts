/** The fake driver itself, because tests of dlpack/cuda rely on the errors that it reports. */

import { equal, ok } from '../assert.js';
import { testWith } from '../harness.js';
import { code, fake, fakeDriverPath, fakeMissing, openDriver } from './fake.js';
import {
  alloc,
  bytes,
  call,
  event,
  expectErrors,
  fails,
  fakeTest,
  fill,
  make,
  matches,
  must,
  start,
  stream,
} from './fake-test.js';

testWith(fakeMissing, 'opening the driver by its path gives the machine that the tests control', () => {
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
  fails(() => openDriver('/nowhere/libcuda.so'), /missing: the library/);
});

testWith(fakeMissing, 'no device, no driver', () => {
  fake.forget();
  equal(call('cuDeviceGetCount', new Int32Array(1)), code.notInitialized);
  fake.setDevices(0);
  equal(call('cuInit', 0), code.noDevice);
  fake.setDevices(3);
  must('cuInit', 0);
  fails(() => fake.setDevices(1), /initialised/);
  const count = new Int32Array(1);
  must('cuDeviceGetCount', count);
  equal(count[0], 3);
  equal(call('cuDeviceGet', count, 3), code.invalidDevice);
  const name = bytes(32, 0);
  must('cuDeviceGetName', name, 32, 2);
  matches(new TextDecoder().decode(name), /^Fake Device 2\0/);
  fake.setAttribute(1, 115, 0);
  must('cuDeviceGetAttribute', count, 115, 1);
  equal(count[0], 0);
  equal(call('cuDeviceGetAttribute', count, 999, 1), code.invalidValue);
});

testWith(fakeMissing, 'each thread has a stack of contexts', () => {
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
  equal(fake.errors(), []);
});

fakeTest('work waits until something forces it', () => {
  const memory = alloc(4);
  const on = stream();
  fill(memory, 1, 4, on);
  const done = event();
  equal(call('cuEventQuery', done), code.success);
  must('cuEventRecord', done, on);
  equal(fake.peek(memory, 4), bytes(4, 0xcd));
  equal(call('cuEventQuery', done), code.notReady);
  equal(call('cuStreamQuery', on), code.notReady);
  equal(fake.pending(on), ['a fill', 'record']);
  must('cuEventSynchronize', done);
  equal(fake.peek(memory, 4), bytes(4, 1));
  equal(call('cuStreamQuery', on), code.success);
  fill(memory, 2, 4, on);
  equal(fake.run(on), 0);
  equal(fake.peek(memory, 4), bytes(4, 2));
  fake.configure({ queriesRun: true });
  equal(call('cuStreamQuery', on), code.success);
  fill(memory, 3, 4, on);
  must('cuEventRecord', done, on);
  equal(call('cuEventQuery', done), code.success);
  equal(fake.peek(memory, 4), bytes(4, 3));
  fill(memory, 3, 4, on);
  must('cuCtxSynchronize');
  equal(fake.peek(memory, 4), bytes(4, 3));
});

fakeTest('a wait orders streams by the previous record, and without a wait there is a race', () => {
  const [a, b] = [stream(), stream()];
  const [from, to] = [alloc(4), alloc(4)];
  const ready = event();
  fill(from, 1, 4, a);
  must('cuEventRecord', ready, a);
  must('cuStreamWaitEvent', b, ready, 0);
  must('cuMemcpyAsync', to, from, 4, b);
  must('cuEventRecord', ready, a); // too late for the wait above
  must('cuStreamSynchronize', b);
  equal(fake.peek(to, 4), bytes(4, 1));
  equal(fake.errors(), []);
  fill(from, 2, 4, a);
  must('cuMemcpyAsync', to, from, 4, b);
  must('cuStreamSynchronize', b);
  equal(fake.peek(to, 4), bytes(4, 1));
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
  equal(fake.peek(one, 4), bytes(4, 3));
  equal(fake.peek(three, 4), bytes(4, 3));
  equal(fake.peek(two, 4), bytes(4, 0xcd));
  equal(fake.pending(free), ['a fill']);
  // Two blocking streams have no order, nor do a non-blocking stream and the legacy stream.
  fill(two, 2, 4, 0n);
  fill(one, 4, 4, blocking);
  fill(one, 5, 4, 2n);
  expectErrors(/^race: a fill on stream .* the legacy stream/, /^race: a fill on stream .* and a fill on stream/);
});

fakeTest('a delayed stream holds back the work after the delay', async (context) => {
  const on = stream();
  const memory = alloc(4);
  const done = event();
  fill(memory, 1, 4, on);
  fake.delay(on);
  fill(memory, 2, 4, on);
  must('cuEventRecord', done, on);
  equal(fake.run(on), 3);
  equal(fake.peek(memory, 4), bytes(4, 1));
  const waiting = start(context, 'cuEventSynchronize', done);
  await new Promise((resolve) => setTimeout(resolve, 20));
  ok(!waiting.ended());
  equal(call('cuEventQuery', done), code.notReady);
  fake.release(on);
  equal(waiting.wait(), code.success);
  equal(fake.peek(memory, 4), bytes(4, 2));
  // On the thread that would release it, the wait times out.
  fake.configure({ patience: 10 });
  fake.delay(on);
  equal(call('cuStreamSynchronize', on), code.launchTimeout);
  expectErrors(/waited for a delayed stream/);
});

fakeTest('failures on demand, and counts', () => {
  fake.failNext('cuMemAlloc_v2', code.outOfMemory, 1);
  const before = fake.calls('cuMemAlloc_v2');
  alloc(4);
  equal(call('cuMemAlloc_v2', new BigUint64Array(1), 4), code.outOfMemory);
  alloc(4);
  equal(fake.calls('cuMemAlloc_v2') - before, 3);
  fails(() => fake.failNext('cuMemAlloc', 2), /not in the table/);
  fails(() => fake.calls('cuMemAlloc'), /not in the table/);
  const names = new BigUint64Array(1);
  must('cuGetErrorName', 900, names);
  equal(new TextDecoder().decode(fake.peek(names[0] as bigint, 37)), 'CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED');
  equal(call('cuGetErrorString', 12345, names), code.invalidValue);
});

fakeTest('handles can be destroyed once, and times are ordered', () => {
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
  equal(fake.peek(memory, 4), bytes(4, 7));
  must('cuEventElapsedTime', elapsed, first, second);
  ok((elapsed[0] as number) >= 0);
  must('cuEventDestroy_v2', first);
  equal(call('cuEventDestroy_v2', first), code.invalidHandle);
  expectErrors(/^error: event .* does not exist/);
  equal(fake.live().events, 1);
  equal(fake.live().streams, 0);
});
