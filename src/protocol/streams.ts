/** The numbers of streams in a request: docs/spec.md, section 2.2. */

import type { DeviceInfo, DeviceKind } from '../device.js';
import { BufferError } from '../errors.js';

/** Devices that have streams, with the numbers that the array API forbids for them. */
const forbidden: Partial<Record<DeviceKind, readonly bigint[]>> = {
  cuda: [0n],
  cuda_managed: [0n],
  rocm: [1n, 2n],
};

/** Throws for a number that is not a stream of the device. */
export function checkStream({ kind, name }: DeviceInfo, stream: bigint | null): void {
  if (stream === null) return;
  const numbers = forbidden[kind];
  if (numbers === undefined) {
    throw new BufferError(`Expected no stream for a tensor on '${name}' but received ${stream}; pass null`);
  }
  if (stream < -1n || stream >= 2n ** 64n || numbers.includes(stream)) {
    const why = stream === 0n ? ', which is ambiguous and forbidden' : '';
    throw new BufferError(
      `Expected a stream of '${name}' (null, -1n for none, or its number in the array API) but received ${stream}${why}`,
    );
  }
}
