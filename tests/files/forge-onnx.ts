/** ONNX models that lie in their fields: lengths, numbers, types, names, and where the data of a weight is. */

import type { Random } from '../random.js';
import { chance, lengths, maybe, names, pick, several } from './forge.js';
import { concat, text } from './make.js';

type Bytes = Uint8Array<ArrayBuffer>;

/** A number of seven bits in each byte. */
function varint(value: number | bigint): Bytes {
  const bytes: number[] = [];
  for (let rest = BigInt.asUintN(64, BigInt(value)); ; rest >>= 7n) {
    if (rest < 128n) return Uint8Array.from([...bytes, Number(rest)]);
    bytes.push(Number(rest & 127n) | 128);
  }
}

/** Bytes, rarely of another length than it says, or of another wire type. */
function bytes(random: Random, field: number, ...parts: readonly Uint8Array[]): Bytes {
  const content = concat(...parts);
  return concat(
    varint(field * 8 + (chance(random, 1) ? random.between(0, 7) : 2)),
    varint(maybe(random, content.length, 1)),
    content,
  );
}

const number = (random: Random, field: number, value: number | bigint): Bytes =>
  concat(varint(field * 8), varint(maybe(random, Number(value), 2)));

const name = (random: Random, field: number): Bytes => bytes(random, field, text(pick(random, names)));

function external(random: Random, size: number): Bytes {
  const location = pick(random, ['a', 'a', 'b', 'missing', '../a', '/etc/passwd', '.', '']);
  const entries = { location, offset: String(maybe(random, 0)), length: String(maybe(random, size)) };
  const kept = Object.entries(entries).filter(() => chance(random, 80));
  return concat(
    ...kept.map(([key, value]) => bytes(random, 13, bytes(random, 1, text(key)), bytes(random, 2, text(value)))),
  );
}

/** The bits of the types from 1 on. 0 for one that this package does not know. */
const bits = [32, 8, 8, 16, 16, 32, 64, 0, 8, 16, 64, 32, 64, 64, 128, 16, 8, 8, 8, 8, 4, 4, 4, 8];

function weight(random: Random): Bytes {
  const shape = lengths(random);
  const type = chance(random, 90) ? random.between(1, 24) : random.between(0, 99);
  const size = Math.ceil((shape.reduce((a, b) => a * b, 1) * (bits[type - 1] ?? 8)) / 8);
  const data = random.bytes(size < 1 << 16 ? size : 0);
  const isPacked = chance(random, 50);
  return concat(
    ...(isPacked
      ? [bytes(random, 1, ...shape.map((length) => varint(maybe(random, length, 2))))]
      : shape.map((length) => number(random, 1, length))),
    number(random, 2, type),
    name(random, 8),
    chance(random, 80) ? bytes(random, pick(random, [9, 9, 9, 4, 5, 7]), data) : external(random, size),
  );
}

function value(random: Random): Bytes {
  const axes = lengths(random).map((length) =>
    bytes(random, 1, chance(random, 50) ? number(random, 1, length) : name(random, 2)),
  );
  const tensor = bytes(random, 1, number(random, 1, random.between(0, 30)), bytes(random, 2, ...axes));
  return concat(name(random, 1), bytes(random, chance(random, 95) ? 2 : 3, tensor));
}

export function forgeOnnx(random: Random): Bytes {
  const graph = [
    ...several(random, 3, () => bytes(random, 1, random.bytes(random.between(0, 20)))),
    ...several(random, 4, () => bytes(random, 5, weight(random))),
    ...several(random, 3, () => bytes(random, 11, value(random))),
    ...several(random, 3, () => bytes(random, 12, value(random))),
  ];
  return concat(
    number(random, 1, 8),
    name(random, 2),
    ...several(random, 2, () => bytes(random, 8, name(random, 1), number(random, 2, 17))),
    ...(chance(random, 97) ? [bytes(random, 7, ...graph)] : []),
  );
}
