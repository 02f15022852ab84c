/**
 * The frame that carries the arguments and results of calls to the CUDA driver. native/cuda/context.h is its twin.
 *
 * @module
 */

export const cudaFrame = new ArrayBuffer(1712);
export const f64 = new Float64Array(cudaFrame);
export const u64 = new BigUint64Array(cudaFrame);
export const i32 = new Int32Array(cudaFrame);
export const u32 = new Uint32Array(cudaFrame);

// Indices into the array that the field is read through.
export const ADDRESS = 0; // u64
export const STREAM = 1; // u64
export const EVENT = 2; // u64
export const NBYTES = 3; // f64
export const STATUS = 8; // i32
export const DEVICE = 9; // i32
export const HANDLE = 10; // u32
export const FLAGS = 11; // u32
export const KIND = 12; // i32
export const PRIORITY = 13; // i32
export const NUMBER = 7; // f64
export const VALUES = 8; // u64
export const SOURCE_HANDLE = 32; // u32
export const TARGET_HANDLE = 33; // u32
export const SOURCE_KIND = 34; // i32
export const TARGET_KIND = 35; // i32
export const SOURCE_OFFSET = 18; // f64
export const TARGET_OFFSET = 19; // f64
export const ITEM = 20; // f64
export const NDIM = 42; // i32
export const SHAPE = 22; // f64
export const SOURCE_STEPS = 86; // f64
export const TARGET_STEPS = 150; // f64
