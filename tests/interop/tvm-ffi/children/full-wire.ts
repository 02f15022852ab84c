/**
 * What happens while the wire is full: a function becomes an argument, a callback throws, a tensor is the result of a call,
 * and an asynchronous call ends, as an event loop inside deeply nested calls finds it. No JavaScript program can run such a
 * loop, so this one fills the wire by hand.
 */

import { stat } from 'node:fs/promises';
import { loadWithWire } from '../../../wire-words.js';

const { words, loaded } = await loadWithWire(async () => ({
  ...(await import('dlpack')),
  ...(await import('dlpack/tvm-ffi')),
  ...(await import('dlpack/debug')),
  ...(await import('../peer.js')),
}));
const { callAsync, liveCounts, probe, Tensor, testing, toFunction } = loaded;

const top = 1; // WireHeader.TOP
const before = words[top] as number;
const full = 131072;
const echo = testing('echo');
const { pins } = liveCounts();
const filler = {
  [Symbol.for('tvm_ffi.value')]: () => {
    words[top] = full;
    return () => 1;
  },
};
try {
  echo(filler);
} catch (error) {
  console.log((error as Error).name, liveCounts().pins - pins);
}

let kept: ReturnType<typeof Tensor.zeros> | undefined;
const fail = toFunction((view) => {
  kept = view;
  words[top] = full;
  throw new Error('inside');
});
const made = liveCounts().pins;
using x = Tensor.from([1, 2, 3]);
try {
  testing('apply')(fail, x.view());
} catch (error) {
  console.log((error as Error).message); // raising an error needs no room on the wire
}
while (liveCounts().pins > made) await stat('.'); // the pin of the error is released from the event loop
try {
  console.log(kept?.toArray());
} catch (error) {
  console.log((error as Error).name); // the view ended with the callback
}

words[top] = full - 64; // room for the call
try {
  probe('make_tensor')(4);
} catch (error) {
  words[top] = before;
  console.log((error as { kind?: string }).kind, probe('live_blocks')());
}

const result = callAsync(echo, 'a string of some length');
words[top] = full;
// The threads of the pool take their work in order, so the call has ended meanwhile.
for (let i = 0; i < 100; i++) await stat('.');
words[top] = before;
console.log(await result);
