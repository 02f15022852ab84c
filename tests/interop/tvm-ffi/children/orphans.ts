/** A worker that registers a class, leaves an object of it to native code, and ends when it gets a message. */

import { parentPort, workerData } from 'node:worker_threads';
import { loadModule, registerObject } from 'dlpack/tvm-ffi';

const { key, probePath } = workerData as { key: string; probePath: string };

class Orphan {
  value = 7;

  twice(): number {
    return this.value * 2;
  }
}

const probe = loadModule<Record<'keep' | 'kept', (value?: unknown) => unknown>>(probePath);
registerObject(key, Orphan, { fields: ['value'], methods: ['twice'] });
const orphan = new Orphan();
probe.keep(orphan);
// A second object, which this worker still holds when it ends.
const list = [new Orphan(), orphan];
parentPort?.postMessage(probe.kept() === orphan && list.length);
parentPort?.once('message', () => process.exit(0));
