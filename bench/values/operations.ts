/** The operations that bench/values.bench.ts measures, in groups that can be run separately. */

export interface Operation {
  readonly name: string;
  readonly kind: 'copy' | 'permute' | 'cast' | 'images';
  readonly from: string;
  readonly to: string;
  /** Sub-byte types with one byte for each element, the only form that ml_dtypes has. */
  readonly padded: boolean;
  /** True when the memory of the result is allocated and released inside the measured time. */
  readonly fresh: boolean;
  /** Bits of an element that are read and written, which is the least that has to move. */
  readonly readBits: number;
  readonly writtenBits: number;
  readonly shape?: readonly number[];
  readonly axes?: readonly number[];
  readonly count: number;
  /** How often a repetition runs the operation, because short operations are timed together. */
  readonly times: number;
}

/** The number of elements of a 64 MiB result in float32, and of a result that fits into the second-level cache. */
const LARGE = { count: 2 ** 24, times: 1 };
const SMALL = { count: 2 ** 16, times: 200 };

const plain = { from: 'float32', to: 'float32', padded: false, fresh: false, readBits: 32, writtenBits: 32 } as const;

function copy(fresh: boolean): Operation {
  return { ...plain, ...LARGE, name: `copy of 64 MiB${fresh ? ', fresh' : ''}`, kind: 'copy', fresh };
}

function permute(name: string, shape: number[], axes: number[]): Operation {
  return { ...plain, ...LARGE, name, kind: 'permute', shape, axes };
}

/** Pixels become the input of a model: a scale and an offset for each channel, the channels first, in new memory. */
function images(batch: number): Operation {
  const shape = [batch, 224, 224, 3];
  return {
    name: `${batch} × 224 × 224 × 3 bytes`,
    kind: 'images',
    from: 'uint8',
    to: 'float32',
    padded: false,
    fresh: true,
    readBits: 8,
    writtenBits: 32,
    shape,
    axes: [0, 3, 1, 2],
    count: batch * 224 * 224 * 3,
    times: batch === 1 ? 20 : 2,
  };
}

const bitsOf = (dtype: string): number => Number(/^(?:bfloat|float|int)(\d+)/.exec(dtype)?.[1]);

interface Form {
  readonly padded?: boolean;
  readonly fresh?: boolean;
}

function cast(from: string, to: string, size = LARGE, { padded = false, fresh = false }: Form = {}): Operation {
  const name = `${from}${padded ? ' (padded)' : ''} to ${to}${fresh ? ', fresh' : ''}`;
  const readBits = padded ? 8 : bitsOf(from);
  return { name, kind: 'cast', from, to, padded, fresh, readBits, writtenBits: bitsOf(to), ...size };
}

const halves: readonly [string, string][] = ['bfloat16', 'float16', 'float8_e4m3fn'].flatMap((dtype) => [
  [dtype, 'float32'],
  ['float32', dtype],
]);
const belowBytes = ['float4_e2m1fn', 'int4', 'float6_e2m3fn', 'float6_e3m2fn'];
const forms = [{ padded: false }, { padded: true }];

export interface Group {
  readonly title: string;
  readonly threads: 'each' | 'one';
  readonly operations: readonly Operation[];
}

export const groups: Readonly<Record<string, Group>> = {
  copies: {
    title: 'Copies',
    threads: 'each',
    operations: [
      copy(false),
      copy(true),
      permute('transpose of 4096 x 4096', [4096, 4096], [1, 0]),
      permute('(2, 0, 1) of 256 x 256 x 256', [256, 256, 256], [2, 0, 1]),
      permute('(1, 2, 0) of 256 x 256 x 256', [256, 256, 256], [1, 2, 0]),
      permute('(2, 1, 0) of 256 x 256 x 256', [256, 256, 256], [2, 1, 0]),
    ],
  },
  halves: {
    title: 'Floats of 16 and 8 bits, 2^24 elements',
    threads: 'each',
    operations: halves.map(([from, to]) => cast(from, to)),
  },
  'fresh-halves': {
    title: 'Floats of 16 and 8 bits, 2^24 elements, into fresh memory',
    threads: 'each',
    operations: halves.map(([from, to]) => cast(from, to, LARGE, { fresh: true })),
  },
  below: {
    title: 'Types below a byte, 2^24 elements',
    threads: 'each',
    operations: belowBytes.flatMap((from) => forms.map((form) => cast(from, 'float32', LARGE, form))),
  },
  'fresh-below': {
    title: 'Types below a byte, 2^24 elements, into fresh memory',
    threads: 'each',
    operations: belowBytes.map((from) => cast(from, 'float32', LARGE, { fresh: true })),
  },
  images: {
    title: 'Images, `(x / 255 - mean) / std`, channels first, beside NumPy and torchvision',
    threads: 'each',
    operations: [images(1), images(16)],
  },
  'small-below': {
    title: 'Types below a byte, 2^16 elements',
    threads: 'one',
    operations: belowBytes.flatMap((from) => forms.map((form) => cast(from, 'float32', SMALL, form))),
  },
};
