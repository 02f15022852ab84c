/**
 * The DLPack C API as data: struct tables, their layout in `lp64` and `wasm32`, and codecs over any ArrayBuffer. Works
 * everywhere, without native code.
 *
 * @module
 */

export * from './codec.js';
export { viewTensor } from './describe.js';
export * from './enums.js';
export { layoutOf, type StructLayout } from './layout-of.js';
export { type DataModel, lp64, type Place, wasm32, wasm64 } from './model.js';
export * from './structs.js';
