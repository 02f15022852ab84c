import { type BaseDType, parseDType, Tensor } from 'dlpack';
import { miniFloat } from '../../../src/values/minifloat.js';
import { equal, ok } from '../../assert.js';
import { testWith } from '../../harness.js';
import { missingPython, oracle } from './python.js';

const names: BaseDType[] = [
  'float16',
  'bfloat16',
  'float8_e3m4',
  'float8_e4m3',
  'float8_e4m3b11fnuz',
  'float8_e4m3fn',
  'float8_e4m3fnuz',
  'float8_e5m2',
  'float8_e5m2fnuz',
  'float8_e8m0fnu',
  'float6_e2m3fn',
  'float6_e3m2fn',
  'float4_e2m1fn',
];

const scratch = new DataView(new ArrayBuffer(8));

/** The bits of a float64: -0 differs from 0, and every NaN is the same. */
function bitsOf(value: number): bigint {
  scratch.setFloat64(0, Number.isNaN(value) ? Number.NaN : value);
  return scratch.getBigUint64(0);
}

function codecOf(name: BaseDType) {
  const codec = miniFloat(name);
  ok(codec !== undefined, `${name} has a codec`);
  return codec;
}

/** Compares all codes and reports only the first few that differ, because there are up to a million. */
function compareCodes(name: string, inputs: ArrayLike<number>, expected: ArrayLike<number>, least: number): void {
  ok(inputs.length === expected.length && inputs.length >= least, `${name}: ${inputs.length} values`);
  const codec = codecOf(name as BaseDType);
  const wrong: string[] = [];
  for (let i = 0; i < inputs.length; i++) {
    const code = codec.encode(inputs[i] as number);
    if (code !== expected[i]) wrong.push(`${inputs[i]}: ${code} instead of ${expected[i]}`);
  }
  equal(wrong.length, 0, `${name}: ${wrong.slice(0, 5).join('; ')}`);
}

testWith(missingPython, 'every bit pattern of every small float decodes as in NumPy and ml_dtypes', () => {
  const expected = oracle('decode', names);
  for (const name of names) {
    const values = expected.float64();
    const { decode } = codecOf(name);
    equal(values.length, 2 ** parseDType(name).bits, name);
    values.forEach((value, code) => {
      equal(bitsOf(decode(code)), bitsOf(value), `${name} code ${code}`);
    });
  }
});

for (const name of names) {
  testWith(missingPython, `${name} encodes midpoints, neighbours, specials and a million values as the oracle`, () => {
    const { bits } = parseDType(name);
    const expected = oracle('encode32', [name]);
    compareCodes(name, expected.float32(), expected.codes(bits), 1_200_000);
  });
  testWith(missingPython, `${name} rounds float64 once`, () => {
    const { bits } = parseDType(name);
    const expected = oracle('encode64', [name]);
    compareCodes(name, expected.float64(), expected.codes(bits), 700_000);
  });
}

testWith(missingPython, 'every code survives decode and encode', () => {
  for (const name of names) {
    const { decode, encode } = codecOf(name);
    for (let code = 0; code < 2 ** parseDType(name).bits; code++) {
      const value = decode(code);
      if (!Number.isNaN(value)) equal(encode(value), code, name);
      else ok(Number.isNaN(decode(encode(value))), `${name} keeps NaN`);
    }
  }
});

testWith(
  missingPython,
  'every bit pattern of every integer of a byte or less decodes as in NumPy and ml_dtypes',
  () => {
    const integers: BaseDType[] = ['int1', 'int2', 'int4', 'int8', 'uint1', 'uint2', 'uint4', 'uint8'];
    const expected = oracle('decode', integers);
    for (const dtype of integers) {
      const values = expected.float64();
      const codes = Uint8Array.from(values, (_, code) => code);
      equal(values.length, 2 ** parseDType(dtype).bits, dtype);
      equal(Tensor.wrap(codes, { dtype, padded: true }).toArray(), [...values], dtype);
    }
  },
);
