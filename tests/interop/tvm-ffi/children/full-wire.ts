/**
 * A function that becomes an argument while the wire is full, and an asynchronous call that ends then, as an event loop
 * inside deeply nested calls finds it. No JavaScript program can run such a loop, so this one fills the wire by hand: it
 * catches the buffer when the package makes it.
 */

import { stat } from 'node:fs/promises';

const Plain = globalThis.ArrayBuffer;
let wire: ArrayBuffer | null = null;
globalThis.ArrayBuffer = class extends Plain {
  constructor(length: number) {
    super(length);
    if (length === 131072 * 8) wire = this;
  }
} as ArrayBufferConstructor;
const { callAsync } = await import('dlpack/tvm-ffi');
const { stats } = await import('dlpack/native');
const { testing } = await import('../peer.js');
globalThis.ArrayBuffer = Plain;
if (wire === null) throw new Error('the wire was not found');

const words = new Uint32Array(wire);
const top = 1; // WireHeader.TOP
const before = words[top] as number;
const full = 131072;
const echo = testing('echo');
const { pins } = stats();
const filler = {
  [Symbol.for('tvm_ffi.value')]: () => {
    words[top] = full;
    return () => 1;
  },
};
try {
  echo(filler);
} catch (error) {
  console.log((error as Error).name, stats().pins - pins);
}

const result = callAsync(echo, 'a string of some length');
words[top] = full;
// The threads of the pool take their work in order, so the call has ended meanwhile.
for (let i = 0; i < 100; i++) await stat('.');
words[top] = before;
console.log(await result);
