import { dtypes, formatDType, parseDType, sizeBytes, TypeCode } from 'dlpack';
import { equal, ok, throws } from '../assert.js';
import { test } from '../harness.js';

test('every type code of DLPack has a name', () => {
  const codes = new Set(dtypes.map((name) => parseDType(name).code));
  for (const code of Object.values(TypeCode)) ok(codes.has(code), `code ${code}`);
  equal(Math.max(...codes), 18);
});

test('names and numbers round-trip, with and without lanes', () => {
  for (const name of dtypes) {
    for (const lanes of [1, 2, 4, 65535]) {
      const full = lanes === 1 ? name : (`${name}x${lanes}` as const);
      const { code, bits } = parseDType(full);
      equal(formatDType({ code, bits, lanes }), full);
      equal(parseDType(full).lanes, lanes);
      ok(parseDType({ code, bits, lanes }) === parseDType(full), 'one shared object for each dtype');
    }
  }
});

test('known numbers', () => {
  const numbers = (name: Parameters<typeof parseDType>[0]) => {
    const { code, bits, lanes } = parseDType(name);
    return [code, bits, lanes];
  };
  equal(numbers('float32'), [2, 32, 1]);
  equal(numbers('float32x4'), [2, 32, 4]);
  equal(numbers('int8'), [0, 8, 1]);
  equal(numbers('complex64'), [5, 64, 1]);
  equal(numbers('bool'), [6, 8, 1]);
  equal(numbers('float8_e4m3'), [8, 8, 1]);
  equal(numbers('float6_e3m2fn'), [16, 6, 1]);
  equal(numbers('float4_e2m1fn'), [17, 4, 1]);
  equal(numbers('bfloat16'), [4, 16, 1]);
  equal(numbers('handle'), [3, 64, 1]);
  equal(numbers('bcomplex32'), [18, 32, 1]);
});

test('bytes of packed and padded elements', () => {
  const size = (name: Parameters<typeof parseDType>[0], count: number, padded = false) =>
    sizeBytes(parseDType(name), count, padded);
  equal(size('float4_e2m1fn', 3), 2);
  equal(size('float4_e2m1fn', 3, true), 3);
  equal(size('float4_e2m1fnx2', 3), 3);
  equal(size('float6_e2m3fn', 4), 3);
  equal(size('float6_e2m3fn', 5), 4);
  equal(size('float6_e2m3fn', 5, true), 5);
  equal(size('float6_e2m3fnx2', 2), 3);
  equal(size('float6_e2m3fnx2', 2, true), 4);
  equal(size('uint1', 9), 2);
  equal(size('float32x4', 2), 32);
  equal(size('complex128', 2), 32);
});

test('the typed array of each', () => {
  equal(parseDType('int64').array, BigInt64Array);
  equal(parseDType('handle').array, BigUint64Array);
  equal(parseDType('bool').array, Uint8Array);
  equal(parseDType('bfloat16').array, Uint16Array);
  equal(parseDType('complex64').array, Float32Array);
  const { Float16Array } = globalThis as { Float16Array?: unknown };
  equal(parseDType('float16').array, Float16Array ?? Uint16Array);
});

test('unknown codes, widths, lanes and names are refused by name', () => {
  throws('UnsupportedDTypeError', '(code 19, bits 32, lanes 1); a newer version of this package may know it', () =>
    formatDType({ code: 19, bits: 32, lanes: 1 }),
  );
  throws('UnsupportedDTypeError', "type code 18 ('bcomplex')", () => formatDType({ code: 18, bits: 64, lanes: 1 }));
  throws('UnsupportedDTypeError', "'bool'", () => formatDType({ code: 6, bits: 1, lanes: 1 }));
  throws('UnsupportedDTypeError', '24 bits', () => formatDType({ code: 0, bits: 24, lanes: 1 }));
  throws('UnsupportedDTypeError', '6 bits', () => formatDType({ code: 17, bits: 6, lanes: 1 }));
  throws('UnsupportedDTypeError', 'lanes 0', () => formatDType({ code: 2, bits: 32, lanes: 0 }));
  throws('UnsupportedDTypeError', 'lanes 65536', () => formatDType({ code: 2, bits: 32, lanes: 65536 }));
  // 288 bits of code 0 must not be mistaken for 32 bits of code 1.
  throws('UnsupportedDTypeError', '288', () => formatDType({ code: 0, bits: 288, lanes: 1 }));
  throws('UnsupportedDTypeError', 'NaN', () => formatDType({ code: Number.NaN, bits: 32, lanes: 1 }));
  throws('UnsupportedDTypeError', 'a type code', () => formatDType({ code: 2.5, bits: 32, lanes: 1 }));
  throws('UnsupportedDTypeError', 'a type code', () => formatDType({ code: 0x2002, bits: 0, lanes: 1 }));
  throws('UnsupportedDTypeError', "'float33'", () => parseDType('float33' as never));
  throws('UnsupportedDTypeError', "'float32x0'", () => parseDType('float32x0' as never));
  throws('UnsupportedDTypeError', "'float32x70000'", () => parseDType('float32x70000'));
  throws('UnsupportedDTypeError', "'constructor'", () => parseDType('constructor' as never));
  throws('TypeError', '7 (number)', () => parseDType(7 as never));
});
