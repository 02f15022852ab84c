/**
 * Files that follow the structure of their format and lie in its fields: sizes, offsets, counts, types, names and checksums.
 * A random number generator decides where they lie, and most of them lie in one or two places only, so that they get far.
 */

import { deflateRawSync } from 'node:zlib';
import type { Random } from '../random.js';
import { concat, crc32, gguf, ggufString, npy, safetensors, text, u16, u32, u64 } from './make.js';

type Bytes = Uint8Array<ArrayBuffer>;

/** Numbers that sizes, offsets and counts are wrong by. */
export const edges: readonly bigint[] = [
  0n,
  1n,
  0x7fn,
  0xffn,
  0x7fffn,
  0xffffn,
  0x7fffffffn,
  0xffffffffn,
  2n ** 40n,
  2n ** 53n - 1n,
  2n ** 53n,
  2n ** 61n,
  2n ** 63n - 1n,
  2n ** 63n,
  2n ** 64n - 1n,
];

export const pick = <T>(random: Random, items: readonly T[]): T => items[random.between(0, items.length - 1)] as T;
export const chance = (random: Random, percent: number): boolean => random.between(1, 100) <= percent;
/** The value, and rarely an edge instead. */
export const maybe = (random: Random, value: number, percent = 8): number | bigint =>
  chance(random, percent) ? pick(random, edges) : value;
export const several = <T>(random: Random, most: number, make: (i: number) => T): T[] =>
  Array.from({ length: random.between(0, most) }, (_, i) => make(i));

/** Names, also names that mean something to JavaScript, to systems and to decoders. */
export const names = [
  'x',
  'y',
  'a.weight',
  '',
  '__proto__',
  'constructor',
  '__metadata__',
  '../x',
  'é\u{1f600}',
  'a\u0000b',
  '0',
];

export const lengths = (random: Random): number[] => {
  const shape = several(random, chance(random, 3) ? 70 : 4, () => random.between(0, 5));
  if (chance(random, 6)) shape.push(Number(pick(random, edges)));
  return shape;
};

const dtypes: Readonly<Record<string, number>> = {
  F32: 32,
  F64: 64,
  BF16: 16,
  U8: 8,
  I64: 64,
  BOOL: 8,
  F4: 4,
  C64: 64,
};

const escapes = ['\\ud83d', '\\u0000', '\\"', '\\ud83d\\ude00', '\\q', '\u00ff', '\ufeff'];

/** JSON of free structure, as text. */
function json(random: Random, depth: number): string {
  const inner = () => json(random, depth - 1);
  switch (depth === 0 ? random.between(0, 3) : random.between(0, 6)) {
    case 0:
      return String(maybe(random, random.between(-9, 9)));
    case 1:
      return pick(random, ['null', 'true', '1e999', '-0', '[]', '{}', 'nul', '01']);
    case 2:
      return JSON.stringify(pick(random, names));
    case 3:
      return `"${pick(random, escapes)}"`;
    case 4:
      return `[${several(random, 4, inner).join(',')}]`;
    case 5:
      return `{${several(random, 4, () => `${JSON.stringify(pick(random, names))}:${inner()}`).join(',')}}`;
    default:
      return '['.repeat(random.between(1, 80)) + ']'.repeat(random.between(1, 80));
  }
}

export function forgeSafetensors(random: Random): Bytes {
  let at = 0;
  const entries = several(random, 5, (i) => {
    const dtype = chance(random, 4) ? 'F128' : pick(random, Object.keys(dtypes));
    const shape = lengths(random);
    const nbytes = Math.ceil((shape.reduce((a, b) => a * b, 1) * (dtypes[dtype] ?? 8)) / 8);
    const size = nbytes < 1 << 16 ? nbytes : 0;
    const offsets = [maybe(random, at, 4), maybe(random, at + size, 4)];
    at += size;
    const name = chance(random, 80) ? `t${i}` : pick(random, names);
    const more = chance(random, 3) ? `,${pick(random, ['"shape":[]', '"more":1', '"dtype":"U8"'])}` : '';
    const list = shape.map((length) => maybe(random, length, 2)).join(',');
    return `${JSON.stringify(name)}:{"dtype":"${dtype}","shape":[${list}],"data_offsets":[${offsets.join(',')}]${more}}`;
  });
  const pairs = several(random, 4, () => `${JSON.stringify(pick(random, names))}:"${pick(random, escapes)}"`);
  if (chance(random, 40)) entries.unshift(`"__metadata__":{${pairs.join(',')}}`);
  const header = `{${entries.join(',')}}`;
  const whole = safetensors(
    header,
    random.bytes(at + (chance(random, 5) ? random.between(1, 9) : 0)),
    random.between(0, 9),
  );
  if (chance(random, 5)) whole.set(u64(pick(random, edges)));
  return whole;
}

