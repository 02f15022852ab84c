/**
 * The modules that hold memory outside the JavaScript heap: native memory, GPUBuffers, CUDA, Python objects. They register
 * here, and `dlpack/debug` asks them. None of them imports another.
 */

import type { DeviceInfo } from '../device.js';

/** What is alive now. Native memory counts on all threads of the process, except where a field names this thread. */
export interface LiveCounts {
  /** Blocks of memory that this package allocated on the host and on CUDA devices. */
  readonly storages: number;
  /** The bytes of these blocks. */
  readonly bytes: number;
  /** Foreign memory that tensors hold: managed tensors, adopted and pinned buffers. */
  readonly imports: number;
  /** Managed tensors that were handed out and whose deleter has not been called yet, and NumPy arrays of such memory. */
  readonly exports: number;
  /** Tickets for other threads that were posted but not opened yet. */
  readonly tickets: number;
  /** Bytes of released host blocks, and of released GPUBuffers of this thread, that wait for new tensors. */
  readonly kept: number;
  /** Bytes that this thread reported to its garbage collector. The runtime itself counts memory shown by `.data`. */
  readonly reported: number;
  /** JavaScript buffers and deleters that this thread keeps for native code. */
  readonly pins: number;
  /** GPUBuffers that tensors of this thread hold: made here, or taken over from a library. */
  readonly gpuBuffers: number;
  /** Bytes of the tensors' memory in these buffers. */
  readonly gpuBytes: number;
  /** Python objects that this thread holds. */
  readonly objects: number;
  /** The bytes of these objects: those of arrays of NumPy and tensors of PyTorch, and 4 KiB for any other object. */
  readonly objectBytes: number;
}

export interface MemorySource {
  /** Performs delayed releases and, in debug mode, brings the records up to date. All sources do this before any counts. */
  settle?(): void;
  count?(): Partial<LiveCounts>;
  /** Returns memory that waits for new tensors to the system: that of one device, or all (null). */
  empty?(device: DeviceInfo | null): void;
}

export const memorySources: MemorySource[] = [];
