/** The fake driver behaves like the real driver. The tests without a GPU rely on this. */

import { equal, ok } from '../assert.js';
import type { DriverArgument } from '../cuda/fake.js';
import { captureMode, code, fake } from '../cuda/fake.js';
import { test } from '../harness.js';
import { fakeSubject, realSubject, type Subject } from './subject.js';

const real = realSubject();

/** Runs the calls on both and compares the results, which are plain values. */
function same(name: string, ask: (subject: Subject) => unknown): void {
  test(name, () => equal(ask(fakeSubject()), ask(real), 'the real driver differs from the fake one:'));
}

const streamOf = ({ make }: Subject, nonBlocking = true): bigint =>
  make('cuStreamCreateWithPriority', nonBlocking ? 1 : 0, 0);
const eventOf = ({ make }: Subject, flags = 2): bigint => make('cuEventCreate', flags);
const poolOf = ({ make }: Subject): bigint => {
  const properties = new Int32Array(22);
  properties.set([1, 0, 1, 0]);
  return make('cuMemPoolCreate', properties);
};

same('held work is not ready', (subject) => {
  const { driver } = subject;
  const [stream, event] = [streamOf(subject), eventOf(subject)];
  subject.hold(stream);
  driver.must('cuEventRecord', event, stream);
  const held = [driver.call('cuStreamQuery', stream), driver.call('cuEventQuery', event)];
  subject.letGo(stream);
  driver.must('cuStreamSynchronize', stream);
  return [held, driver.call('cuStreamQuery', stream), driver.call('cuEventQuery', event)];
});

same('the legacy stream stands for blocking streams, and for no other', (subject) => {
  const { driver } = subject;
  const ask = (): number[] => [0n, 1n, 2n].map((handle) => driver.call('cuStreamQuery', handle));
  return [false, true].map((nonBlocking) => {
    const stream = streamOf(subject, nonBlocking);
    subject.hold(stream);
    const answers = ask();
    subject.letGo(stream);
    driver.must('cuStreamSynchronize', stream);
    return answers;
  });
});

same('pageable memory is read at the call, pinned memory when the stream runs', (subject) => {
  const { driver, make } = subject;
  const stream = streamOf(subject);
  const [memory, pinned] = [make('cuMemAlloc_v2', 8), make('cuMemHostAlloc', 4, 1)];
  const pageable = new Uint8Array(4).fill(1);
  fake.poke(pinned, pageable);
  subject.hold(stream);
  driver.must('cuMemcpyAsync', memory, pageable, 4, stream);
  driver.must('cuMemcpyAsync', memory + 4n, pinned, 4, stream);
  pageable.fill(2);
  fake.poke(pinned, pageable);
  subject.letGo(stream);
  return [...subject.read(memory, 8, stream)];
});

same('an event that was never recorded', (subject) => {
  const { driver } = subject;
  const [stream, event] = [streamOf(subject), eventOf(subject)];
  const elapsed = new Float32Array(1);
  const timed = eventOf(subject, 0);
  const codes = [
    driver.call('cuEventQuery', event),
    driver.call('cuEventSynchronize', event),
    driver.call('cuStreamWaitEvent', stream, event, 0),
    driver.call('cuEventElapsedTime', elapsed, timed, timed),
  ];
  driver.must('cuEventRecord', event, stream);
  driver.must('cuStreamSynchronize', stream);
  return [...codes, driver.call('cuEventElapsedTime', elapsed, event, event)];
});

same('no bytes', (subject) => {
  const { driver, make } = subject;
  const [pool, memory, out] = [poolOf(subject), make('cuMemAlloc_v2', 8), new BigUint64Array(1)];
  return [
    driver.call('cuMemAlloc_v2', out, 0),
    driver.call('cuMemAllocManaged', out, 0, 1),
    driver.call('cuMemAllocFromPoolAsync', out, 0, pool, 0n),
    driver.call('cuMemcpyAsync', memory, memory, 0, 0n),
    driver.call('cuMemsetD8Async', memory, 0, 0, 0n),
  ];
});

same('frees of what is not there', (subject) => {
  const { driver, make } = subject;
  const [memory, pinned] = [make('cuMemAlloc_v2', 8), make('cuMemHostAlloc', 8, 1)];
  const codes = [
    driver.call('cuMemFree_v2', 4096n),
    driver.call('cuMemFree_v2', memory + 4n),
    driver.call('cuMemFreeHost', memory),
    driver.call('cuMemFreeAsync', pinned, 0n),
  ];
  driver.must('cuMemFree_v2', memory);
  return [...codes, driver.call('cuMemFree_v2', memory), driver.call('cuMemsetD8Async', memory, 1, 8, 0n)];
});

