/**
 * The object frame: cells that carry the arguments and the result of one operation on Python objects.
 * native/python/objects.cc is its twin.
 *
 * @module
 */

export const MAX_CELLS = 120;
export const objectFrame = new ArrayBuffer(32 + 16 * MAX_CELLS);
export const u32 = new Uint32Array(objectFrame);
export const f64 = new Float64Array(objectFrame);

export const Kind = {
  none: 0,
  bool: 1,
  int: 2,
  float: 3,
  string: 4,
  bytes: 5,
  bigint: 6,
  handle: 7,
  end: 8,
  /** A handle that the operation takes over. */
  taken: 9,
} as const;

export const Operation = {
  import: 0,
  call: 1,
  getAttribute: 2,
  setAttribute: 3,
  getItem: 4,
  setItem: 5,
  iterate: 6,
  next: 7,
  text: 8,
  tuple: 9,
  list: 10,
  dict: 11,
} as const;

// Indices into u32.
export const OPERATION = 0;
export const COUNT = 1;
export const KEYWORDS = 2;
export const FAILED = 3;
export const RESULT_KIND = 4;
export const RESULT_HANDLE = 5;
/** f64 */
export const RESULT_NUMBER = 3;

/** Writes one cell. */
export function writeCell(index: number, kind: number, handle: number, number: number): void {
  u32[8 + index * 4] = kind;
  u32[9 + index * 4] = handle;
  f64[5 + index * 2] = number;
}

export const cellKind = (index: number): number => u32[8 + index * 4] as number;
export const cellHandle = (index: number): number => u32[9 + index * 4] as number;
export const cellNumber = (index: number): number => f64[5 + index * 2] as number;
