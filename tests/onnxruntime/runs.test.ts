import { stat } from 'node:fs/promises';
import { Tensor } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import { loadSession, type Session } from 'dlpack/onnxruntime';
import { equal, ok } from '../assert.js';
import { runChild } from '../child.js';
import { runtime, testWith } from '../harness.js';
import { chain } from './chain.js';
import { missing } from './library.js';

const loaded = async (action: (session: Session, x: Tensor) => Promise<void>, options = {}) => {
  const session = await loadSession(chain(200, 192), { threads: 1, ...options });
  const x = Tensor.zeros([192, 192], 'float32');
  try {
    await action(session, x);
  } finally {
    session.dispose();
    x.dispose();
  }
};

testWith(missing, 'runs leave the event loop and the pool of the runtime free', () =>
  loaded(async (session, x) => {
    let ended = 0;
    const runs = Array.from({ length: 8 }, () => session.run({ x }).then(() => void ended++));
    await new Promise((resolve) => setTimeout(resolve, 0));
    await stat('.');
    ok(ended < 8, 'a timer and a file operation came first');
    await Promise.all(runs);
    equal(ended, 8);
  }),
);

testWith(missing, 'a hundred runs at once give what one run gives', () =>
  loaded(
    async (session, x) => {
      const expected = (session.runSync({ x }).y as Tensor).toArray();
      const results = await Promise.all(Array.from({ length: 100 }, () => session.run({ x })));
      for (const { y } of results) equal((y as Tensor).toArray(), expected);
    },
    { concurrency: 3 },
  ),
);

testWith(missing, 'a signal stops a run, and the session goes on', () =>
  loaded(async (session, x) => {
    const before = liveCounts().storages;
    const reason = new Error('enough');
    const outcomeOf = (run: Promise<unknown>) =>
      run.then(
        () => 'resolved',
        (error) => error,
      );
    const controller = new AbortController();
    const runs = Array.from({ length: 4 }, () => outcomeOf(session.run({ x }, { signal: controller.signal })));
    controller.abort(reason);
    equal(await Promise.all(runs), [reason, reason, reason, reason]);
    equal(await outcomeOf(session.run({ x }, { signal: controller.signal })), reason);
    equal(liveCounts().storages, before, 'nothing of the stopped runs is left');
    const late = new AbortController();
    const { y } = await session.run({ x }, { signal: late.signal });
    late.abort(reason);
    (y as Tensor).dispose();
  }),
);

testWith(missing, 'a signal ends a run that waits for others at once, and those after it get their turn', () =>
  loaded(
    async (session, x) => {
      const ended: string[] = [];
      const start = (name: string, signal?: AbortSignal) =>
        session.run({ x }, signal === undefined ? {} : { signal }).then(
          () => ended.push(name),
          () => ended.push(`${name} stopped`),
        );
      const [second, last] = [new AbortController(), new AbortController()];
      const runs = [start('first'), start('second', second.signal), start('third'), start('last', last.signal)];
      last.abort();
      second.abort();
      await Promise.all([runs[1], runs[3]]);
      equal(ended, ['last stopped', 'second stopped']);
      runs.push(start('fifth'));
      await Promise.all(runs);
      equal(ended.slice(2), ['first', 'third', 'fifth']);
    },
    { concurrency: 1 },
  ),
);

testWith(missing, 'a run keeps the memory of its input, which may be disposed meanwhile', () =>
  loaded(async (session) => {
    const x = Tensor.zeros([192, 192], 'float32');
    void x.data;
    const run = session.run({ x });
    x.dispose();
    equal((await run).y !== undefined, true);
  }),
);

testWith(missing, 'a session that is disposed during a run ends after it', async () => {
  const session = await loadSession(chain(50, 128));
  const x = Tensor.zeros([128, 128], 'float32');
  const runs = Array.from({ length: 6 }, () => session.run({ x }));
  await session[Symbol.asyncDispose]();
  for (const { y } of await Promise.all(runs)) equal([...(y as Tensor).shape], [128, 128]);
});

for (const how of ['exit', 'return', 'terminate', 'collect', 'many', 'first', 'second']) {
  testWith(missing, `a child process: ${how}`, () => {
    if (runtime === 'bun' && how === 'terminate') return; // Bun ends a worker only when its event loop is idle
    const { code, signal, output } = runChild(import.meta.url, './child.js', { args: [how] });
    equal([code, signal, output.trim()], [0, null, 'done'], how);
  });
}
