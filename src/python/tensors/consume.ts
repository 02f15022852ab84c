/** Writes the request for the tensor of a Python object. */

import { ArgumentTypeError } from '../../errors.js';
import { enter } from '../../native/wire/wire.js';
import { TensorResult } from '../../native/wire/wire-layout.js';
import type { ForeignRequest } from '../../storage/foreign.js';
import { ConsumeRequest } from '../wire-layout.js';

/** Takes a slot for the request and its TensorResult, and writes the request. */
export function writeConsume(handle: number, request: ForeignRequest | null): number {
  const stream = request === null || request.stream === null ? 0 : streamNumber(request.stream);
  const slot = enter(ConsumeRequest.WORDS + TensorResult.WORDS);
  ConsumeRequest.setObject(slot, handle);
  ConsumeRequest.setTensorSlot(slot, ConsumeRequest.end(slot));
  ConsumeRequest.setStream(slot, stream);
  if (request === null) {
    ConsumeRequest.setCopy(slot, -1);
    ConsumeRequest.setDeviceType(slot, 0);
  } else writeRequested(slot, request);
  return slot;
}

function writeRequested(slot: number, { copy, device }: ForeignRequest): void {
  ConsumeRequest.setCopy(slot, copy === null ? -1 : copy ? 1 : 0);
  ConsumeRequest.setDeviceType(slot, device === null ? 0 : device.type);
  ConsumeRequest.setDeviceId(slot, device === null ? 0 : device.id);
}

/** Checks the stream, because a program may pass anything. */
function streamNumber(stream: unknown): number {
  if (typeof stream === 'bigint' || typeof stream === 'number') return Number(stream);
  throw new ArgumentTypeError('stream', 'a bigint or null', stream);
}
