/**
 * Files of every format that lie in their fields, or have random damage, by path and as Blobs. Opening such a file gives
 * tensors whose every byte can be read, or a typed error, in little time and memory; the process survives, and nothing stays
 * mapped or allocated.
 */

import { existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { deflateRawSync } from 'node:zlib';
import { isDLPackError, type Tensor } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import { openGguf, openNpy, openNpz, openSafetensors, type TensorFile } from 'dlpack/files';
import { collectUntil } from '../harness.js';
import { makeGraph } from '../interop/libraries/model.js';
import { type Random, randomFrom } from '../random.js';
import { edges, forgeGguf, forgeIndex, forgeNpy, forgeNpz, forgeSafetensors } from './forge.js';
import { forgeOnnx } from './forge-onnx.js';
import { concat, fileOf, gguf, ggufString, newPath, npy, safetensors, u32, u64, zip } from './make.js';
import { readOnnx } from './read-onnx.js';

type Opened = TensorFile | Tensor;
interface Options {
  readonly mode?: 'r' | 'c';
  readonly dtype?: 'bfloat16';
  readonly verify?: boolean;
}

interface Format {
  readonly name: string;
  readonly whole: Uint8Array<ArrayBuffer>;
  forge(random: Random): Uint8Array<ArrayBuffer>;
  /** Opens a file and reads what it holds. */
  read(source: string | Blob, options: Options): Promise<void>;
  /** True if the file is opened by its path only. */
  readonly isPath?: true;
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
    read: openAndRead(openSafetensors),
    forge: forgeSafetensors,
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
  { name: 'x.npy', read: openAndRead(openNpy), forge: forgeNpy, whole: array },
  {
    name: 'x.npz',
    read: openAndRead(openNpz),
    forge: forgeNpz,
    whole: zip([
      { name: 'a.npy', content: array },
      { name: 'b.npy', content: deflated, method: 8, size: array.length },
    ]),
  },
  {
    name: 'x.gguf',
    read: openAndRead(openGguf),
    forge: forgeGguf,
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
    isPath: true,
    read: openAndRead(openSafetensors),
    forge: forgeIndex,
    whole: new TextEncoder().encode(
      '{"metadata":{"total_size":1,"deep":[[{"a":null}]]},"weight_map":{"x":"a","y":"b"}}',
    ),
  },
  {
    name: 'x.onnx',
    isPath: true,
    read: readModel,
    forge: forgeOnnx,
    whole: concat(
      makeGraph({
        nodes: [{ op: 'Add', inputs: ['x', 'w'], outputs: ['y'] }],
        inputs: { x: { tensor: 1, shape: ['n', 3] } },
        outputs: { y: { tensor: 1, shape: ['n', 3] } },
        constants: { w: { type: 1, shape: [2, 3], bytes: new Uint8Array(24) } },
      }),
    ),
  },
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

/** Bytes of the largest tensor that is read whole. A hole in a file can make larger ones. */
const MOST_READ = 1 << 24;
const MOST_TENSORS = 20;

/** Reads every byte of a tensor, and makes arrays of it where they are few, or so many that this must fail. */
function touch(tensor: Tensor): void {
  try {
    if (tensor.nbytes <= MOST_READ) tensor.copy().dispose();
    else tensor.get(...tensor.shape.map(() => 0));
    const empty = tensor.shape.indexOf(0); // there the arrays end
    const arrays = tensor.shape.slice(0, empty === -1 ? tensor.ndim : empty).reduce((a, b) => a * b, 1);
    if (arrays < 100_000 || arrays > 2 ** 27) tensor.toArray(); // the values, or an error
    String(tensor);
  } finally {
    tensor.dispose();
  }
}

type Open = (source: string | Blob, options: Options) => Promise<Opened>;

function openAndRead(open: Open): Format['read'] {
  return async (source, options) => {
    const opened = await open(source, options);
    if (!('names' in opened)) return touch(opened);
    try {
      for (const name of opened.names.slice(0, MOST_TENSORS)) {
        if (typeof source === 'string') opened.info(name);
        touch(typeof source === 'string' ? opened.get(name) : await opened.getAsync(name));
      }
    } finally {
      opened.dispose();
    }
  };
}

/** A model as `dlpack inspect` reads it, which reports errors of the system as they are. */
async function readModel(path: string | Blob): Promise<void> {
  const model = await readOnnx(path as string);
  try {
    for (const { load, nbytes } of model.sections.flatMap(({ tensors }) => tensors.slice(0, MOST_TENSORS))) {
      if (load !== null && (nbytes ?? 0) <= MOST_READ) touch(load());
    }
  } finally {
    model.close();
  }
}

/** A damaged file, or one that lies. Rarely a hole follows, so that large numbers fit into the file. */
function write(format: Format, random: Random, path: string): Uint8Array<ArrayBuffer> {
  const forged = random.between(0, 2) > 0 ? format.forge(random) : damage(format.whole, random);
  const bytes = random.between(0, 9) === 0 ? damage(forged, random) : forged;
  writeFileSync(path, bytes);
  if (random.between(0, 30) === 0) truncateSync(path, bytes.length + 2 ** random.between(10, 40));
  return bytes;
}

/** What one file may cost: the largest header is read in pieces and copied, and the rest is small. */
const MOST_MEMORY = 700;
const MOST_SECONDS = 10;

const status = '/proc/self/status';
const resets = '/proc/self/clear_refs';
const hasStatus = existsSync(status) && existsSync(resets);

/** The memory of the process in MiB: at this moment, or the most since the last reset. 0 where the system does not tell. */
function memory(field: 'VmRSS' | 'VmHWM'): number {
  if (!hasStatus) return 0;
  return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(status, 'utf8'))?.[1]) / 1024;
}

