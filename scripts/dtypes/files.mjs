// The committed files that contain the dtypes, as text.
import { codes, dtypes } from './table.mjs';

const origin = 'Written by "npm run dtypes" from scripts/dtypes/table.mjs; change it there.';
const numbers = Object.fromEntries(Object.keys(codes).map((code, number) => [code, number]));

function typescript() {
  const meaning = (code) => codes[code] ?? `\`${code}\`, by its exponent and mantissa bits.`;
  const typeCodes = Object.keys(codes).map((code) => `  /** ${meaning(code)} */\n  ${code}: ${numbers[code]},`);
  const rows = dtypes.map(({ name, code, bits, array }) => `  ${name}: [TypeCode.${code}, ${bits}, ${array}],`);
  const formats = dtypes.flatMap(({ name, small }) => {
    if (small === null) return [];
    const [exponentBits, mantissaBits, bias, specials] = small;
    const fields = { exponentBits, mantissaBits, bias, specials: `'${specials}'` };
    return `  ${name}: { ${Object.entries(fields)
      .map(([key, value]) => `${key}: ${value}`)
      .join(', ')} },`;
  });
  return `/**
 * The dtypes of DLPack. ${origin}
 *
 * @module
 */

import { float16Array } from './base/float16.js';

/** \`DLDataTypeCode\` of dlpack.h: those of version 1.3 and, from 18 on, those that its main branch has added. */
export const TypeCode = {
${typeCodes.join('\n')}
} as const;

/** Every base dtype: its type code, its bits, and the class of its typed arrays. */
export const baseTable = {
${rows.join('\n')}
} as const;

/** The small floats that one decoder and one encoder convert. */
export const smallFloats = {
${formats.join('\n')}
} as const;
`;
}

/** The name of an element type in C++: UInt8, BFloat16, E4M3FN. */
function nameInC({ name }) {
  if (name.includes('_')) return name.split('_')[1].toUpperCase();
  return name.replace(/^(u|b(?=f))?(.)/, (_, first = '', second) => first.toUpperCase() + second.toUpperCase());
}

/** A macro that applies another to each row, as clang-format writes it. */
function macro(name, rows) {
  const lines = [`#define ${name}(X)`, ...rows.map((row) => `  X(${row.join(', ')})`)];
  const width = Math.max(...lines.slice(0, -1).map(({ length }) => length));
  return lines.map((line, i) => (i < lines.length - 1 ? `${line.padEnd(width)} \\` : line)).join('\n');
}

/** Whole numbers come before floats, because pass.cc compares with the last one. */
const isWhole = ({ code }) => ['bool', 'int', 'uint', 'handle'].includes(code);

function cplusplus() {
  const converted = dtypes.filter(({ code, bits }) => bits <= 64 && !code.endsWith('complex'));
  const elements = [...converted.filter(isWhole), ...converted.filter((row) => !isWhole(row))];
  const small = dtypes.filter(({ small, bits }) => small !== null && bits <= 8);
  const specials = { ieee: 'kIeee', fn: 'kFn', fnuz: 'kFnuz', none: 'kNone' };
  return `// The dtypes of DLPack. ${origin}
#pragma once

// Every dtype: DLDataTypeCode, bits.
${macro(
  'DLPACK_DTYPES',
  dtypes.map(({ code, bits }) => [numbers[code], bits]),
)}

// The types that values are converted between: name, DLDataTypeCode, bits.
${macro(
  'DLPACK_ELEMENT_TYPES',
  elements.map((row) => [nameInC(row), numbers[row.code], row.bits]),
)}

// Floats of at most a byte: name, exponent bits, mantissa bits, bias, special values.
${macro(
  'DLPACK_SMALL_FLOATS',
  small.map((row) => [nameInC(row), ...row.small.slice(0, 3), specials[row.small[3]]]),
)}

// The dtypes that NumPy and CuPy have: DLDataTypeCode, bits, the number of NPY_TYPES, the format of the struct module.
${macro(
  'DLPACK_NUMPY_DTYPES',
  numpyTypes.map(({ code, bits, numpy: [type, format] }) => [numbers[code], bits, type, `"${format}"`]),
)}
`;
}

const numpyTypes = dtypes.filter(({ numpy }) => numpy !== null);

function python() {
  const letters = { int: 'i', uint: 'u', float: 'f', complex: 'c', bool: 'b' };
  const numpy = numpyTypes.map(({ code, bits }) => letters[code] + bits / 8);
  const others = dtypes.filter(({ numpy, code, bits }) => numpy === null && bits < 128 && code !== 'handle');
  return `# The dtypes of DLPack. ${origin}

# By type code and bits: how ml_dtypes names the dtypes that NumPy does not have.
ML_DTYPES = {
${others.map(({ name, code, bits }) => `    (${numbers[code]}, ${bits}): '${name}',`).join('\n')}
}
# The type strings of the dtypes that NumPy has, in the order of dtype_table.h.
NUMPY_TYPES = '${numpy.join(' ')}'.split()
`;
}

/** Path and text. */
export const dtypeFiles = () => [
  ['src/dtype-table.ts', typescript()],
  ['native/dtype_table.h', cplusplus()],
  ['native/python/tensors/dtypes.py', python()],
];
