/** The inference server of examples/python-server under load: answers, refusals, memory, a crash and the end. */

import { once } from 'node:events';
import { equal, ok } from '../assert.js';
import { testWith } from '../harness.js';
import { probe } from '../interop/python/available.js';
import { type Answer, until, withServer } from './running-server.js';

const program = '../../examples/python-server/main.js';
const { missing } = probe('torch');

const SIZE = 224 * 224 * 3;
const image = (i: number): Uint8Array => new Uint8Array(SIZE).fill((i * 37) % 251, 0, SIZE / 2).fill(i, SIZE / 2);

const isClose = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((value, i) => Math.abs(value - (b[i] as number)) < 1e-5);

testWith(
  missing,
  'load: answers are those of single requests, nothing is left over, and SIGTERM loses none',
  async () => {
    await withServer(program, {}, async ({ process: child, send }) => {
      const images = Array.from({ length: 8 }, (_, i) => image(i));
      const expected: (readonly number[])[] = [];
      for (const one of images) {
        const { status, body } = await send('/predict', one);
        equal(status, 200);
        expected.push(body.scores as readonly number[]);
      }
      ok(!isClose(expected[0] as readonly number[], expected[1] as readonly number[]), 'images have different scores');
      const isRight = async (i: number, sent: Promise<Answer>): Promise<void> => {
        const { status, body } = await sent;
        equal(status, 200);
        ok(isClose(body.scores as readonly number[], expected[i % 8] as readonly number[]), `answer ${i}`);
      };
      const { body: before } = await send('/health');
      await Promise.all(Array.from({ length: 400 }, (_, i) => isRight(i, send('/predict', images[i % 8]))));
      const { body: after } = await send('/health');
      const { waiting, storages, imports } = before;
      equal(
        { waiting: after.waiting, storages: after.storages, imports: after.imports },
        { waiting, storages, imports },
      );
      // Objects of the start that the collector found meanwhile may be gone.
      ok(Number(after.objects) <= Number(before.objects), `${after.objects} Python objects after ${before.objects}`);
      equal((await send('/predict', new Uint8Array(5))).status, 400);
      equal((await send('/other')).status, 404);
      const last = Array.from({ length: 40 }, (_, i) => send('/predict', images[i % 8]));
      await last[0];
      const exit = once(child, 'exit');
      child.kill('SIGTERM');
      await Promise.all(last.map((sent, i) => isRight(i, sent)));
      equal((await exit)[0], 0);
    });
  },
);

testWith(missing, 'overload: requests are refused or answered', async () => {
  await withServer(program, { LIMIT: '4', DEADLINE: '1' }, async ({ send }) => {
    const answers = await Promise.all(Array.from({ length: 200 }, (_, i) => send('/predict', image(i))));
    const count = (wanted: number) => answers.filter(({ status }) => status === wanted).length;
    // How many are refused is up to the machine: python-server-held.test.ts has a queue that is full.
    equal(count(200) + count(503), 200);
    ok(count(200) > 0, 'some are answered');
    equal((await send('/predict', image(1))).status, 200);
  });
});

testWith(missing, 'two processes answer, and when one crashes, a new one takes its place', async () => {
  await withServer(program, { PROCESSES: '2' }, async ({ send }) => {
    const pids = new Set<number>();
    const ask = (): Promise<unknown> =>
      send('/health', undefined, 'new').then(
        ({ body }) => pids.add(body.pid as number),
        () => {}, // a process crashed with the connection
      );
    /** Asks until so many processes have answered. */
    const answeredBy = (count: number): Promise<void> =>
      until(() => {
        void ask(); // not awaited: a connection that node:cluster hands to a process as it crashes gets no answer
        return pids.size >= count;
      });
    await answeredBy(2);
    process.kill([...pids][0] as number, 'SIGSEGV');
    await answeredBy(3);
    equal((await send('/predict', image(3))).status, 200);
  });
});
