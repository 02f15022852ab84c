/**
 * What this runtime and thread allow for memory that JavaScript shows or owns.
 *
 * @module
 */

import { constants } from 'node:buffer';
import * as workerThreads from 'node:worker_threads';
import { isResizable, isShared } from '../storage/storage.js';

/**
 * The heap of the main thread lives as long as the process; a worker's ends with it, so memory of a worker's heap is
 * never lent to native code that could outlive it. Deno's web workers call themselves main threads.
 */
export const isMainThread = workerThreads.isMainThread && !('WorkerGlobalScope' in globalThis);

/** The largest ArrayBuffer: 4 GiB on Node 20. */
export const maxLength: number = constants?.MAX_LENGTH ?? Number.MAX_SAFE_INTEGER;

const { isMarkedAsUntransferable, markAsUntransferable } = workerThreads as {
  isMarkedAsUntransferable?: (value: object) => boolean;
  markAsUntransferable?: (value: object) => void;
};

/** As it was when this module was loaded: a replacement would be handed buffers of disposed tensors. */
const transfer = (ArrayBuffer.prototype as { transfer?: (length: number) => ArrayBuffer }).transfer;
const { apply } = Reflect;
const nothing = [0] as const;

/**
 * Detaches a buffer by moving none of its bytes elsewhere; false on Node 20, which cannot. A program may have marked the
 * buffer with `markAsUntransferable`: then it stays, and keeps its memory. Node 24 and Deno abort where native code
 * detaches such a buffer.
 */
export function transferAway(buffer: ArrayBuffer): boolean {
  if (transfer === undefined) return false;
  try {
    apply(transfer, buffer, nothing);
  } catch {
    // Marked.
  }
  return true;
}

/** Whether marking a buffer stops `buffer.transfer()` too. It does on Node 24 and Deno, not on Node 22 and Bun. */
let markHolds: boolean | undefined;

function probeMark(): boolean {
  const buffer = new ArrayBuffer(8) as ArrayBuffer & { transfer?: () => ArrayBuffer };
  if (markAsUntransferable === undefined || typeof buffer.transfer !== 'function') return false;
  markAsUntransferable(buffer);
  try {
    buffer.transfer();
  } catch {
    // Expected where the mark holds.
  }
  return buffer.byteLength === 8;
}

/** A buffer that nobody can detach, on a thread whose heap lasts: native code may keep its address. */
export function isPinnable(buffer: ArrayBufferLike): boolean {
  if (!isMainThread) return false;
  if (isShared(buffer)) return true;
  if (isMarkedAsUntransferable === undefined || isResizable(buffer) || !isMarkedAsUntransferable(buffer)) return false;
  markHolds ??= probeMark();
  return markHolds;
}
