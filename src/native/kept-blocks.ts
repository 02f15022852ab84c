/**
 * Kept blocks: large blocks of host memory that were released and wait for new tensors. native/kept_blocks.h keeps them
 * for the whole process, and asks one instance to watch them.
 */

import type { Binding } from './binding.js';
import { node } from './node-modules.js';
import { enter, request, wire } from './wire.js';
import { TrimRequest } from './wire-layout.js';

const { setTimeout } = node.timers;
const { f64, u32 } = wire;

/** Blocks that no tensor used for this many milliseconds are unmapped. */
const IDLE_TIME = 1000;

/** Unmaps kept blocks: all of them, or all that are idle. Returns their bytes, and whether blocks are left to watch. */
export function unmapKept(binding: Binding, isIdle: boolean): { readonly bytes: number; readonly isWatched: boolean } {
  const slot = enter(TrimRequest.WORDS);
  u32[slot * 2 + TrimRequest.IS_IDLE] = isIdle ? 1 : 0;
  request(slot, () => binding.trim());
  return {
    bytes: f64[slot + TrimRequest.BYTES] as number,
    isWatched: u32[slot * 2 + TrimRequest.IS_WATCHED] === 1,
  };
}

/** Native code keeps blocks from now on. The timer does not keep the process running. */
export function watchKept(binding: Binding): void {
  setTimeout(() => {
    if (unmapKept(binding, true).isWatched) watchKept(binding);
  }, IDLE_TIME).unref();
}
