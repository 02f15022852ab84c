/** A process in which only a worker loads a library, for `dlpack conformance`. */

import { spawn } from 'node:child_process';
import { pathToFileURL } from 'node:url';
import { matrix } from '../conformance/recipes.js';

/** The runtime's arguments before a script. */
export const runtimeArgs = 'deno' in process.versions ? ['run', '-A'] : [];

/**
 * Node unloads an addon when the last worker that loaded it ends, so the main thread loads nothing but the peer, which is in
 * the addon of this package.
 */
export function afterWorker(subject: string, addon: string): () => Promise<string> {
  const { dtype, shape, bytes } = matrix;
  const data = { subject: pathToFileURL(subject).href, addon, recipe: { ...matrix, dtype, shape, bytes: [...bytes] } };
  const inWorker = `
    const { parentPort, workerData: { subject, addon, recipe } } = require('node:worker_threads');
    import(subject).then(({ default: { producer } }) => {
      const tensor = producer.make({ ...recipe, bytes: Uint8Array.from(recipe.bytes) });
      const [header] = require(addon).conformancePeer().take(tensor[Symbol.for('dlpack')]({ native: 'only' }));
      parentPort.postMessage(BigInt.asUintN(64, header[11]));
    });`;
  const script = `
    const { Worker } = require('node:worker_threads');
    const workerData = ${JSON.stringify(data)};
    const peer = require(workerData.addon).conformancePeer();
    const worker = new Worker(${JSON.stringify(inWorker)}, { eval: true, workerData });
    worker.once('error', (error) => console.log('the worker failed: ' + error.message));
    worker.once('message', async (token) => {
      const alive = setInterval(() => {}, 1000); // Bun would end when the worker has ended, before it says so
      await worker.terminate();
      clearInterval(alive);
      peer.release(token);
      console.log('released');
    });`;
  return () =>
    new Promise((settle, reject) => {
      const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
      let output = '';
      child.stdout.on('data', (text) => (output += text));
      child.on('error', reject);
      child.on('close', (code, signal) => settle(code === 0 ? output.trim() : `it ended with ${signal ?? code}`));
    });
}
