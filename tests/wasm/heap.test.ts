import { existsSync, readFileSync } from 'node:fs';
import { testHeap } from './heap.js';

await testHeap(async (name) => {
  const path = new URL(`../../wasm/${name}`, import.meta.url);
  return existsSync(path) ? Uint8Array.from(readFileSync(path)) : null;
});
