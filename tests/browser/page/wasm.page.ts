import { testHeap } from '../../wasm/heap.js';

await testHeap(async (name) => {
  const response = await fetch(`/build/wasm/${name}`);
  return response.ok ? new Uint8Array(await response.arrayBuffer()) : null;
});
