/** The peer of dlpack/conformance, which is a part of the addon. */

import type { Peer } from '../conformance/native/peer.js';
import { addonExports } from './load/load.js';

/**
 * Returns the peer that takes and makes native externals in the cases of `dlpack/conformance`.
 *
 * @returns The peer, for `casesOf(subject, { peer })`.
 * @throws LoadError without the native part.
 * @example
 * ```ts
 * import { conformancePeer } from 'dlpack/native';
 * console.log(conformancePeer().isExternal({})); // false
 * ```
 */
export const conformancePeer = (): Peer => addonExports().conformancePeer();
