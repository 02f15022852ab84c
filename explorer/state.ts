/** What the explorer shows, as text: the fields of the form, the address of the page, the presets. */

export interface State {
  dtype: string;
  /** `2, 3` */
  shape: string;
  /** `3, 1` in elements; empty for row-major. */
  strides: string;
  /** The number of elements in memory; empty for as many as the shape has. */
  memory: string;
  padded: boolean;
  readonly: boolean;
  /** Methods of a tensor, one after another: `.transpose([1, 0]).slice(0)`. */
  calls: string;
  /** Bytes that the reader has changed, in hexadecimal; empty before the first change. */
  bytes: string;
}

const plain: State = {
  dtype: 'float32',
  shape: '2, 3',
  strides: '',
  memory: '',
  padded: false,
  readonly: false,
  calls: '',
  bytes: '',
};

export interface Preset {
  readonly name: string;
  /** What to see in it. */
  readonly note: string;
  readonly t: string;
}

export const presets: readonly Preset[] = [
  {
    name: 'Rows and columns',
    note: 'Six floats, two rows. Each row begins three elements after the last.',
    t: 'float32[2,3]',
  },
  {
    name: 'Image: HWC to CHW',
    note: 'A 2×3 image with red, green and blue side by side. transpose() moves no byte: only the strides change.',
    t: 'uint8[2,3,3].transpose([2,0,1])',
  },
  {
    name: 'KV-cache slice',
    note: 'Two heads, room for four tokens, two in use. The slice skips the unused tokens, so it is not contiguous.',
    t: 'float16[2,4,2].slice(null,[0,2])',
  },
  {
    name: 'Bias, broadcast',
    note: 'One row of four values, read three times: stride 0 repeats it without a copy.',
    t: 'float32[4].broadcastTo([3,4])',
  },
  {
    name: 'Sliding window',
    note: 'Both strides are 1, so that windows of three share their elements. Memory holds eight, the view shows 18.',
    t: 'int16[6,3];strides=1,1;memory=8',
  },
  {
    name: 'int4 weights',
    note: 'Two weights in each byte, the lower half first. Choose "padded" to give each a byte of its own.',
    t: 'int4[4,4].slice([0,2])',
  },
];

/** The state as one line: `float32[6,3];strides=1,1;memory=8.slice(0)`. */
export function formatState(state: State): string {
  const bare = (text: string): string => text.replace(/\s+/g, '');
  return [
    `${state.dtype}[${bare(state.shape)}]`,
    bare(state.strides) === '' ? '' : `;strides=${bare(state.strides)}`,
    bare(state.memory) === '' ? '' : `;memory=${bare(state.memory)}`,
    state.padded ? ';padded' : '',
    state.readonly ? ';readonly' : '',
    state.bytes === '' ? '' : `;bytes=${state.bytes}`,
    bare(state.calls),
  ].join('');
}

/** Reads the line again. A line of another form gives the state of the first preset. */
export function parseState(line: string): State {
  const [, dtype, shape = '', rest = '', calls = ''] = /^(\w+)\[([^\]]*)\]((?:;[^;.]*)*)(\..*)?$/.exec(line) ?? [];
  if (dtype === undefined) return { ...plain };
  const field = (name: string): string => new RegExp(`;${name}=([^;]*)`).exec(rest)?.[1] ?? '';
  const spaced = (text: string): string => text.replaceAll(',', ', ');
  return {
    dtype,
    shape: spaced(shape),
    strides: spaced(field('strides')),
    memory: field('memory'),
    padded: rest.includes(';padded'),
    readonly: rest.includes(';readonly'),
    calls: spaced(calls),
    bytes: field('bytes'),
  };
}
