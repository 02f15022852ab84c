import { elementsOf, formatTypeString, parseTypeString } from '../../../src/cuda/arrays/typestr.js';
import { dtypeFromName } from '../../../src/dtype.js';
import { equal } from '../../assert.js';
import { test } from '../../harness.js';

/** The tag of the error that an action throws. The error class is that of the sources, not of the built package. */
function tagOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    return (error as { tag: string }).tag;
  }
  return 'nothing';
}

test('every kind of the grammar', () => {
  const rows: readonly (readonly [string, string, number, string | null])[] = [
    ['|t1', 't', 1, 'uint1'],
    ['|t2', 't', 2, 'uint2'],
    ['|t4', 't', 4, 'uint4'],
    ['|t8', 't', 8, 'uint8'],
    ['|t3', 't', 3, null],
    ['|b1', 'b', 8, 'bool'],
    ['<b2', 'b', 16, null],
    ['|i1', 'i', 8, 'int8'],
    ['<i2', 'i', 16, 'int16'],
    ['<i16', 'i', 128, 'int128'],
    ['<i3', 'i', 24, null],
    ['|u1', 'u', 8, 'uint8'],
    ['<u8', 'u', 64, 'uint64'],
    ['<f2', 'f', 16, 'float16'],
    ['<f16', 'f', 128, 'float128'],
    ['<f12', 'f', 96, null],
    ['<c4', 'c', 32, 'complex32'],
    ['<c16', 'c', 128, 'complex128'],
    ['<c32', 'c', 256, null],
    ['<m8[ns]', 'm', 64, null],
    ['<M8[25s]', 'M', 64, null],
    ['<M8', 'M', 64, null],
    ['|O8', 'O', 64, null],
    ['|S7', 'S', 56, null],
    ['<U3', 'U', 96, null],
    ['|V12', 'V', 96, null],
  ];
  for (const [text, kind, itemBits, dtype] of rows) {
    const type = parseTypeString(text);
    equal([type.kind, type.itemBits, type.dtype?.name ?? null], [kind, itemBits, dtype], text);
  }
});

test('byte orders: the native order is little-endian', () => {
  equal(
    ['<f4', '>f4', '|f4', '=f4'].map((text) => parseTypeString(text).byteOrder),
    ['<', '>', '|', '<'],
  );
  equal(parseTypeString('<M8[25s]').unit, '25s');
  equal(parseTypeString('<f4').unit, null);
  equal(
    ['>f4', '>V2', '>U1'].map((text) => tagOf(() => elementsOf(text))),
    Array(3).fill('UnsupportedDTypeError'),
  );
  equal(elementsOf('>u1').dtype.name, 'uint8');
});

test('strings outside the grammar are refused', () => {
  for (const text of [
    '',
    'f4',
    '<',
    '<f',
    '4',
    '<4',
    '<f04',
    '<f-4',
    '<f4 ',
    ' <f4',
    '<f4\n',
    '<<f4',
    '!f4',
    '<F4',
    '<f4[s]',
    '<M8[]',
    '<M8[ns',
    '<f9999999999',
    '__proto__',
  ]) {
    equal([text, tagOf(() => parseTypeString(text))], [text, 'ValueError']);
  }
  for (const value of [null, undefined, 4, {}, ['<f4']]) {
    equal(
      tagOf(() => parseTypeString(value as string)),
      'TypeError',
    );
  }
});

test('the string of a dtype, padded or not', () => {
  const text = (name: string, padded = false): string => formatTypeString(dtypeFromName(name), padded);
  equal(
    [text('uint4'), text('uint4', true), text('int4', true), text('float4_e2m1fn', true)],
    ['|t4', '|V1', '|V1', '|V1'],
  );
  equal(
    [text('bfloat16'), text('float8_e8m0fnu'), text('handle'), text('float32x2'), text('int4x2')],
    ['<V2', '|V1', '<V8', '<V8', '|V1'],
  );
  for (const name of ['int4', 'float4_e2m1fn', 'float6_e2m3fn', 'uint4x3'])
    equal(
      tagOf(() => text(name)),
      'UnsupportedDTypeError',
    );
});
