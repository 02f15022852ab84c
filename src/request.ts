/**
 * The request that this package's own `fromDLPack` makes: producers of this package may answer it with a descriptor, where
 * another consumer gets a managed tensor.
 *
 * @module
 */

import type { DLDevice } from './device.js';
import type { DLPackRequest } from './managed.js';

export class OwnRequest implements DLPackRequest {
  readonly maxVersion: readonly [number, number];
  readonly device: DLDevice | null;
  readonly copy: boolean | null;
  readonly stream: bigint | null;
  readonly native: boolean;

  constructor(
    maxVersion: readonly [number, number],
    device: DLDevice | null,
    copy: boolean | null,
    stream: bigint | null,
    native: boolean,
  ) {
    this.maxVersion = maxVersion;
    this.device = device;
    this.copy = copy;
    this.stream = stream;
    this.native = native;
  }
}
