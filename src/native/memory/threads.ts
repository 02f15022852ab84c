/** What this runtime and this thread allow for JavaScript memory. */

import { variable } from '../../base/variable.js';
import { isResizable, isShared } from '../../storage/storage.js';
import { node } from '../load/node-modules.js';

interface Rules {
  readonly isMainThread: boolean;
  /** Whether a program marked a buffer so that it cannot be detached; null where a mark does not prevent that. */
  readonly isMarked: ((buffer: object) => boolean) | null;
  /** The largest ArrayBuffer: 4 GiB on Node 20. */
  readonly maxLength: number;
  /** How many threads may work on one copy. */
  readonly threads: number;
}

let rules: Rules | null = null;

/** Read with the first native memory. */
export function runtimeRules(): Rules {
  rules ??= readRules();
  return rules;
}

function readRules(): Rules {
  const { workerThreads, buffer, os } = node;
  const { isMarkedAsUntransferable: isMarked, markAsUntransferable: mark } = workerThreads as {
    isMarkedAsUntransferable?: (value: object) => boolean;
    markAsUntransferable?: (value: object) => void;
  };
  const wanted = Number(variable('DLPACK_NUM_THREADS'));
  return {
    isMainThread: workerThreads.isMainThread && !('WorkerGlobalScope' in globalThis),
    isMarked: isMarked !== undefined && mark !== undefined && markHolds(mark) ? isMarked : null,
    maxLength: buffer.constants?.MAX_LENGTH ?? Number.MAX_SAFE_INTEGER,
    threads: Number.isInteger(wanted) && wanted > 0 ? wanted : os.availableParallelism(),
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
  return runtimeRules().isMainThread;
}

/** True for a buffer that cannot be detached, on a thread whose heap lasts, so native code may keep its address. */
export function isPinnable(buffer: ArrayBufferLike): boolean {
  const { isMainThread, isMarked } = runtimeRules();
  return isMainThread && (isShared(buffer) || (isMarked?.(buffer) === true && !isResizable(buffer)));
}
