/**
 * Tensors of Python objects.
 *
 * @module
 */

import { ArgumentTypeError } from '../errors.js';
import { takeImport } from '../native/import.js';
import { checkStatus } from '../native/status.js';
import type { Descriptor } from '../storage/descriptor.js';
import type { ImportRequest } from '../storage/foreign.js';
import { binding } from './binding.js';
import { writeNumbers } from './cells.js';
import { COUNT, FAILED, frame, HANDLE } from './frame.js';
import { liveHandle, type Reference } from './reference.js';
import { toError } from './results.js';

const { u32 } = frame;

/** A program may give anything. */
function numberOf(stream: unknown): number {
  if (typeof stream === 'bigint' || typeof stream === 'number') return Number(stream);
  throw new ArgumentTypeError('stream', 'a bigint or null', stream);
}

/** The tensor of a Python object: its type's exchange API, then versioned, then legacy. */
export function consume(reference: Reference, request: ImportRequest | null): Descriptor {
  const handle = liveHandle(reference);
  if (request === null) u32[COUNT] = 0;
  else {
    const { copy, device, stream } = request;
    writeNumbers(
      copy === null ? -1 : copy ? 1 : 0,
      device === null ? 0 : device.type,
      device === null ? 0 : device.id,
      stream === null ? 0 : numberOf(stream),
    );
  }
  u32[HANDLE] = handle;
  const failure = binding().consume();
  if (u32[FAILED] === 1) throw toError(failure);
  checkStatus();
  return takeImport();
}
