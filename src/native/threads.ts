/**
 * What this runtime and this thread allow for JavaScript memory.
 *
 * @module
 */

import { constants } from 'node:buffer';
import { isResizable, isShared } from '../storage/storage.js';

interface Rules {
  readonly isMainThread: boolean;
  /** Whether a program marked a buffer so that it cannot be detached; null where a mark does not prevent that. */
  readonly isMarked: ((buffer: object) => boolean) | null;
}

let rules: Rules | null = null;

/** Read with the first native memory, because importing node:worker_threads would delay `import 'dlpack'`. */
function readRules(): Rules {
  const threads = process.getBuiltinModule('node:worker_threads');
  const { isMarkedAsUntransferable: isMarked, markAsUntransferable: mark } = threads as {
    isMarkedAsUntransferable?: (value: object) => boolean;
    markAsUntransferable?: (value: object) => void;
  };
  return {
    isMainThread: threads.isMainThread && !('WorkerGlobalScope' in globalThis),
    isMarked: isMarked !== undefined && mark !== undefined && markHolds(mark) ? isMarked : null,
  };
}

/** Whether a mark also blocks `buffer.transfer()`. It does on Node 24 and Deno, but not on Node 22 and Bun. */
function markHolds(mark: (value: object) => void): boolean {
  const buffer = new ArrayBuffer(8) as ArrayBuffer & { transfer?: () => ArrayBuffer };
  if (typeof buffer.transfer !== 'function') return false;
  mark(buffer);
  try {
    buffer.transfer();
  } catch {
    // Expected where the mark blocks the transfer.
  }
  return buffer.byteLength === 8;
}

/**
 * The heap of the main thread lives as long as the process. A worker's heap ends with the worker, so its memory is
 * never lent to native code that could outlive it. Deno's web workers call themselves main threads.
 */
export function isMainThread(): boolean {
  rules ??= readRules();
  return rules.isMainThread;
}

/** The largest ArrayBuffer: 4 GiB on Node 20. */
export const maxLength: number = constants?.MAX_LENGTH ?? Number.MAX_SAFE_INTEGER;

/** The method as it was when this module was loaded: a patched method would receive buffers of disposed tensors. */
const transfer = (ArrayBuffer.prototype as { transfer?: (length: number) => ArrayBuffer }).transfer;
const { apply } = Reflect;
const nothing = [0] as const;

/**
 * Detaches a buffer by a transfer of zero bytes. Returns false on Node 20, which has no transfer. A buffer that a
 * program marked with `markAsUntransferable` keeps its memory. Node 24 and Deno abort if native code detaches such a
 * buffer.
 */
export function transferAway(buffer: ArrayBuffer): boolean {
  if (transfer === undefined) return false;
  try {
    apply(transfer, buffer, nothing);
  } catch {
    // The buffer is marked.
  }
  return true;
}

/** True for a buffer that cannot be detached, on a thread whose heap lasts, so native code may keep its address. */
export function isPinnable(buffer: ArrayBufferLike): boolean {
  rules ??= readRules();
  const { isMainThread, isMarked } = rules;
  return isMainThread && (isShared(buffer) || (isMarked?.(buffer) === true && !isResizable(buffer)));
}
