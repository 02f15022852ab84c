/** A machine of two fake devices for the tests of dlpack/cuda, and checks after each test. */

import { CudaError } from 'dlpack/cuda';
import { emptyCache, liveCounts } from 'dlpack/debug';
import { equal, ok } from '../assert.js';
import { collect, collectUntil, testWith } from '../harness.js';
import { fake, fakeMissing } from './fake.js';
import './two-devices.js';

/** Registers a test after which there must be no error, race or violation, and all memory, streams and events are released. */
export function cudaTest(name: string, body: () => void | Promise<void>): void {
  testWith(fakeMissing, name, async () => {
    await collect();
    for (const device of ['cuda:0', 'cuda:1'] as const) emptyCache(device);
    fake.reset();
    fake.configure({});
    const before = fake.live();
    const { storages, imports } = liveCounts();
    await body();
    // Some tests leave objects to the collector, which may run at any time.
    await collectUntil(() => {
      const { streams, events } = fake.live();
      const isOurs = liveCounts().storages === storages && liveCounts().imports === imports;
      return isOurs && streams === before.streams && events === before.events;
    });
    for (const device of ['cuda:0', 'cuda:1'] as const) emptyCache(device);
    fake.runAll();
    equal(fake.errors(), []);
    const live = () => ({ ...fake.live(), modules: before.modules });
    // The thread that waits for the device may be about to free memory.
    await collectUntil(() => JSON.stringify(live()) === JSON.stringify(before));
    equal(live(), before, 'what the driver has');
    equal(
      { storages: liveCounts().storages, imports: liveCounts().imports },
      { storages, imports },
      'what this package has',
    );
  });
}

/** The action throws the driver's error. */
export function throwsCuda(cudaName: string, action: () => unknown): CudaError {
  try {
    action();
  } catch (error) {
    ok(error instanceof CudaError, `expected a CudaError but received ${String(error)}`);
    equal(error.cudaName, cudaName);
    return error;
  }
  throw new Error(`expected ${cudaName} but nothing was thrown`);
}