same('what is known of a pointer, and in how many bytes', (subject) => {
  const { driver, make, context } = subject;
  const kinds = {
    device: make('cuMemAlloc_v2', 8),
    pool: make('cuMemAllocFromPoolAsync', 8, poolOf(subject), 0n),
    pinned: make('cuMemHostAlloc', 8, 1),
    managed: make('cuMemAllocManaged', 8, 1),
    unknown: 4096n,
  };
  const value = new BigUint64Array(1);
  const result = make('cuMemHostAlloc', 8, 1);
  const values = new BigUint64Array([result]);
  return Object.entries(kinds).map(([kind, address]) => [
    kind,
    ...[1, 2, 3, 4, 8, 9, 11].map((attribute) => {
      fake.poke(result, new Uint8Array(8).fill(0xee));
      driver.must('cuPointerGetAttributes', 1, new Int32Array([attribute]), values, address);
      const bytes = fake.peek(result, 8);
      const width = bytes.findLastIndex((byte) => byte !== 0xee) + 1;
      new Uint8Array(value.buffer).set(bytes.map((byte, i) => (i < width ? byte : 0)));
      const named = value[0] === context ? 'the context' : value[0] === address ? 'itself' : Number(value[0]);
      return [attribute, width > 4 ? 8 : width, named];
    }),
  ]);
});

test('without a current context the fake driver refuses at least the calls that the real driver refuses', () => {
  const ask = (subject: Subject): number[] => {
    const { driver, make } = subject;
    const [stream, event, memory] = [streamOf(subject), eventOf(subject), make('cuMemAlloc_v2', 8)];
    const out = new BigUint64Array(1);
    driver.must('cuCtxPopCurrent_v2', out);
    const codes = [
      driver.call('cuEventQuery', event),
      driver.call('cuEventSynchronize', event),
      driver.call('cuEventRecord', event, stream),
      driver.call('cuStreamQuery', stream),
      driver.call('cuStreamQuery', 0n),
      driver.call('cuMemsetD8Async', memory, 1, 8, stream),
      driver.call('cuPointerGetAttributes', 0, new Int32Array(1), out, memory),
      driver.call('cuMemAlloc_v2', out, 8),
      driver.call('cuEventDestroy_v2', event),
    ];
    driver.must('cuCtxPushCurrent_v2', subject.context);
    return codes;
  };
  const [strict, lenient] = [ask(fakeSubject()), ask(real)];
  for (const [i, answer] of strict.entries()) {
    ok(answer === lenient[i] || answer === code.invalidContext, `call ${i}: ${answer}, and really ${lenient[i]}`);
  }
});

same('a batch of copies: on a stream, but not on the legacy stream', (subject) => {
  const { driver, make } = subject;
  const [memory, pinned, stream] = [make('cuMemAlloc_v2', 8), make('cuMemHostAlloc', 8, 1), streamOf(subject)];
  fake.poke(pinned, new Uint8Array([1, 2, 3, 4, 5, 6, 7, 8]));
  const copy = (on: bigint): number =>
    driver.call(
      'cuMemcpyBatchAsync_v2',
      BigUint64Array.of(memory, memory + 4n),
      BigUint64Array.of(pinned + 4n, pinned),
      BigUint64Array.of(4n, 4n),
      2,
      Int32Array.of(1, 0, 0, 0, 0, 0),
      BigUint64Array.of(0n),
      1,
      on,
    );
  return [copy(1n), copy(stream), ...subject.read(memory, 8, stream)];
});

/** Calls on another stream, or on none, while a stream captures. */
const besides: Record<string, (subject: Subject) => DriverArgument[]> = {
  cuMemAlloc_v2: () => [new BigUint64Array(1), 8],
  cuMemAllocManaged: () => [new BigUint64Array(1), 8, 1],
  cuMemHostAlloc: () => [new BigUint64Array(1), 8, 1],
  cuMemFree_v2: ({ make }) => [make('cuMemAlloc_v2', 8)],
  cuMemFreeHost: ({ make }) => [make('cuMemHostAlloc', 8, 1)],
  cuMemGetInfo_v2: () => [new BigUint64Array(1), new BigUint64Array(1)],
  cuCtxSynchronize: () => [],
  cuStreamSynchronize: (subject) => [streamOf(subject)],
  cuStreamQuery: (subject) => [streamOf(subject)],
  cuStreamCreateWithPriority: () => [new BigUint64Array(1), 1, 0],
  cuEventCreate: () => [new BigUint64Array(1), 2],
  cuEventDestroy_v2: (subject) => [eventOf(subject)],
  cuEventQuery: (subject) => [eventOf(subject)],
  cuEventSynchronize: (subject) => [eventOf(subject)],
  cuEventRecord: (subject) => [eventOf(subject), streamOf(subject)],
  cuMemcpyAsync: (subject) => [subject.make('cuMemAlloc_v2', 8), new Uint8Array(8), 8, streamOf(subject)],
  cuMemsetD8Async: ({ make }) => [make('cuMemAlloc_v2', 8), 1, 8, 0n],
  cuMemAllocFromPoolAsync: (subject) => [new BigUint64Array(1), 8, poolOf(subject), streamOf(subject)],
};

