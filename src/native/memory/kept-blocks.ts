/**
 * Kept blocks: large blocks of host memory that were released and wait for new tensors. native/memory/kept_blocks.h keeps them
 * for the whole process, and asks one instance to watch them.
 */

import type { Binding } from '../binding.js';
import { node } from '../load/node-modules.js';

const { setTimeout } = node.timers;

/** Blocks that no tensor used for this many milliseconds are unmapped. */
const IDLE_TIME = 1000;

/** Native code keeps blocks from now on. The timer does not keep the process running. */
export function watchKept(binding: Binding): void {
  setTimeout(() => {
    if (binding.trimIdle()) watchKept(binding);
  }, IDLE_TIME).unref();
}
