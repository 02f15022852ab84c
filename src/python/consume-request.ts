/** Writes the request for the tensor of a Python object. */

import { ArgumentTypeError } from '../errors.js';
import { wire } from '../native/wire.js';
import { TensorResult } from '../native/wire-layout.js';
import type { ImportRequest } from '../storage/foreign.js';
import { enter } from './slot.js';
import { ConsumeRequest } from './wire-layout.js';

// Constants of this module; wire.ts explains why.
const { u32, i32, f64 } = wire;

/** Takes a slot for the request and its TensorResult, and writes the request. */
export function writeConsume(handle: number, request: ImportRequest | null): number {
  const stream = request === null || request.stream === null ? 0 : streamNumber(request.stream);
  const slot = enter(ConsumeRequest.WORDS + TensorResult.WORDS);
  const half = slot * 2;
  u32[half + ConsumeRequest.OBJECT] = handle;
  u32[half + ConsumeRequest.TENSOR_SLOT] = slot + ConsumeRequest.WORDS;
  f64[slot + ConsumeRequest.STREAM] = stream;
  if (request === null) {
    i32[half + ConsumeRequest.COPY] = -1;
    i32[half + ConsumeRequest.DEVICE_TYPE] = 0;
  } else writeRequested(half, request);
  return slot;
}

function writeRequested(half: number, { copy, device }: ImportRequest): void {
  i32[half + ConsumeRequest.COPY] = copy === null ? -1 : copy ? 1 : 0;
  i32[half + ConsumeRequest.DEVICE_TYPE] = device === null ? 0 : device.type;
  i32[half + ConsumeRequest.DEVICE_ID] = device === null ? 0 : device.id;
}

/** Checks the stream, because a program may pass anything. */
function streamNumber(stream: unknown): number {
  if (typeof stream === 'bigint' || typeof stream === 'number') return Number(stream);
  throw new ArgumentTypeError('stream', 'a bigint or null', stream);
}
