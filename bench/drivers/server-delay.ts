/** Preloaded into a server: at its end, writes the delays of its event loop in milliseconds to the file DELAY_FILE. */

import { writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

if (isMainThread) {
  const RESOLUTION = 1;
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION });
  delay.enable();
  process.on('SIGUSR2', () => delay.reset()); // the load begins
  process.on('exit', () => {
    const late = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - RESOLUTION);
    const text = JSON.stringify({ p99: late(delay.percentile(99)), longest: late(delay.max) });
    writeFileSync(process.env.DELAY_FILE as string, text);
  });
}
