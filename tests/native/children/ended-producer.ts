/**
 * A worker loads an addon, makes a tensor in it, and ends. Node then unloads the addon, unless something keeps it loaded.
 * Afterwards this thread releases the tensor, which calls the addon's deleter.
 */

import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { fromDLPack } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import { importManaged } from 'dlpack/native';
import { openTensor, shareTensor, type TensorToken } from 'dlpack/shared';

interface Made {
  address?: bigint | undefined;
  token?: TensorToken;
}

async function make(how: string): Promise<Made> {
  const { peer } = await import('../peer.js'); // here, because this thread must not load the addon
  const recipe = { shape: [2n] };
  switch (how) {
    case 'header': {
      // Only the header's function can have kept the addon loaded: nothing was imported yet.
      const taken = peer.takeExternal(peer.makeExternal(recipe));
      return { address: taken?.address };
    }
    case 'external':
      return { token: shareTensor(fromDLPack(peer.makeExternal(recipe))) };
    case 'versioned':
      return { token: shareTensor(importManaged(peer.makeVersioned(recipe))) };
    default:
      return { token: shareTensor(importManaged(peer.makeLegacy(recipe), { versioned: false })) };
  }
}

if (isMainThread) {
  const before = liveCounts().imports;
  const worker = new Worker(new URL(import.meta.url), { workerData: process.argv[2] });
  const { address, token }: Made = await new Promise((done, fail) => worker.once('message', done).once('error', fail));
  const x = token === undefined ? null : openTensor(token);
  await worker.terminate();
  (x ?? importManaged(address as bigint)).dispose();
  // Deno ends the worker's environment, which has a reference of its own, some time after the promise.
  while (liveCounts().imports > before) await new Promise((resolve) => setTimeout(resolve, 10));
  console.log(`RESULT ${JSON.stringify(liveCounts().imports - before)}`);
} else parentPort?.postMessage(await make(workerData as string));
