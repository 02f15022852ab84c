/**
 * The DLPack C API as data: struct tables, their layout in `lp64` and `wasm32`, and codecs over any ArrayBuffer. Works
 * everywhere, without native code.
 *
 * @module
 */

export { decodeStruct, encodeStruct, type Place, type StructValue } from './codec.js';
export * from './decode.js';
export * from './encode.js';
export * from './enums.js';
export { layoutOf, type StructLayout } from './layout-of.js';
export { type DataModel, lp64, wasm32, wasm64 } from './model.js';
export * from './structs.js';
