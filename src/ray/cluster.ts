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
  await py.callAsync(helpers.stop_waiting);
  // Ray ends the process when another thread drops one of its objects while it disconnects. So this thread drops what
  // waits for other threads first, and no JavaScript runs during the rest.
  binding().settleAll();
  ray.shutdown();
}
