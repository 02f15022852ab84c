import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { liveCounts } from 'dlpack/debug';
import { equal, ok, throws } from '../../assert.js';
import { cores } from '../../cores.js';
import { collectUntil, test } from '../../harness.js';

for (const [core, { Tensor, isDLPackError }] of cores) {
  test(`${core}: astypeAsync and copyAsync give the results of astype and copy`, async () => {
    using source = Tensor.from(Array.from({ length: 5000 }, (_, i) => i / 7 - 300))
      .reshape([50, 100])
      .transpose();
    for (const dtype of ['bfloat16', 'int8', 'float4_e2m1fn', 'complex64', 'int128', 'bool'] as const) {
      using now = source.astype(dtype);
      using later = await source.astypeAsync(dtype);
      equal(later.toArray(), now.toArray(), dtype);
    }
    using copy = await source.copyAsync();
    equal(copy.toArray(), source.toArray());
    ok(copy.isContiguous);
    const wrapped = Tensor.wrap(new Float32Array([1.5, 2.5, -1.5]));
    equal((await wrapped.astypeAsync('int32')).toArray(), [1, 2, -1]);
    equal((await Tensor.zeros([0, 3], 'int4').astypeAsync('float16')).shape, [0, 3]);
  });

  test(`${core}: timers fire while a large conversion runs`, async () => {
    using source = Tensor.zeros([1 << (core === 'native' ? 24 : 21)], 'float32').fill(2.5);
    // A conversion inside the call would always resolve its promise before any timer. A conversion on another thread is sometimes later,
    // when the system schedules this thread first.
    let wasFirst = false;
    for (let attempt = 0; attempt < 20 && !wasFirst; attempt++) {
      let done = false;
      const running = source.astypeAsync('float8_e4m3fn').then((result) => {
        done = true;
        return result;
      });
      await new Promise((resolve) => setTimeout(resolve, 0));
      wasFirst = !done;
      using result = await running;
      equal([result.get(0), result.get(-1)], [2.5, 2.5]);
    }
    ok(wasFirst, 'a timer fired first');
  });

  test(`${core}: the source may be disposed while it is read`, async () => {
    const source = Tensor.zeros([1 << 20], 'float32').fill(3);
    const running = Promise.all([source.astypeAsync('bfloat16'), source.copyAsync()]);
    source.dispose();
    throws('DisposedError', 'live tensor', () => source.get(0));
    for (const result of await running) {
      equal([result.get(0), result.get(-1)], [3, 3]);
      result.dispose();
    }
  });

  test(`${core}: a conversion that does not exist rejects`, async () => {
    const reasons: unknown[] = [];
    const quad = Tensor.zeros([2], 'float128');
    await quad.astypeAsync('float32').catch((error) => reasons.push(error));
    quad.dispose();
    await quad.copyAsync().catch((error) => reasons.push(error));
    ok(isDLPackError(reasons[0], 'UnsupportedDTypeError'), String(reasons[0]));
    ok(isDLPackError(reasons[1], 'DisposedError'), String(reasons[1]));
  });
}

test('a JavaScript buffer that is detached meanwhile rejects and leaves nothing behind', async () => {
  const [, { Tensor, isDLPackError }] = cores[0] as (typeof cores)[number];
  const memory = new Float32Array(1 << 20);
  const running = Tensor.wrap(memory).astypeAsync('float64');
  structuredClone(memory, { transfer: [memory.buffer] });
  const reason = await running.then(
    () => null,
    (error: unknown) => error,
  );
  ok(isDLPackError(reason, 'DisposedError'), String(reason));
});

test('every storage is released when its conversion has ended', async () => {
  const [, { Tensor }] = cores[0] as (typeof cores)[number];
  await collectUntil(() => liveCounts().storages === 0);
  const before = liveCounts().storages;
  const source = Tensor.zeros([1000], 'float32');
  const running = Array.from({ length: 8 }, () => source.astypeAsync('float16'));
  source.dispose();
  for (const result of await Promise.all(running)) result.dispose();
  // The collector releases the buffer that zeros() wrote through.
  ok(await collectUntil(() => liveCounts().storages <= before), `${liveCounts().storages} instead of ${before}`);
});

test('a worker may end while its conversions run', async () => {
  const code = `
    import { parentPort } from 'node:worker_threads';
    const { Tensor } = await import(${JSON.stringify(import.meta.resolve('dlpack'))});
    const source = Tensor.zeros([1 << 24], 'float32');
    for (let i = 0; i < 4; i++) void source.astypeAsync('float8_e4m3fn');
    parentPort.postMessage('started');
  `;
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`));
  const [message] = await once(worker, 'message');
  equal(message, 'started');
  await worker.terminate();
});
