/**
 * The connection to a cluster.
 *
 * @module
 */

import { load } from './helpers.js';
import { type InitOptions, initOptions, toKeywords } from './options.js';

export interface Connection {
  /** The address of the cluster, for other programs: `init({ address })`. */
  readonly address: string;
  /** The identifier of the node that this program uses. */
  readonly nodeId: string;
}

/** Connects to a cluster, or starts one on this machine: Python's `ray.init`. */
export async function init(options: InitOptions = {}): Promise<Connection> {
  const keywords = toKeywords(options, initOptions, '{ numCpus: 4 }');
  const { py, helpers } = load();
  const [address, nodeId] = [...((await py.callAsync(helpers.init, keywords)) as Iterable<string>)];
  return { address: address as string, nodeId: nodeId as string };
}

/**
 * Disconnects, and stops a cluster that {@link init} started. Rejects promises of `get` that still wait. Blocks this
 * thread until Ray has disconnected.
 */
export async function shutdown(): Promise<void> {
  const { py, ray, helpers } = load();
  // Ray ends the process when another thread drops one of its objects while it disconnects. So a thread of the pool
  // drops what waits for it first, and no JavaScript runs during the rest.
  await py.callAsync(helpers.stop_waiting);
  ray.shutdown();
}