/** An index of shards that may be 'a' and 'b' beside it. */
export function forgeIndex(random: Random): Bytes {
  const shards = ['a', 'b', 'a', 'b', 'missing', '../a', 'a/b', '', '.', 'C:a', 'a?b', '%2e'];
  const map = several(random, 5, (i) => {
    const shard = chance(random, 90) ? pick(random, ['a', 'b']) : pick(random, shards);
    return `"${chance(random, 95) ? `t${i}` : pick(random, names)}":${JSON.stringify(shard)}`;
  });
  const fields = [`"metadata":${json(random, 4)}`, `"weight_map":{${map.join(',')}}`, `"other":${json(random, 3)}`];
  return concat(text(`{${fields.filter(() => chance(random, 90)).join(',')}}${chance(random, 3) ? '{}' : ''}`));
}

const descrs = ['<f4', '>f8', '|u1', '<i8', '|b1', '<c16', '|V2', '|O', '<f2', '=i4', '<f1', 'f4', '<U9', '>c8', '|V1'];

/** An array. One in many claims a large shape without elements. */
export function forgeNpy(random: Random): Bytes {
  const descr = chance(random, 95)
    ? `'${pick(random, descrs)}'`
    : pick(random, ["[('a', '<f4')]", '1', 'None', '[[[[']);
  const shape = chance(random, 3) ? [random.between(1, 2 ** 30), 0] : lengths(random);
  const count = shape.reduce((a, b) => a * b, 1) * 16;
  const list = shape.map((length) => String(maybe(random, length, 2))).join(', ');
  const tuple = chance(random, 97)
    ? `(${list}${shape.length === 1 ? ',' : ''})`
    : pick(random, ['None', '((1,),)', '(True,)']);
  const order = pick(random, ['True', 'False', 'False', 'False']);
  const fields = [`'descr': ${descr}`, `'fortran_order': ${chance(random, 97) ? order : '0'}`, `'shape': ${tuple}`];
  if (chance(random, 3)) fields.push(pick(random, ["'more': 1", "'shape': (1,)"]));
  const size = count < 1 << 16 ? Math.max(0, count - random.between(0, chance(random, 10) ? 9 : 0)) : 64;
  const whole = npy(`{${fields.join(', ')}, }`, random.bytes(size), random.between(1, chance(random, 3) ? 4 : 3));
  if (chance(random, 4)) whole.set(u32(random.between(0, 2 ** 31 - 1)), 8);
  if (chance(random, 4)) whole[7] = random.between(0, 255); // the minor version
  return whole;
}

/** A zip file: Zip64 fields, descriptors, wrong checksums and flags, members that overlap, bytes before it and a comment. */
export function forgeNpz(random: Random): Bytes {
  const parts: Uint8Array[] = [chance(random, 5) ? random.bytes(random.between(1, 99)) : new Uint8Array()];
  let at = (parts[0] as Uint8Array).length;
  const central: Uint8Array[] = [];
  const members = several(random, 4, (i) => {
    const content = chance(random, 95) ? forgeNpy(random) : random.bytes(random.between(0, 200));
    const isBomb = chance(random, 4);
    const plain = isBomb ? new Uint8Array(1 << 20) : content;
    const isDeflated = isBomb || chance(random, 40);
    const stored = isDeflated ? new Uint8Array(deflateRawSync(plain)) : plain;
    const name = text(chance(random, 90) ? `m${i}.npy` : `${pick(random, names)}.npy`);
    const crc = chance(random, 92) ? crc32(plain) : random.between(0, 2 ** 31 - 1);
    const hasDescriptor = chance(random, 15);
    const flags = (hasDescriptor ? 8 : 0) | (chance(random, 2) ? 1 : 0) | (chance(random, 50) ? 0x800 : 0);
    const method = chance(random, 97) ? (isDeflated ? 8 : 0) : pick(random, [0, 8, 12]);
    const sizes = [maybe(random, plain.length, 3), maybe(random, stored.length, 3), maybe(random, at, 3)];
    const is64 = chance(random, 15);
    const low = sizes.map((size) => (is64 || BigInt(size) > 0xffffffffn ? 0xffffffff : Number(size)));
    const field = concat(...sizes.filter((_, k) => low[k] === 0xffffffff).map((size) => u64(size)));
    const short = chance(random, 3) ? field.subarray(0, random.between(0, field.length)) : field;
    const extra = is64 || short.length > 0 ? concat(u16(1), u16(short.length), short) : new Uint8Array();
    const head = (more: Uint8Array, known: boolean) =>
      concat(
        ...[u16(45), u16(flags), u16(method), u32(0), u32(known ? crc : 0)],
        ...[
          u32(known ? (low[1] as number) : 0),
          u32(known ? (low[0] as number) : 0),
          u16(name.length),
          u16(more.length),
        ],
      );
    const padding = chance(random, 30) ? concat(u16(0xd935), u16(4), u32(0)) : new Uint8Array();
    const descriptor = concat(u32(0x08074b50), u32(crc), u32(stored.length), u32(plain.length));
    const local = concat(u32(0x04034b50), head(padding, !hasDescriptor), name, padding, stored);
    parts.push(local, hasDescriptor ? descriptor : new Uint8Array());
    at += local.length + (hasDescriptor ? descriptor.length : 0);
    const tail = concat(new Uint8Array(10), u32(low[2] as number));
    return concat(u32(0x02014b50), u16(45), head(extra, true), tail, name, extra);
  });
  for (const member of members) central.push(member);
  const directory = concat(...central);
  const count = maybe(random, members.length, 3);
  const [size, start] = [maybe(random, directory.length, 2), maybe(random, at, 3)];
  const end64 = concat(
    u32(0x06064b50),
    u64(44),
    u32(0),
    new Uint8Array(8),
    u64(count),
    u64(count),
    u64(size),
    u64(start),
  );
  const locator = concat(u32(0x07064b50), u32(0), u64(at + directory.length), u32(1));
  const has64 = chance(random, 20);
  const narrow = (value: number | bigint) => Number(BigInt(value) & 0xffffffffn);
  const comment = random.bytes(chance(random, 10) ? random.between(1, 300) : 0);
  const counts = concat(u16(narrow(count) & 0xffff), u16(narrow(count) & 0xffff));
  const end = concat(
    u32(0x06054b50),
    u32(0),
    counts,
    u32(narrow(size)),
    u32(narrow(start)),
    u16(comment.length),
    comment,
  );
  return concat(...parts, directory, ...(has64 ? [end64, locator] : []), end);
}

