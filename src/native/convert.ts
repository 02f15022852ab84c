/**
 * Copies and casts in native code. native/convert/binding.cc reads the request.
 *
 * @module
 */

import { availableParallelism } from 'node:os';
import { BufferError } from '../errors.js';
import type { Pass } from '../storage/backend.js';
import { BufferStorage, type Storage } from '../storage/storage.js';
import { native } from './load.js';
import { NativeStorage } from './native-storage.js';

const AXES = 9;
const request = new Float64Array(AXES + 3 * 66);

const wanted = Number(process.env.DLPACK_NUM_THREADS);
const threads = Number.isInteger(wanted) && wanted > 0 ? wanted : availableParallelism();

function handleOf(storage: Storage): number {
  return storage instanceof NativeStorage ? storage.handle : 0;
}

function writeRequest(pass: Pass, source: Storage, target: Storage): void {
  const { shape, fromSteps, toSteps } = pass;
  const ndim = shape.length;
  request[0] = 0;
  request[1] = handleOf(source);
  request[2] = handleOf(target);
  request[3] = pass.from.packed;
  request[4] = pass.to.packed;
  request[5] = pass.fromBit;
  request[6] = pass.toBit;
  request[7] = ndim;
  request[8] = threads;
  for (let axis = 0; axis < ndim; axis++) {
    request[AXES + axis] = shape[axis] as number;
    request[AXES + ndim + axis] = fromSteps[axis] as number;
    request[AXES + 2 * ndim + axis] = toSteps[axis] as number;
  }
}

function bytesOf(storage: Storage): Uint8Array | undefined {
  return storage instanceof BufferStorage ? new Uint8Array(storage.buffer(), storage.start, storage.nbytes) : undefined;
}

export function convert(pass: Pass, source: Storage, target: Storage): boolean {
  const from = bytesOf(source);
  const to = bytesOf(target);
  writeRequest(pass, source, target);
  native().convert(request, from, to);
  return request[0] === 1;
}

/** Only for native memory: JavaScript may take its own away while another thread reads it. */
export function convertAsync(pass: Pass, source: Storage, target: Storage): Promise<void> | null {
  if (handleOf(source) === 0 || handleOf(target) === 0) return null;
  writeRequest(pass, source, target);
  return (
    native()
      .convertAsync(request)
      ?.then((done) => {
        if (!done) throw new BufferError('Expected a conversion to run to its end but its environment is closing');
      }) ?? null
  );
}

export function overlaps(a: Storage, b: Storage): boolean {
  if (!(a instanceof NativeStorage && b instanceof NativeStorage)) return false;
  const [first, second] = [a.address, b.address];
  return first < second + BigInt(b.nbytes) && second < first + BigInt(a.nbytes);
}
