/** A signal for a load. */

import { Tensor } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import { loadSession } from 'dlpack/onnxruntime';
import { equal } from '../assert.js';
import { runChild } from '../child.js';
import { testWith } from '../harness.js';
import { chain } from './chain.js';
import { missing } from './library.js';

const outcomeOf = (work: Promise<unknown>): Promise<unknown> => work.catch((error) => error);

/** Waits until as many storages are alive as before. */
async function settled(before: number): Promise<void> {
  while (liveCounts().storages > before) await new Promise((resolve) => setTimeout(resolve, 1));
}

testWith(missing, 'a signal that has aborted loads nothing', async () => {
  const before = liveCounts().storages;
  const reason = new Error('enough');
  equal(await outcomeOf(loadSession(chain(1, 4), { signal: AbortSignal.abort(reason) })), reason);
  equal(liveCounts().storages, before);
});

testWith(missing, 'a signal ends a load at once, and its memory is freed', async () => {
  const before = liveCounts().storages;
  const bytes = Tensor.from(chain(5000, 64));
  const controller = new AbortController();
  const loads = Array.from({ length: 3 }, () => outcomeOf(loadSession(bytes, { signal: controller.signal })));
  bytes.dispose(); // the loads hold the memory
  const reason = new Error('enough');
  controller.abort(reason);
  equal(await Promise.all(loads), [reason, reason, reason]);
  await settled(before);
});

testWith(missing, 'a signal that aborts after the load changes nothing', async () => {
  const controller = new AbortController();
  const session = await loadSession(chain(2, 4), { signal: controller.signal });
  controller.abort();
  const x = Tensor.full([4, 4], 1, 'float32');
  const { y } = await session.run({ x });
  equal((y as Tensor).toArray(), Array(4).fill(Array(4).fill(16)));
  session.dispose();
});

for (const how of ['load in a worker', 'load at the end']) {
  testWith(missing, `${how}: what ends while it loads a model`, () => {
    const { code, signal, output } = runChild(import.meta.url, './child.js', { args: [how] });
    equal([code, signal, output.trim()], [0, null, 'done'], output);
  });
}

testWith(missing, 'ONNX Runtime reports nothing to its maker', () => {
  // CI stops the reports, too.
  const env = { CI: undefined, ORT_DISABLE_TELEMETRY: undefined };
  const { code, signal, output } = runChild(import.meta.url, './child.js', { args: ['reports'], env });
  equal([code, signal, output.trim()], [0, null, 'done'], output);
});
