/** Stream captures of the fake driver. */

import { equal } from '../assert.js';
import { captureMode, code, fake } from './fake.js';
import { alloc, bytes, call, event, expectErrors, fakeTest, fill, must, start, stream } from './fake-test.js';

fakeTest('a capture records work, and calls that wait end it', (context) => {
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
  equal(fake.endCapture(on), { code: 0, operations: ['a fill', 'record', 'wait', 'a copy', 'record', 'wait'] });
  equal(fake.peek(memory, 4), bytes(4, 0xcd));
  // Forbidden to every thread in the global mode, unless the thread has chosen the relaxed mode.
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
  // Another thread does not break a thread-local capture.
  fake.beginCapture(on, captureMode.threadLocal);
  equal(start(context, 'cuMemAlloc_v2', new BigUint64Array(1), 4).wait(), code.success);
  equal(call('cuCtxSynchronize'), code.captureUnsupported);
  fake.endCapture(on);
  expectErrors(/cuCtxSynchronize breaks/);
  // Work outside a capture cannot wait for captured work, nor captured work for work outside.
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
