import { cells, middle, picture, rect, text } from './svg.mjs';

const size = 34;
const bits = (x, y, values) => cells(x, y, values, { size, height: 32 });
const repeat = (kind, values) => [...values].map((bit) => [bit, kind]);

/** A bracket under bits `from` to `to`. */
const under = (x, y, from, to, label, kind = 'small') => [
  rect(x + from * size + 3, y + 37, (to - from) * size - 6, 3, 'thin', 1),
  middle(x + ((from + to) / 2) * size, y + 57, label, kind),
];

const small = 18;
const narrow = (x, y, values) =>
  cells(
    x,
    y,
    values.map(([, kind]) => ['', kind]),
    { size: small, height: 26 },
  );
const float = (sign, exponent, mantissa) => [
  ...repeat('b', '0'.repeat(sign)),
  ...repeat('a', '0'.repeat(exponent)),
  ...repeat('c', '0'.repeat(mantissa)),
];

export const svg = picture(
  {
    width: 680,
    height: 330,
    title: 'Elements smaller than a byte, and bfloat16',
    description:
      'Two int4 elements lie in one byte, the first in the low bits. Padded, each has a byte of its own with four unused bits. bfloat16 is the upper half of float32: one sign bit, eight exponent bits, and seven of the 23 mantissa bits.',
  },
  text(20, 30, 'int4, packed: the first in the low bits', 'strong'),
  bits(20, 45, [...repeat('b', '1101'), ...repeat('a', '0011')]),
  under(20, 45, 0, 4, 'element 1: −3'),
  under(20, 45, 4, 8, 'element 0: 3'),
  text(390, 30, 'int4, padded: a byte for each', 'strong'),
  bits(390, 45, [...repeat('off', '----'), ...repeat('a', '0011')]),
  under(390, 45, 0, 4, 'unused', 'small dim'),
  under(390, 45, 4, 8, 'element 0: 3'),
  text(20, 150, 'float32: 32 bits', 'strong'),
  narrow(20, 162, float(1, 8, 23)),
  text(20, 222, 'bfloat16: its upper 16 bits, so the same range with fewer digits', 'strong'),
  narrow(20, 234, float(1, 8, 7)),
  rect(20, 284, 14, 14, 'b', 2),
  text(40, 296, 'sign', 'small'),
  rect(90, 284, 14, 14, 'a', 2),
  text(110, 296, '8 bits of exponent', 'small'),
  rect(240, 284, 14, 14, 'c', 2),
  text(260, 296, 'mantissa', 'small'),
);
