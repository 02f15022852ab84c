/** GGUF's tensor types: ordinary dtypes, and blocks of quantised numbers. */

import type { BaseDType } from '../../dtype.js';

export interface BlockType {
  readonly type: string;
  /** Elements and bytes of one block. */
  readonly elements: number;
  readonly bytes: number;
}

/** Dtypes by GGUF's number. */
export const ggufDTypes: Readonly<Record<number, BaseDType>> = {
  0: 'float32',
  1: 'float16',
  24: 'int8',
  25: 'int16',
  26: 'int32',
  27: 'int64',
  28: 'float64',
  30: 'bfloat16',
};

const block = (type: string, elements: number, bytes: number): BlockType => ({ type, elements, bytes });

/** Block types by GGUF's number, with the sizes of ggml's block structs. */
export const ggufBlocks: Readonly<Record<number, BlockType>> = {
  2: block('Q4_0', 32, 18),
  3: block('Q4_1', 32, 20),
  6: block('Q5_0', 32, 22),
  7: block('Q5_1', 32, 24),
  8: block('Q8_0', 32, 34),
  9: block('Q8_1', 32, 36),
  10: block('Q2_K', 256, 84),
  11: block('Q3_K', 256, 110),
  12: block('Q4_K', 256, 144),
  13: block('Q5_K', 256, 176),
  14: block('Q6_K', 256, 210),
  15: block('Q8_K', 256, 292),
  16: block('IQ2_XXS', 256, 66),
  17: block('IQ2_XS', 256, 74),
  18: block('IQ3_XXS', 256, 98),
  19: block('IQ1_S', 256, 50),
  20: block('IQ4_NL', 32, 18),
  21: block('IQ3_S', 256, 110),
  22: block('IQ2_S', 256, 82),
  23: block('IQ4_XS', 256, 136),
  29: block('IQ1_M', 256, 56),
  34: block('TQ1_0', 256, 54),
  35: block('TQ2_0', 256, 66),
  39: block('MXFP4', 32, 17),
  40: block('NVFP4', 64, 36),
  41: block('Q1_0', 128, 18),
};
