import { testReal } from '../../wasm/real.js';

const folder = '/tests/wasm/real/';
const { default: make } = await import(`${folder}emscripten.js`);

await testReal(async (name) => new Uint8Array(await (await fetch(folder + name)).arrayBuffer()), make);
