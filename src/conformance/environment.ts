/** What a runtime lends to the cases. Cases whose part is missing are skipped. */

import { skip } from './case.js';
import type { Peer } from './native/peer.js';

/** Parts of the runtime that some cases need. Cases whose part is absent are skipped. */
export interface Environment {
  /** Runs the garbage collector. The default is `globalThis.gc`, which `--expose-gc` defines. */
  readonly collect?: () => void | Promise<void>;
  /** Evaluates an expression in another realm: `vm.runInNewContext`, or `frame.contentWindow.eval`. */
  readonly evaluate?: (code: string) => unknown;
  /** `conformancePeer()` of `dlpack/native`. Without it there are no native cases. */
  readonly peer?: Peer;
  /** Two GPUDevices, for libraries with GPUBuffers. */
  readonly gpuDevices?: readonly [object, object];
  /** Makes a GPUDevice that a case may destroy. */
  readonly makeGPUDevice?: () => object | Promise<object>;
  /**
   * Starts a process in which only a worker loads the library. The worker exports a tensor and ends, and the process then
   * calls the deleter. Resolves with `'released'`, or with what happened.
   */
  readonly afterWorker?: () => Promise<string>;
}

/** Skips a case on an engine without these globals, of which Hermes has fewer than others. */
export function needGlobals(...names: readonly string[]): void {
  for (const name of names) if (!(name in globalThis)) skip(`needs ${name}`);
}

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

/** Waits for what a library does later, in turns of the event loop. Returns whether it has happened. */
export async function until(done: () => boolean): Promise<boolean> {
  for (let i = 0; i < 50 && !done(); i++) await turn();
  return done();
}

/** Collects garbage until `done`, or until collecting more has no effect any more. */
export async function collectUntil(environment: Environment, done: () => boolean): Promise<boolean> {
  needGlobals('FinalizationRegistry');
  const collect = environment.collect ?? (globalThis as { gc?: () => void }).gc;
  if (collect === undefined) skip('needs a collector that can be called (--expose-gc)');
  for (let i = 0; i < 40 && !done(); i++) {
    await turn(); // a WeakRef that `done` looked at holds its object until then
    await collect();
    await turn();
  }
  // Callbacks of a FinalizationRegistry run after the object is gone.
  for (let i = 0; i < 3; i++) await turn();
  return done();
}

export function evaluateElsewhere(environment: Environment, code: string): unknown {
  if (environment.evaluate === undefined) skip('needs a second realm');
  return environment.evaluate(code);
}
