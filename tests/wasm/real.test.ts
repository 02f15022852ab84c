import { readFileSync } from 'node:fs';
import { testReal } from './real.js';

const folder = new URL('../../../tests/wasm/real/', import.meta.url);
const { default: make } = await import(new URL('emscripten.js', folder).href);

await testReal(async (name) => Uint8Array.from(readFileSync(new URL(name, folder))), make);
