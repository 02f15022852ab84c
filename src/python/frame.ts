/**
 * The object frame: cells that carry the arguments and the result of one operation on Python objects, and words that
 * describe tensors among them. native/python/values.h is its twin.
 *
 * Cells and words are stacks: an operation during another one works above it.
 *
 * @module
 */

export const CELLS = 1024;
/** Room for tensors, eight bytes each. */
export const WORDS = 4096;
const CELLS_START = 48;
const WORDS_START = CELLS_START + 16 * CELLS;
/** How many objects wait for an operation that drops them, at most. */
export const MAX_RELEASED = 64;
const RELEASED_START = WORDS_START + 8 * WORDS;
const RETURNED_START = RELEASED_START + 4 * MAX_RELEASED;

export const objectFrame = new ArrayBuffer(RETURNED_START + 4 * MAX_RELEASED + 8);

/** To be taken apart into constants of the importing module, which V8 folds into its code; it does not fold imports. */
export const frame = {
  u32: new Uint32Array(objectFrame),
  i32: new Int32Array(objectFrame),
  f64: new Float64Array(objectFrame),
};

export const ValueKind = {
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
  /** The number is the word of the wire where it is described. */
  tensor: 10,
  /** As a result: the class cannot take the tensor as it is. */
  mustCopy: 11,
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
  name: 12,
  tensor: 13,
  callTensor: 14,
} as const;

// Indices into the array that a field is used with; u32 where nothing else is said.
export const OPERATION = 0;
/** The first cell. */
export const BASE = 1;
export const COUNT = 2;
/** The last so many pairs of cells are names and values. */
export const KEYWORDS = 3;
/** Arguments of the call into native code. */
export const SPILLED = 4;
export const FAILED = 5;
export const RESULT_KIND = 6;
export const RESULT_HANDLE = 7;
/** f64 */
export const RESULT_NUMBER = 4;
/** The object of operations that have no cells. */
export const HANDLE = 10;
export const RELEASED_COUNT = 11;

/** u32: the kind of cell 0, with the handle behind it; the next cell is 4 further. */
export const FIRST_KIND = CELLS_START / 4;
/** f64: the number of cell 0; the next cell is 2 further. */
export const FIRST_NUMBER = CELLS_START / 8 + 1;
/** f64: word 0. */
export const FIRST_WORD = WORDS_START / 8;
/** u32: the first released handle. */
export const FIRST_RELEASED = RELEASED_START / 4;
export const RETURNED_COUNT = RETURNED_START / 4;
/** u32: the first handle of a storage that was returned. */
export const FIRST_RETURNED = RETURNED_COUNT + 1;