for (const [modeName, mode] of Object.entries(captureMode)) {
  for (const [symbol, argumentsOf] of Object.entries(besides)) {
    same(`${symbol} beside a capture, on a thread whose mode is ${modeName}`, (subject) => {
      const { driver } = subject;
      const stream = streamOf(subject);
      const args = argumentsOf(subject);
      const swap = new Int32Array([mode]);
      driver.must('cuThreadExchangeStreamCaptureMode', swap);
      subject.beginCapture(stream, captureMode.global);
      const result = driver.call(symbol, ...args);
      const status = new Int32Array(1);
      driver.must('cuStreamIsCapturing', stream, status);
      const end = subject.endCapture(stream);
      driver.must('cuThreadExchangeStreamCaptureMode', swap);
      return [result, status[0], end];
    });
  }
}

/** Calls on the capturing stream itself. */
const inside: Record<string, (subject: Subject, stream: bigint) => DriverArgument[]> = {
  cuMemcpyAsync: ({ make }, stream) => [make('cuMemAlloc_v2', 8), new Uint8Array(8), 8, stream],
  cuMemsetD8Async: ({ make }, stream) => [make('cuMemAlloc_v2', 8), 1, 8, stream],
  cuMemFreeAsync: (subject, stream) => {
    const memory = subject.make('cuMemAllocFromPoolAsync', 8, poolOf(subject), 0n);
    subject.driver.must('cuCtxSynchronize');
    return [memory, stream];
  },
  cuMemAllocFromPoolAsync: (subject, stream) => [new BigUint64Array(1), 8, poolOf(subject), stream],
  cuEventRecord: (subject, stream) => [eventOf(subject), stream],
  cuStreamWaitEvent: (subject, stream) => {
    const event = eventOf(subject);
    subject.driver.must('cuEventRecord', event, streamOf(subject));
    return [stream, event, 0];
  },
  cuStreamSynchronize: (_, stream) => [stream],
  cuStreamQuery: (_, stream) => [stream],
};

for (const [symbol, argumentsOf] of Object.entries(inside)) {
  same(`${symbol} on a stream that captures`, (subject) => {
    const { driver } = subject;
    const stream = streamOf(subject);
    const args = argumentsOf(subject, stream);
    subject.beginCapture(stream, captureMode.relaxed);
    const result = driver.call(symbol, ...args);
    const status = new Int32Array(1);
    driver.must('cuStreamIsCapturing', stream, status);
    return [result, status[0], subject.endCapture(stream)];
  });
}

same('an event that was recorded in a capture, and the legacy stream beside one', (subject) => {
  const { driver, make } = subject;
  const [stream, event, memory] = [streamOf(subject), eventOf(subject), make('cuMemAlloc_v2', 8)];
  subject.beginCapture(stream, captureMode.relaxed);
  driver.must('cuEventRecord', event, stream);
  const codes = [driver.call('cuEventQuery', event), subject.endCapture(stream)];
  const blocking = streamOf(subject, false);
  subject.beginCapture(blocking, captureMode.relaxed);
  const status = new Int32Array(1);
  codes.push(driver.call('cuStreamIsCapturing', 0n, status));
  codes.push(driver.call('cuMemsetD8Async', memory, 1, 8, 0n));
  return [...codes, subject.endCapture(blocking)];
});

same('what can be given to other processes', (subject) => {
  const { driver, make } = subject;
  const stream = streamOf(subject);
  const address = make('cuMemAlloc_v2', 4096);
  const pooled = make('cuMemAllocFromPoolAsync', 4096, poolOf(subject), stream);
  driver.must('cuStreamSynchronize', stream);
  const result = make('cuMemHostAlloc', 8, 1);
  const isCapable = (of: bigint): number => {
    fake.poke(result, new Uint8Array(8));
    driver.must('cuPointerGetAttributes', 1, new Int32Array([10]), new BigUint64Array([result]), of);
    return fake.peek(result, 1)[0] as number;
  };
  const handle = new Uint8Array(64);
  const answers = [
    isCapable(address),
    isCapable(pooled),
    driver.call('cuIpcGetMemHandle', handle, address),
    driver.call('cuIpcGetMemHandle', handle, pooled) === 0,
    driver.call('cuIpcGetEventHandle', handle, eventOf(subject, 6)),
    driver.call('cuIpcGetEventHandle', handle, eventOf(subject, 2)) === 0,
    driver.call('cuEventCreate', new BigUint64Array(1), 4),
  ];
  driver.must('cuMemFreeAsync', pooled, stream);
  driver.must('cuMemFree_v2', address);
  return answers;
});
