/** The connection to a cluster. */

import { binding } from '../python/binding.js';
import { load } from './helpers.js';
import { type InitOptions, initOptions, toKeywords } from './options.js';

/** The cluster that this program uses. */
export interface Connection {
  /** The address of the cluster, for other programs: `init({ address })`. */
  readonly address: string;
  /** The identifier of the node that this program uses. */
  readonly nodeId: string;
}

/**
 * Connects to a cluster, or starts one on this machine: Python's `ray.init`.
 *
 * @param options - The cluster, and what this node offers to a new one; Ray's own defaults when absent.
 * @returns A promise of the address of the cluster and the node.
 * @throws ArgumentTypeError for an unknown option, LoadError without Python or Ray, and PythonError if Ray does not
 *   connect.
 * @example
 * ```ts no-run: needs Ray
 * import * as ray from 'dlpack/ray';
 * const { address } = await ray.init({ numCpus: 4 }); // or { address: '10.0.0.1:6379' }
 * ```
 */
export async function init(options: InitOptions = {}): Promise<Connection> {
  const keywords = toKeywords(options, initOptions, '{ numCpus: 4 }');
  const { py, helpers } = load();
  const [address, nodeId] = [...((await py.callAsync(helpers.init, keywords)) as Iterable<string>)];
  return { address: address as string, nodeId: nodeId as string };
}

/**
 * Disconnects, and stops a cluster that {@link init} started. Rejects promises of `get` that still wait. Blocks this
 * thread until Ray has disconnected.
 *
 * @returns A promise that resolves when this program has no connection any more.
 * @throws LoadError without Python or Ray.
 * @example
 * ```ts no-run: needs Ray
 * import * as ray from 'dlpack/ray';
 * await ray.shutdown();
 * ```
 */
export async function shutdown(): Promise<void> {
  const { py, ray, helpers } = load();
  await py.callAsync(helpers.stop_waiting);
  // Ray ends the process when another thread drops one of its objects while it disconnects. So this thread drops what
  // waits for other threads first, and no JavaScript runs during the rest.
  binding().settleAll();
  ray.shutdown();
}
