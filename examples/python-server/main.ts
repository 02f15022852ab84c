/**
 * Runs the server in processes of its own, and starts a new one when one of them crashes: native code of a model can end a
 * process, which JavaScript cannot catch.
 */

import cluster, { type Worker } from 'node:cluster';
import { fileURLToPath } from 'node:url';

cluster.setupPrimary({ exec: fileURLToPath(new URL('./torch.js', import.meta.url)) });

let isEnding = false;
const listening = new Set<Worker>();
cluster.on('listening', (worker) => listening.add(worker));
cluster.on('exit', (worker, code, signal) => {
  if (isEnding) return;
  console.error(`process ${worker.process.pid} ended with ${signal ?? code}`);
  // A process that ends before it serves would end again.
  if (listening.delete(worker)) cluster.fork();
  else process.exitCode = 1;
});
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => {
    isEnding = true;
    for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill('SIGTERM');
  });
}
for (let i = 0; i < Number(process.env.PROCESSES ?? 1); i++) cluster.fork();
