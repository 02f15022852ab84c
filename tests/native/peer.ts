/** The second addon (tests/native/addon/peer.cc), as TypeScript sees it. */

import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { NativeExternal } from 'dlpack';

/** The tensor to make; other fields have valid defaults. Integers are bigints, so that they can be too large. */
export interface Recipe {
  shape?: bigint[];
  strides?: bigint[];
  code?: number;
  bits?: number;
  lanes?: number;
  device?: number;
  deviceId?: number;
  byteOffset?: number;
  nbytes?: number;
  misalign?: number;
  flags?: number;
  major?: number;
  minor?: number;
  ndim?: number;
  nullDeleter?: boolean;
  nullData?: boolean;
  nullShape?: boolean;
}

/** The fields of a struct, read through a real dlpack.h. */
export interface Description {
  major: number;
  minor: number;
  flags: number;
  address: bigint;
  data: bigint;
  device: number;
  deviceId: number;
  ndim: number;
  code: number;
  bits: number;
  lanes: number;
  byteOffset: number;
  hasDeleter: number;
  shape: number[] | null;
  strides: number[] | null;
}

interface Peer {
  makeVersioned(recipe: Recipe): bigint;
  makeLegacy(recipe: Recipe): bigint;
  makeExternal(recipe: Recipe): NativeExternal;
  makeCalling(recipe: Recipe, action: () => void): bigint;
  makeBlock(nbytes: number, isTouched: boolean): bigint;
  makeForeignExternal(): NativeExternal;
  readVersioned(address: bigint): Description;
  readLegacy(address: bigint): Description;
  takeExternal(external: unknown): Description | null;
  isExternal(value: unknown): boolean;
  deleteVersioned(address: bigint): void;
  deleteLegacy(address: bigint): void;
  deleteOnThreads(addresses: BigUint64Array, threads: number): void;
  joinThreads(): void;
  leaveThreads(): void;
  deletions(): number;
  /** The code, bits and lanes in the struct of the last tensor, when its deleter ran. */
  deletedDType(): number;
  peekByte(address: bigint): number;
  pokeByte(address: bigint, value: number): void;
  moveData(address: bigint, data: bigint): void;
  allocate(api: bigint, recipe: Recipe): bigint | string;
  readExchangeApi(api: bigint): Record<'major' | 'minor' | 'previous' | 'complete' | 'stream', number>;
}

const path = new URL('../../native/peer.node', import.meta.url);

/** Names what is missing, for `testWith`. */
export const peerMissing = existsSync(path) ? false : 'build/native/peer.node (needs Python and a C++ compiler)';

export const peer: Peer =
  peerMissing === false ? createRequire(import.meta.url)('../../native/peer.node') : ({} as Peer);

/** How often the peer's deleters ran during an action. */
export function countDeletions(action: () => void): number {
  const before = peer.deletions();
  action();
  return peer.deletions() - before;
}
