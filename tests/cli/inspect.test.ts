/** npx dlpack inspect: what it says about files of every format, of damaged ones, and the pictures that it writes. */
import {
  closeSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, sep } from 'node:path';
import { inflateSync } from 'node:zlib';
import { Tensor } from 'dlpack';
import { writeNpy, writeNpz, writeSafetensors } from 'dlpack/files';
import { equal, ok } from '../assert.js';
import { gguf, safetensors } from '../files/bytes.js';
import { runtime, test } from '../harness.js';
import { dlpack, root } from './dlpack.js';

const folder = mkdtempSync(join(tmpdir(), 'dlpack-inspect-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const at = (name: string): string => join(folder, name);

/** Tests that need flags of Node. */
const testOnNode = (name: string, body: () => void) => {
  if (runtime === 'node') test(name, body);
};

/** The output for a file, whose path is replaced by its name. */
function inspect(name: string, ...options: string[]): string {
  const { status, stdout, stderr } = dlpack(['inspect', at(name), ...options]);
  equal([status, stderr], [0, ''], stdout);
  return stdout.replaceAll(`${folder}${sep}`, '');
}

test('inspect: a model in safetensors is a tree in which equal layers stand once', async () => {
  const tensors: Record<string, Tensor> = { 'model.embed.weight': Tensor.zeros([8, 4], 'bfloat16') };
  for (let i = 0; i < 3; i++) {
    tensors[`model.layers.${i}.q.weight`] = Tensor.zeros([4, 4], 'float32');
    tensors[`model.layers.${i}.norm`] = Tensor.zeros([4], 'float32');
  }
  tensors['model.layers.3.norm'] = Tensor.zeros([5], 'float32');
  await writeSafetensors(at('model.safetensors'), tensors, { metadata: { format: 'pt' } });
  equal(
    inspect('model.safetensors'),
    `model.safetensors: safetensors, 8 tensors, 97 elements, 324 bytes
  format: pt

└─ model
   ├─ embed.weight    bfloat16 [8, 4]  64 bytes
   └─ layers
      ├─ 0…2 (3 alike)
      │  ├─ q.weight  float32 [4, 4]   64 bytes
      │  └─ norm      float32 [4]      16 bytes
      └─ 3.norm       float32 [5]      20 bytes
`,
  );
  ok(inspect('model.safetensors', '--all').includes('│  └─ norm'));
  ok(!inspect('model.safetensors', '--all').includes('alike'));
});

test('inspect --stats: numbers and a histogram of the data, without what is not finite', async () => {
  await writeNpy(
    at('array.npy'),
    Tensor.from([1, 2, 2, 3, 0, Number.NaN, Number.POSITIVE_INFINITY], { dtype: 'float32' }),
  );
  const { tensors } = JSON.parse(inspect('array.npy', '--stats', '--json')) as {
    tensors: { dtype: string; shape: number[]; nbytes: number; stats: Record<string, unknown> }[];
  };
  const [{ dtype, shape, nbytes, stats }] = tensors as [(typeof tensors)[0]];
  equal([dtype, shape, nbytes], ['float32', [7], 28]);
  const { histogram, ...numbers } = stats as { histogram: number[] };
  equal(numbers, { min: 0, max: 3, mean: 1.6, std: Math.sqrt(1.04), zeros: 1, notFinite: 2 });
  equal([histogram.length, histogram[0], histogram[8], histogram[16], histogram[23]], [24, 1, 1, 2, 1]);
  ok(
    /0 █.*█.* 3 {2}mean 1\.6, std 1\.02, 1 zero, 2 not finite\n/.test(
      inspect('array.npy', '--stats').replace(/▄/g, '█'),
    ),
  );
  await writeNpy(at('complex.npy'), Tensor.zeros([2], 'complex64'));
  ok(inspect('complex.npy', '--stats').includes('complex64 [2]'));
});

test('inspect --image: an RGB image byte for byte, a matrix from black to white', async () => {
  const pixels = Uint8Array.from({ length: 2 * 5 * 3 }, (_, i) => i * 5);
  await writeNpz(at('images.npz'), {
    rgb: Tensor.from(pixels, { shape: [2, 5, 3] }),
    planes: Tensor.from(pixels, { shape: [2, 5, 3] })
      .transpose([2, 0, 1])
      .contiguous(),
    matrix: Tensor.from(
      [
        [-1, 0],
        [1, 0],
      ],
      { dtype: 'float32' },
    ),
    odd: Tensor.zeros([5, 5, 5], 'float32'),
  });
  const image = (name: string): { width: number; height: number; type: number; lines: number[] } => {
    equal(inspect('images.npz', '--image', name, '--out', at('out.png')), 'out.png\n');
    const png = readFileSync(at('out.png'));
    equal(png.subarray(12, 16).toString(), 'IHDR');
    const start = png.indexOf('IDAT') + 4;
    const length = png.readUInt32BE(start - 8);
    return {
      width: png.readUInt32BE(16),
      height: png.readUInt32BE(20),
      type: png[25] as number,
      lines: [...inflateSync(png.subarray(start, start + length))],
    };
  };
  const rows = [0, ...pixels.subarray(0, 15), 0, ...pixels.subarray(15)];
  equal(image('rgb'), { width: 5, height: 2, type: 2, lines: rows });
  equal(image('planes'), { width: 5, height: 2, type: 2, lines: rows });
  equal(image('matrix'), { width: 2, height: 2, type: 0, lines: [0, 0, 128, 0, 255, 128] });
  for (const [name, text] of [
    ['odd', 'two axes'],
    ['absent', 'one of the 4 tensors'],
    ['matrx', "did you mean 'matrix'?"],
  ] as const) {
    const { status, stderr } = dlpack(['inspect', at('images.npz'), '--image', name]);
    equal(status, 1);
    ok(stderr.includes(text), stderr);
  }
});

/** A number of a protocol buffer: seven bits in each byte. */
const varint = (value: number): number[] =>
  value < 128 ? [value] : [128 + (value % 128), ...varint(Math.floor(value / 128))];

/** A protocol buffer field with bytes or a number. */
function field(number: number, value: number | string | number[]): number[] {
  if (typeof value === 'number') return [number * 8, ...varint(value)];
  const bytes = typeof value === 'string' ? [...Buffer.from(value)] : value;
  return [number * 8 + 2, ...varint(bytes.length), ...bytes];
}

test('inspect: inputs, outputs and weights of an ONNX model', async () => {
  const axis = (value: number | string) => field(1, typeof value === 'number' ? field(1, value) : field(2, value));
  const value = (name: string, type: number, shape: (number | string)[]) => [
    ...field(1, name),
    ...field(2, field(1, [...field(1, type), ...field(2, shape.flatMap(axis))])),
  ];
  const weight = [...field(1, [2, 2]), ...field(2, 1), ...field(8, 'layer.w'), ...field(9, new Array(16).fill(0))];
  const graph = [
    ...field(1, []),
    ...field(5, weight),
    ...field(11, value('x', 1, ['batch', 2])),
    ...field(11, value('layer.w', 1, [2, 2])),
    ...field(12, value('y', 10, [2])),
  ];
  const model = Uint8Array.from([...field(1, 8), ...field(2, 'test'), ...field(8, field(2, 17)), ...field(7, graph)]);
  writeFileSync(at('model.onnx'), model);
  equal(
    inspect('model.onnx', '--stats'),
    `model.onnx: ONNX, 1 tensor, 4 elements, 16 bytes
  ir_version: 8
  producer: test
  opset: 17
  nodes: 1

inputs
└─ x  float32 [batch, 2]

outputs
└─ y  float16 [2]

weights
└─ layer.w  float32 [2, 2]  16 bytes  0 █${' '.repeat(23)} 0  mean 0, std 0, 4 zero
`,
  );
  for (const length of [0, 1, 11, model.length - 1]) {
    writeFileSync(at('cut.onnx'), model.subarray(0, length));
    const { status, stderr } = dlpack(['inspect', at('cut.onnx')]);
    ok(status === 1 && stderr.includes('ONNX') && !/\n\s+at /.test(stderr), `${length}: ${stderr}`);
  }
});

test('inspect: weights of an ONNX model in other files and typed fields, and forged ones', () => {
  const write = (name: string, ...weight: number[][]) => {
    const fields = [...weight.flat(), ...field(8, 'w')];
    writeFileSync(at(name), Uint8Array.from(field(7, field(5, fields))));
  };
  const float32 = field(2, 1);
  const outside = (entries: Record<string, string>) =>
    Object.entries(entries).flatMap(([key, value]) => field(13, [...field(1, key), ...field(2, value)]));
  const shape = field(1, [4]);
  writeFileSync(at('weights.bin'), new Uint8Array(Float32Array.of(7, 1, 2, 3, 4).buffer));
  write('other.onnx', shape, float32, outside({ location: 'weights.bin', offset: '4' }));
  ok(inspect('other.onnx', '--stats').includes('w  float32 [4]  16 bytes  1 '), 'a length that is absent');
  write('typed.onnx', shape, field(2, 7), field(7, [1, 2, 3, 4]));
  ok(inspect('typed.onnx').includes('int64 [4]  32 bytes'), 'elements as numbers of few bytes');

  const forged: [text: string, ...weight: number[][]][] = [
    ["'w' has 8 bytes, and float32 of shape [4] needs 16", shape, float32, field(9, new Array(8).fill(0))],
    ["'w' has the shape", field(1, 2 ** 60), float32],
    ['more than 64 axes', field(1, new Array(300_000).fill(2)), float32],
    ['more than 64 axes', new Array(65).fill(field(1, 1)).flat(), float32],
    ['not in the folder of the model', shape, float32, outside({ location: '../weights.bin' })],
    ['not in the folder of the model', shape, float32, outside({ location: '/etc/passwd' })],
    ['no name of a file', shape, float32, outside({ location: 'weights\0.bin' })],
    ['no name of a file', shape, float32, outside({ location: '' })],
    ["the length '-16'", shape, float32, outside({ location: 'weights.bin', length: '-16' })],
    ["the offset 'far'", shape, float32, outside({ location: 'weights.bin', offset: 'far' })],
    ['ends inside a weight', shape, float32, outside({ location: 'weights.bin', offset: '8' })],
    ['ends inside a weight', field(1, 2 ** 40), float32, outside({ location: 'weights.bin' })],
  ];
  for (const [text, ...weight] of forged) {
    write('forged.onnx', ...weight);
    const { status, stderr } = dlpack(['inspect', at('forged.onnx'), '--stats']);
    ok(status === 1 && stderr.includes(text) && !/\n\s+at /.test(stderr), `${text}: ${stderr.slice(0, 500)}`);
  }
});

testOnNode('inspect: ONNX models of more elements than any has are refused in a small heap', () => {
  const weight = field(5, []);
  const opset = field(8, []);
  const input = (shape: number[]) => field(11, field(2, field(1, field(2, shape))));
  const entries = Array.from({ length: 1_000_001 }, (_, i) => {
    const key = i.toString(36).padStart(4, '0');
    return Buffer.concat([Buffer.from([106, 6, 10, 4]), Buffer.from(key)]);
  });
  const repeated = (bytes: number[], count = 1_000_001) => Buffer.alloc(bytes.length * count, Uint8Array.from(bytes));
  /** The start of a field with as many bytes. */
  const long = (number: number, size: number) => Buffer.from([number * 8 + 2, ...varint(size)]);
  const [size, half] = [200_000_000, 100_000_000];
  const models: [text: string, ...parts: Buffer[]][] = [
    ['more than 64 axes', long(7, size - 5), long(5, size - 10), long(1, size - 15)], // zeros: a hole of the file
    ['more than 64 axes', Buffer.from(field(7, input(new Array(65).fill([10, 0]).flat())))],
    ['more than 1000000 weights', long(7, 2_000_002), repeated(weight)],
    ['more than 1000000 inputs', long(7, 2_000_002), repeated(field(11, []))],
    ['more than 1000000 outputs', long(7, 2_000_002), repeated(field(12, []))],
    ['more than 1000000 opsets', repeated(opset)],
    ['more than 1000000 entries', long(7, 8_000_013), long(5, 8_000_008), ...entries],
    ['its header has more than 100000000 bytes', long(7, half), repeated(field(1, []), half / 2)],
  ];
  for (const [text, ...parts] of models) {
    writeFileSync(at('large.onnx'), Buffer.concat(parts));
    if (parts.length === 3) truncateSync(at('large.onnx'), size);
    const heap = ['--max-old-space-size=200'];
    const { status, stderr } = dlpack(['inspect', at('large.onnx')], { node: heap });
    equal(
      [status, stderr.includes(text), /\n\s+at /.test(stderr)],
      [1, true, false],
      `${text}: ${stderr.slice(0, 500)}`,
    );
  }
});

/** As large a file as a disk that is not full may hold, with holes, which Windows would fill. */
const withHoles = process.platform === 'win32' ? () => undefined : testOnNode;

withHoles('inspect: files of 100 GB take as much memory as small ones', () => {
  const peak = `data:text/javascript,${encodeURIComponent(
    `import { readFileSync } from 'node:fs';
    process.on('exit', () => process.stderr.write(/VmHWM:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]));`,
  )}`;
  const isLinux = process.platform === 'linux';
  /** What the file holds, and the peak of the memory in MiB. */
  const look = (name: string) => {
    const { status, stdout, stderr } = dlpack(['inspect', at(name)], { node: isLinux ? ['--import', peak] : [] });
    equal(status, 0, stderr);
    return { stdout, peak: Number(stderr) / 1024 };
  };
  const write = (name: string, size: number, head: Uint8Array, tail = new Uint8Array()) => {
    const file = openSync(at(name), 'w');
    writeSync(file, head);
    ftruncateSync(file, head.length + size);
    writeSync(file, tail, 0, tail.length, head.length + size);
    closeSync(file);
  };
  const makers: Record<string, (name: string, length: number) => void> = {
    safetensors(name, length) {
      const w = { dtype: 'F32', shape: [length], data_offsets: [0, 4 * length] };
      write(name, 4 * length, safetensors({ w }, new Uint8Array()));
    },
    gguf(name, length) {
      const head = gguf([], [{ name: 'w', dims: [length], type: 0, offset: 0 }], new Uint8Array());
      write(name, 4 * length, head);
    },
    onnx(name, length) {
      const size = 4 * length;
      const within = (number: number, content: number[], more: number) => [
        ...[number * 8 + 2, ...varint(content.length + more)],
        ...content,
      ];
      const output = field(12, [...field(1, 'y')]);
      const raw = [...field(1, length), ...field(2, 1), ...field(8, 'w'), ...within(9, [], size)];
      const head = within(7, within(5, raw, size), size + output.length);
      write(name, size, Uint8Array.from(head), Uint8Array.from(output));
    },
  };
  for (const [format, make] of Object.entries(makers)) {
    make(`small.${format}`, 4);
    make(`large.${format}`, 25e9);
    const [small, large] = [look(`small.${format}`), look(`large.${format}`)];
    ok(small.stdout.includes('w  float32 [4]') && small.stdout.includes('16 bytes'), small.stdout);
    ok(large.stdout.includes('w  float32 [25000000000]    100 GB'), large.stdout);
    if (format === 'onnx') ok(large.stdout.includes('y  no tensor'), large.stdout);
    if (isLinux) ok(large.peak < small.peak + 30, `${format}: ${small.peak} MiB and ${large.peak} MiB`);
    rmSync(at(`large.${format}`));
  }
});

test('inspect: names with slashes are other names than those with dots', async () => {
  const tensors: Record<string, Tensor> = {};
  for (const name of ['a.b', 'a/b', 'layers/0/w', 'layers/1/w', 'x.']) tensors[name] = Tensor.zeros([1], 'int8');
  await writeSafetensors(at('slashes.safetensors'), tensors);
  const lines = inspect('slashes.safetensors').split('\n').slice(2);
  equal(
    lines.map((line) => line.replace(/ +int8.*/, '')),
    ['├─ a.b', '├─ a/b', '├─ layers/', '│  └─ 0…1 (2 alike)/w', '└─ x.', ''],
  );
});

test('inspect --stats and --image: numbers at the ends of float64', async () => {
  const [small, large] = [Number.MIN_VALUE, Number.MAX_VALUE];
  await writeNpz(at('ends.npz'), {
    small: Tensor.from([[0, small, 2 * small]]),
    large: Tensor.from([[-large, 0, large]]),
    infinite: Tensor.from([[Number.NEGATIVE_INFINITY, 0, 1, Number.POSITIVE_INFINITY, Number.NaN]]),
  });
  const { tensors } = JSON.parse(inspect('ends.npz', '--stats', '--json')) as {
    tensors: { name: string; stats: { histogram: number[] } }[];
  };
  for (const { name, stats } of tensors) {
    if (name === 'infinite') continue;
    const { histogram } = stats;
    equal([histogram[0], histogram[12], histogram[23]], [1, 1, 1], name);
  }
  const row = (name: string): number[] => {
    inspect('ends.npz', '--image', name, '--out', at('ends.png'));
    const png = readFileSync(at('ends.png'));
    return [...inflateSync(png.subarray(png.indexOf('IDAT') + 4))].slice(1);
  };
  equal(
    [row('small'), row('large')],
    [
      [0, 128, 255],
      [0, 128, 255],
    ],
  );
  equal(row('infinite'), [0, 0, 255, 255, 0]);
});

test('inspect: the functions of a kernel library, which it does not load', async () => {
  const fake = Buffer.concat([Buffer.from('\x7fELF'), Buffer.from('\0__tvm_ffi_add_one\0__tvm_ffi_nop\0')]);
  writeFileSync(at('kernels.so'), fake);
  equal(inspect('kernels.so'), 'kernels.so: kernel library, 2 functions\n\n  add_one\n  nop\n');
});

test('inspect: the functions of a library of gigabytes, in one part of it and across two', () => {
  const name = `f${'o'.repeat(60_000)}`;
  const file = openSync(at('large.so'), 'w');
  const write = (text: string, offset: number) => writeSync(file, text, offset, 'latin1');
  write('\x7fELF\0__tvm_ffi_first\0__tvm_ffi_main\0__tvm_ffi_1\0', 0);
  for (let cut = 1; cut < 16; cut++) write(`\0__tvm_ffi_cut${cut}\0`, (cut << 20) - cut);
  write(`\0__tvm_ffi_${name}\0`, (20 << 20) - 50_000);
  write('\0__tvm_ffi_last\0', 2 ** 32);
  write('\0__tvm_ffi_endless', 2 ** 32 + 100);
  closeSync(file);
  const { functions } = JSON.parse(inspect('large.so', '--json')) as { functions: string[] };
  const cuts = Array.from({ length: 15 }, (_, i) => `cut${i + 1}`);
  equal(functions, [...cuts, 'first', name, 'last'].sort());
  rmSync(at('large.so'));
});

test('inspect: a library of more functions than any has is refused', () => {
  const many = Array.from({ length: 1_000_001 }, (_, i) => `\0__tvm_ffi_f${i}`);
  const long = Array.from({ length: 4000 }, (_, i) => `\0__tvm_ffi_f${i}${'o'.repeat(30_000)}`);
  for (const [names, text] of [
    [many, 'more than 1000000 functions'],
    [long, 'the names of functions have more than 100000000 bytes'],
  ] as const) {
    writeFileSync(at('many.so'), `\x7fELF${names.join('')}\0`, 'latin1');
    const { status, stderr } = dlpack(['inspect', at('many.so')]);
    equal([status, stderr.includes(text)], [1, true], stderr);
  }
});

test('inspect: other files, names that a terminal would obey, and wrong usage', async () => {
  writeFileSync(at('model.pt'), '\x80\x02pickle', 'latin1');
  const { status, stderr } = dlpack(['inspect', at('model.pt')]);
  equal(status, 1);
  ok(stderr.includes('a Python pickle') && stderr.includes('safetensors'), stderr);
  equal(dlpack(['inspect', at('absent')]).status, 1);
  await writeSafetensors(at('names.safetensors'), {
    'a\u001b[31m': Tensor.zeros([1], 'float32'),
    [`${'x.'.repeat(5000)}y`]: Tensor.zeros([1], 'float32'),
  });
  ok(inspect('names.safetensors').includes('a\\u001b[31m'));
  const axis = field(1, field(2, 'batch\u001b[31m\u202e'));
  const input = [...field(1, 'x'), ...field(2, field(1, [...field(1, 1), ...field(2, axis)]))];
  writeFileSync(at('axis.onnx'), Uint8Array.from(field(7, field(11, input))));
  ok(inspect('axis.onnx').includes('x  float32 [batch\\u001b[31m\\u202e]'), 'the name of an axis');
  const header = `{"a\\u001b[31m":{"dtype":"red","shape":[1],"data_offsets":[0,4]}}`;
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  writeFileSync(at('error.safetensors'), Buffer.concat([length, Buffer.from(header), Buffer.alloc(4)]));
  const refused = dlpack(['inspect', at('error.safetensors')]).stderr;
  ok(refused.includes('a\\u001b[31m') && !refused.includes('\u001b'), refused);
  for (const args of [['inspect'], ['inspect', 'a', 'b'], ['inspect', 'a', '--out', 'b']]) {
    equal(dlpack(args).status, 2, args.join(' '));
  }
  equal(dlpack(['inspect', join(root, 'package.json')]).status, 1);
});
