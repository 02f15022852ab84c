/**
 * Files of every format with random damage. Opening such a file gives tensors whose every byte can be read, or a
 * typed error; the process survives, and nothing stays mapped or allocated.
 */

import { writeFileSync } from 'node:fs';
import { deflateRawSync } from 'node:zlib';
import { isDLPackError, type Tensor } from 'dlpack';
import { openGguf, openNpy, openNpz, openSafetensors, type TensorFile } from 'dlpack/files';
import { stats } from 'dlpack/native';
import { collectUntil } from '../harness.js';
import { type Random, randomFrom } from '../random.js';
import { concat, fileOf, gguf, ggufString, newPath, npy, safetensors, u32, u64, zip } from './make.js';

interface Format {
  readonly whole: Uint8Array<ArrayBuffer>;
  open(path: string): TensorFile | Tensor;
  readonly name: string;
}

const array = npy("{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }", new Uint8Array(24).fill(7));
const entry = (dtype: string, shape: number[], from: number, to: number) => ({
  dtype,
  shape,
  data_offsets: [from, to],
});
const deflated = new Uint8Array(deflateRawSync(array));

const formats: readonly Format[] = [
  {
    name: 'x.safetensors',
    open: openSafetensors,
    whole: safetensors(
      {
        __metadata__: { a: 'b"\\' },
        'x.weight': entry('F32', [2, 3], 0, 24),
        y: entry('BF16', [2], 24, 28),
        empty: entry('I64', [0, 5], 28, 28),
        f4: entry('F4', [4, 2], 28, 32),
      },
      new Uint8Array(32).fill(1),
    ),
  },
  { name: 'x.npy', open: openNpy, whole: array },
  {
    name: 'x.npz',
    open: openNpz,
    whole: zip([
      { name: 'a.npy', content: array },
      { name: 'b.npy', content: deflated, method: 8, size: array.length },
    ]),
  },
  {
    name: 'x.gguf',
    open: openGguf,
    whole: gguf(
      [
        ['general.name', 8, ggufString('x')],
        ['words', 9, concat(u32(8), u64(3), ggufString('a'), ggufString('b'), ggufString('c'))],
        ['scores', 9, concat(u32(6), u64(2), new Uint8Array(8))],
        ['general.alignment', 4, u32(32)],
      ],
      [
        { name: 'x', dims: [4, 2], type: 0, offset: 0 },
        { name: 'q', dims: [32, 2], type: 2, offset: 32 },
      ],
      new Uint8Array(96),
    ),
  },
  {
    name: 'x.index.json',
    open: openSafetensors,
    whole: new TextEncoder().encode(
      '{"metadata":{"total_size":1,"deep":[[{"a":null}]]},"weight_map":{"x":"a","y":"b"}}',
    ),
  },
];

/** Numbers that sizes, offsets and counts are wrong by. */
const edges = [
  0n,
  1n,
  0x7fn,
  0xffn,
  0x7fffn,
  0xffffn,
  0x7fffffffn,
  0xffffffffn,
  2n ** 53n,
  2n ** 63n - 1n,
  2n ** 63n,
  2n ** 64n - 1n,
];
const tokens = [
  '"',
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '-',
  '9',
  '0',
  'e9',
  '\\',
  '(',
  ')',
  "'",
  'None',
  '[[[[',
  '\u00ff',
  '..',
  '/',
];

/** One to four random changes. */
function damage(whole: Uint8Array<ArrayBuffer>, random: Random): Uint8Array<ArrayBuffer> {
  let bytes = whole.slice();
  for (let count = random.between(1, 4); count > 0; count--) {
    const at = random.between(0, Math.max(0, bytes.length - 1));
    switch (random.between(0, 7)) {
      case 0:
        bytes = bytes.slice(0, at);
        break;
      case 1:
        bytes = concat(bytes.subarray(0, at), random.bytes(random.between(1, 40)), bytes.subarray(at));
        break;
      case 2:
        bytes = concat(bytes.subarray(0, at), bytes.subarray(at + random.between(1, 20)));
        break;
      case 3: {
        const width = [1, 2, 4, 8][random.between(0, 3)] as number;
        const value = edges[random.between(0, edges.length - 1)] as bigint;
        bytes.set(u64(value).subarray(0, Math.min(width, bytes.length - at)), at);
        break;
      }
      case 4: {
        const token = new TextEncoder().encode(tokens[random.between(0, tokens.length - 1)]);
        bytes = concat(bytes.subarray(0, at), token, bytes.subarray(at + random.between(0, 2)));
        break;
      }
      case 5: {
        const length = random.between(0, Math.min(60, bytes.length - at));
        bytes = concat(bytes, bytes.subarray(at, at + length));
        break;
      }
      case 6: {
        // One digit more or less, so that it is still a number.
        const digit = bytes.findIndex((byte, i) => i >= at && byte >= 0x30 && byte <= 0x39);
        if (digit >= 0) bytes[digit] = 0x30 + random.between(0, 9);
        break;
      }
      default:
        if (bytes.length > 0) bytes[at] = (bytes[at] as number) ^ (1 << random.between(0, 7));
    }
  }
  return bytes;
}

/** Reads every byte of a tensor. */
function touch(tensor: Tensor): void {
  tensor.copy().dispose();
  tensor.dispose();
}

function openAndRead(format: Format, path: string): void {
  const opened = format.open(path);
  if ('names' in opened) {
    try {
      for (const name of opened.names) {
        opened.info(name);
        touch(opened.get(name));
      }
    } finally {
      opened.close();
    }
    return;
  }
  touch(opened);
}

/** Runs some rounds with one seed. The error of a failure has the seed, the round and the format. */
export async function fuzzFiles(seed: number, rounds: number): Promise<{ opened: number; refused: number }> {
  const random = randomFrom(seed);
  const outcome = { opened: 0, refused: 0 };
  const before = stats();
  for (let round = 0; round < rounds; round++) {
    const format = formats[round % formats.length] as Format;
    const bytes = damage(format.whole, random);
    const path = newPathOf(format.name);
    writeFileSync(path, bytes);
    try {
      openAndRead(format, path);
      outcome.opened++;
    } catch (error) {
      if (!isDLPackError(error)) {
        const kept = fileOf(bytes, format.name);
        throw new Error(`seed ${seed}, round ${round}, ${format.name} (${kept}): ${String(error)}`, { cause: error });
      }
      outcome.refused++;
    }
    if (stats().imports !== before.imports) {
      throw new Error(`seed ${seed}, round ${round}, ${format.name}: something stays mapped`);
    }
  }
  if (!(await collectUntil(() => stats().storages === before.storages))) {
    throw new Error(`seed ${seed}: something stays allocated: ${JSON.stringify(stats())}`);
  }
  return outcome;
}

const paths = new Map<string, string>();

/** One path for each format: thousands of files are written. */
function newPathOf(name: string): string {
  const known = paths.get(name);
  if (known !== undefined) return known;
  const path = newPath(name);
  paths.set(name, path);
  return path;
}
