/** The peer of dlpack/conformance, which is a part of the addon. */

import type { Peer } from '../conformance/native/peer.js';
import { addonExports } from './load/load.js';

/** The peer that takes and makes native externals in the cases of `dlpack/conformance`, for `casesOf(subject, { peer })`. */
export const conformancePeer = (): Peer => addonExports().conformancePeer();