/** Runs an action, and throws if it takes too much memory or processor time. */
async function bounded(action: () => Promise<void>): Promise<void> {
  if (hasStatus) writeFileSync(resets, '5');
  const before = memory('VmRSS');
  const start = process.cpuUsage();
  try {
    await action();
  } finally {
    const { user, system } = process.cpuUsage(start);
    const seconds = (user + system) / 1e6;
    const grown = Math.round(memory('VmHWM') - before);
    if (grown > MOST_MEMORY || seconds > MOST_SECONDS) {
      // biome-ignore lint/correctness/noUnsafeFinally: this outcome is worse than any error of the action
      throw new Error(`it took ${grown} MiB and ${seconds} s`);
    }
  }
}

const options = (random: Random): Options => ({ mode: random.between(0, 1) === 0 ? 'r' : 'c' });

/** Runs some rounds with one seed. The error of a failure has the seed, the round and the format. */
export async function fuzzFiles(
  seed: number,
  rounds: number,
  log: (line: string) => void = () => {},
  isOver: () => boolean = () => false,
): Promise<{ opened: number; refused: number }> {
  const random = randomFrom(seed);
  const outcome = { opened: 0, refused: 0 };
  const before = liveCounts();
  const checkReleased = async (label: string): Promise<void> => {
    const isReleased = () => liveCounts().storages === before.storages && liveCounts().imports === before.imports;
    if (!(await collectUntil(isReleased)))
      throw new Error(`${label}: something stays: ${JSON.stringify(liveCounts())}`);
  };
  for (let round = 0; round < rounds && !isOver(); round++) {
    const format = formats[round % formats.length] as Format;
    const path = pathOf(format);
    const bytes = write(format, random, path);
    const isBlob = !format.isPath && random.between(0, 3) === 0;
    const source = isBlob ? new Blob([bytes]) : path;
    const given: Options = {
      ...options(random),
      ...(format.name.startsWith('x.np') && random.between(0, 3) === 0 && { dtype: 'bfloat16' }),
      ...(format.name === 'x.npz' && { verify: random.between(0, 1) === 0 }),
    };
    const label = `seed ${seed}, round ${round}, ${format.name}${isBlob ? ' as a Blob' : ''} ${JSON.stringify(given)}`;
    log(label);
    try {
      await bounded(() => format.read(source, given));
      outcome.opened++;
    } catch (error) {
      const isSystem = format.name === 'x.onnx' && /^E[A-Z0-9]+$/.test(String((error as { code?: unknown }).code));
      if (!isDLPackError(error) && !isSystem) {
        throw new Error(`${label} (${fileOf(bytes, format.name)}): ${String(error)}`, { cause: error });
      }
      outcome.refused++;
    }
    if ((round + 1) % 500 === 0) await checkReleased(label);
  }
  await checkReleased(`seed ${seed}`);
  return outcome;
}

const paths = new Map<Format, string>();

/** One path for each format, because thousands of files are written. The shards of an index are beside it. */
function pathOf(format: Format): string {
  const known = paths.get(format);
  if (known !== undefined) return known;
  const path = newPath(format.name);
  for (const shard of ['a', 'b']) {
    const tensors = Object.fromEntries(Array.from({ length: 5 }, (_, i) => [`t${i}`, entry('U8', [1], i, i + 1)]));
    writeFileSync(join(dirname(path), shard), safetensors(tensors, new Uint8Array(5)));
  }
  paths.set(format, path);
  return path;
}