/** The bytes of a value of GGUF metadata, with its type. */
function ggufValue(random: Random, depth: number): readonly [type: number, bytes: Uint8Array] {
  const sizes: Readonly<Record<number, number>> = {
    0: 1,
    1: 1,
    2: 2,
    3: 2,
    4: 4,
    5: 4,
    6: 4,
    7: 1,
    10: 8,
    11: 8,
    12: 8,
  };
  const type = chance(random, 3) ? random.between(13, 99) : random.between(0, 12);
  if (type === 8) return [8, chance(random, 97) ? ggufString(pick(random, names)) : u64(pick(random, edges))];
  if (type !== 9) return [type, random.bytes(sizes[type] ?? 4)];
  if (depth === 0) return [9, concat(u32(0), u64(0))];
  const inner = chance(random, 30) ? 9 : random.between(0, 12);
  const items = several(random, 4, () => {
    if (inner === 9) return ggufValue(random, depth - 1)[1];
    return inner === 8 ? ggufString(pick(random, names)) : random.bytes(sizes[inner] as number);
  });
  return [9, concat(u32(inner), u64(maybe(random, items.length, 6)), ...items)];
}

export function forgeGguf(random: Random): Bytes {
  const pairs = several(random, 5, (i) => {
    const [type, bytes] = ggufValue(random, 6);
    return [chance(random, 95) ? `k${i}` : pick(random, names), type, bytes] as const;
  });
  const alignment = pick(random, [8, 32, 64, 32, 32]);
  if (alignment !== 32) pairs.push(['general.alignment', 4, u32(alignment)]);
  if (chance(random, 3)) pairs.push(['general.alignment', 4, u32(random.between(0, 2 ** 31 - 1))]);
  let at = 0;
  const tensors = several(random, 4, (i) => {
    const type = chance(random, 60) ? pick(random, [0, 1, 24, 27, 30]) : random.between(0, 45);
    const dims =
      type === 0 ? lengths(random).slice(0, 9) : [256 * random.between(0, 2), ...lengths(random)].slice(0, 4);
    const offset = at;
    const bytes = dims.reduce((a, b) => a * b, 1) * 8;
    at += bytes < 1 << 16 ? Math.ceil(bytes / alignment) * alignment : 0;
    const name = chance(random, 95) ? `t${i}` : pick(random, names);
    return { name, dims: dims.map((length) => maybe(random, length, 2)), type, offset: maybe(random, offset, 3) };
  });
  const counts = {
    ...(chance(random, 4) && { tensorCount: pick(random, edges) }),
    ...(chance(random, 4) && { pairCount: pick(random, edges) }),
  };
  return gguf(pairs, tensors, random.bytes(at), {
    version: chance(random, 95) ? 3 : random.between(0, 4),
    alignment,
    ...counts,
  });
}
