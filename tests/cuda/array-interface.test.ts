/** The CUDA Array Interface with JavaScript objects, on the fake driver. */

import { type DLPackErrorTag, type DType, dtypes, fromDLPack, isDLPackError, Tensor, type TensorView } from 'dlpack';
import {
  asCudaArray,
  asMaskedCudaArray,
  type CudaArrayInterface,
  fromCudaArrayInterface,
  loadDriver,
  type PointerAttributes,
  pointerAttributes,
  Stream,
  synchronize,
  toCudaArrayInterface,
} from 'dlpack/cuda';
import { liveCounts } from 'dlpack/debug';
import { addressOf } from 'dlpack/native';
import { equal, ok, throws } from '../assert.js';
import { collect, collectUntil, testWith } from '../harness.js';
import { fake, fakeDriverPath, fakeMissing } from './fake.js';

if (fakeMissing === false) {
  fake.setDevices(2);
  loadDriver({ path: fakeDriverPath });
}

type Entries = { -readonly [K in keyof CudaArrayInterface]?: unknown } & Record<string, unknown>;

/** A test that leaves no race, no violation and nothing queued. */
function cudaTest(name: string, body: () => void | Promise<void>): void {
  testWith(fakeMissing, name, async () => {
    fake.reset();
    await body();
    equal(fake.errors(), []);
  });
}

const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i);
/** 24 floats on the device, and where they are. */
function floats(): { x: Tensor; address: bigint } {
  const x = Tensor.from(new Float32Array(range(24))).to('cuda:0');
  synchronize();
  return { x, address: addressOf(x) };
}

const good = (address: bigint): Entries => ({ shape: [4, 6], typestr: '<f4', data: [address, false], version: 3 });
/** The elements; releases the tensor. */
function values(t: Tensor): unknown {
  const host = t.to('cpu');
  const array = host.toArray();
  host.dispose();
  return array;
}

cudaTest('the same memory: one address, and writes after the import are seen', async () => {
  const { x, address } = floats();
  const before = liveCounts().imports;
  const y = asCudaArray({ __cuda_array_interface__: good(address) });
  equal([y.shape, y.strides, y.dtype, y.device, y.isReadOnly], [[4, 6], [6, 1], 'float32', 'cuda:0', false]);
  equal([addressOf(y), y.isCopied, liveCounts().imports], [address, false, before + 1]);
  equal((values(y) as number[][])[1], [6, 7, 8, 9, 10, 11]);
  x.fill(3);
  equal((values(y) as number[][])[0], [3, 3, 3, 3, 3, 3]);
  y.fill(5);
  equal((values(x) as number[])[23], 5);
  y.dispose();
  // After its work has finished; no thread waits for it.
  fake.runAll();
  ok(await collectUntil(() => liveCounts().imports <= before));
});

cudaTest('the result of toCudaArrayInterface makes a round trip', () => {
  const { x } = floats();
  const t = x.reshape([2, 3, 4]).transpose();
  const entries = toCudaArrayInterface(t);
  equal(Object.keys(entries).sort(), ['data', 'descr', 'mask', 'shape', 'stream', 'strides', 'typestr', 'version']);
  equal(
    [entries.shape, entries.strides],
    [
      [4, 3, 2],
      [4, 16, 48],
    ],
  );
  equal([entries.typestr, entries.version, entries.stream], ['<f4', 3, 1n]);
  const y = fromCudaArrayInterface(entries, t);
  equal([y.shape, y.strides, addressOf(y)], [t.shape, t.strides, addressOf(t)]);
  equal(values(y), values(t));
  equal(toCudaArrayInterface(x).strides, null);
  equal([entries.descr, entries.mask], [[['', '<f4']], null]);
  equal(Object.keys(toCudaArrayInterface(x, { version: 0 })).sort(), [
    'data',
    'descr',
    'shape',
    'strides',
    'typestr',
    'version',
  ]);
});

/** The property for libraries, which the declarations omit. */
const interfaceOf = (tensor: TensorView) => (tensor as { __cuda_array_interface__?: object }).__cuda_array_interface__;

cudaTest('our tensors have the interface as a property only on CUDA devices', () => {
  const { x } = floats();
  for (const tensor of [x, x.view(), Tensor.zeros([3], 'float32', { device: 'cuda_managed' })]) {
    equal(interfaceOf(tensor), toCudaArrayInterface(tensor));
  }
  const y = asCudaArray(x);
  equal([addressOf(y), y.shape, y.device], [addressOf(x), x.shape, 'cuda:0']);
  for (const device of ['cpu', 'cuda_host'] as const) {
    const host = Tensor.zeros([3], 'float32', { device });
    equal(interfaceOf(host), undefined);
    throws('TypeError', `a tensor on '${device}' does not have; copy it with to('cuda:0')`, () => asCudaArray(host));
  }
  x.dispose();
  throws('DisposedError', 'released', () => interfaceOf(x));
  throws('TypeError', 'asCudaArray of dlpack/cuda', () => fromDLPack({ __cuda_array_interface__: {} } as never));
});

cudaTest('a mask is exported as a tensor with its own interface', () => {
  const x = floats().x.reshape([4, 6]);
  const valid = Tensor.from([true, false, true, true, false, true]).to('cuda:0');
  const entries = toCudaArrayInterface(x, { mask: valid });
  equal(entries.mask, valid);
  throws('BufferError', 'asMaskedCudaArray', () => fromCudaArrayInterface(entries, x));
  const { data, mask } = asMaskedCudaArray({ __cuda_array_interface__: entries });
  equal([addressOf(data), addressOf(mask as Tensor)], [addressOf(x), addressOf(valid)]);
  throws('ValueError', 'version 1 or later for a mask', () => toCudaArrayInterface(x, { mask: valid, version: 0 }));
  throws('TypeError', 'a Tensor', () => toCudaArrayInterface(x, { mask: {} as never }));
  throws('UnsupportedDeviceError', "to('cuda:0')", () => toCudaArrayInterface(x, { mask: Tensor.from([true]) }));
  throws('LayoutError', '', () => toCudaArrayInterface(x, { mask: valid.slice([0, 5]) }));
});

cudaTest('descriptions that agree with the type string', () => {
  const { address } = floats();
  for (const descr of [[['', '<f4']], [['', '=f4']]]) {
    equal(asCudaArray({ __cuda_array_interface__: { ...good(address), descr } }).dtype, 'float32');
  }
  const records = { ...good(address), shape: [8], typestr: '|V12' };
  for (const descr of [
    [['', '|V12']],
    [
      ['a', '<f4'],
      ['b', '<f4', [2]],
    ],
    [
      [['title', 'a'], [['x', '<f8']]],
      ['', '|V4'],
    ],
  ]) {
    const bytes = asCudaArray({ __cuda_array_interface__: { ...records, descr } }, { dtype: 'uint8' });
    equal(bytes.shape, [8, 12]);
  }
});

for (const version of [0, 1, 2, 3, 4, 7n]) {
  cudaTest(`version ${version}: strides absent, null and given are the same array`, () => {
    const { address } = floats();
    for (const strides of [undefined, null, [24, 4], [24n, 4n]]) {
      const y = asCudaArray({ __cuda_array_interface__: { ...good(address), version, strides } });
      equal(
        [y.shape, y.strides],
        [
          [4, 6],
          [6, 1],
        ],
      );
      equal((values(y) as number[][])[3]?.[5], 23);
    }
    const every = asCudaArray({
      __cuda_array_interface__: { ...good(address), version, shape: [2, 3], strides: [48, 8] },
    });
    equal(values(every), [
      [0, 2, 4],
      [12, 14, 16],
    ]);
  });

  cudaTest(`version ${version}: no elements, whatever the pointer`, () => {
    const { address } = floats();
    for (const pointer of [0, 0n, address, 12345]) {
      for (const strides of [undefined, null, [24, 4], [0, 0]]) {
        const y = asCudaArray({
          __cuda_array_interface__: { ...good(address), version, shape: [0, 6], data: [pointer, false], strides },
        });
        equal([y.shape, y.size, y.device, y.strides], [[0, 6], 0, 'cuda:0', [6, 1]]);
        equal(toCudaArrayInterface(y).data, [0n, false]);
        equal(toCudaArrayInterface(y).strides, null);
      }
    }
  });

  cudaTest(`version ${version}: the stream is ${version < 3 ? 'not known yet' : 'waited for'}`, () => {
    const { address } = floats();
    const producer = new Stream();
    fake.reset();
    asCudaArray({ __cuda_array_interface__: { ...good(address), version, stream: producer.handle } });
    equal(fake.calls('cuStreamWaitEvent'), version < 3 ? 0 : 1);
    const zero = () => asCudaArray({ __cuda_array_interface__: { ...good(address), version, stream: 0 } });
    if (version < 3) zero();
    else throws('ValueError', '0 is ambiguous', zero);
  });

  cudaTest(`version ${version}: a mask is refused, and available on request`, () => {
    const { address } = floats();
    const valid = Tensor.from([true, false, true, true, false, true]).to('cuda:0');
    const masked = {
      __cuda_array_interface__: {
        ...good(address),
        version,
        mask: { __cuda_array_interface__: toCudaArrayInterface(valid) },
      },
    };
    throws('BufferError', 'asMaskedCudaArray', () => asCudaArray(masked));
    const { data, mask } = asMaskedCudaArray(masked);
    equal([data.shape, addressOf(data)], [[4, 6], address]);
    equal(values(mask as Tensor), [true, false, true, true, false, true]);
    equal(asMaskedCudaArray({ __cuda_array_interface__: { ...good(address), mask: null } }).mask, null);
  });
}

cudaTest('malformed masks throw', () => {
  const { address } = floats();
  const withMask = (mask: unknown) => ({ __cuda_array_interface__: { ...good(address), mask } });
  const five = Tensor.from([1, 1, 1, 1, 1], { dtype: 'bool' }).to('cuda:0');
  const before = liveCounts().imports;
  throws('LayoutError', 'broadcasts', () =>
    asMaskedCudaArray(withMask({ __cuda_array_interface__: toCudaArrayInterface(five) })),
  );
  throws('TypeError', '__cuda_array_interface__', () => asMaskedCudaArray(withMask({})));
  throws('TypeError', '__cuda_array_interface__', () => asMaskedCudaArray(withMask(7)));
  equal(liveCounts().imports, before);
});

const bits = (address: bigint): Entries => ({ shape: [11], typestr: '|t1', data: [address, false], version: 3 });

cudaTest('bit fields, as in cuDF masks', () => {
  const x = Tensor.from([0b10110101, 0b101], { dtype: 'uint8' }).to('cuda:0');
  const y = asCudaArray({ __cuda_array_interface__: bits(addressOf(x)) });
  equal([y.dtype, y.shape], ['uint1', [11]]);
  equal(values(y), [1, 0, 1, 0, 1, 1, 0, 1, 1, 0, 1]);
  equal(toCudaArrayInterface(y).typestr, '|t1');
  throws('LayoutError', 'multiples', () =>
    asCudaArray({ __cuda_array_interface__: { ...bits(addressOf(x)), strides: [1] } }),
  );
});

/** The end of the allocation around an address, which may be larger than requested. */
function endOf(address: bigint): bigint {
  const { rangeStart, rangeSize } = pointerAttributes(address) as PointerAttributes;
  return rangeStart + BigInt(rangeSize);
}

/** Each malformed entry: what is wrong, the tag of the error, a part of its message. */
const malformed: readonly (readonly [string, Entries | ((address: bigint) => Entries), DLPackErrorTag, string])[] = [
  ['no shape', { shape: undefined }, 'TypeError', 'for shape'],
  ['shape null', { shape: null }, 'TypeError', 'for shape'],
  ['shape a number', { shape: 24 }, 'TypeError', 'for shape'],
  ['shape a string', { shape: '46' }, 'TypeError', 'for shape'],
  ['shape a typed array', { shape: new Int32Array([4, 6]) }, 'TypeError', 'for shape'],
  ['shape with a string', { shape: [4, '6'] }, 'TypeError', 'shape[1]'],
  ['shape with null', { shape: [4, null] }, 'TypeError', 'shape[1]'],
  ['shape with a fraction', { shape: [4, 1.5] }, 'ValueError', 'shape[1]'],
  ['shape with NaN', { shape: [Number.NaN] }, 'ValueError', 'shape[0]'],
  ['shape negative', { shape: [4, -6] }, 'ValueError', 'zero or more'],
  ['shape too large', { shape: [2 ** 30, 2 ** 30] }, 'LayoutError', '2^53'],
  ['shape of a huge bigint', { shape: [2n ** 70n] }, 'ValueError', 'shape[0]'],
  ['65 axes', { shape: Array(65).fill(1) }, 'LayoutError', '64 axes'],
  ['shape beyond the allocation', { shape: [500, 600] }, 'LayoutError', 'inside the allocation'],
  ['no typestr', { typestr: undefined }, 'TypeError', 'for typestr'],
  ['typestr null', { typestr: null }, 'TypeError', 'for typestr'],
  ['typestr a number', { typestr: 4 }, 'TypeError', 'for typestr'],
  ['typestr without a byte order', { typestr: 'f4' }, 'ValueError', 'byte order'],
  ['typestr of an unknown kind', { typestr: '<x4' }, 'ValueError', 'kind'],
  ['typestr without a size', { typestr: '<f' }, 'ValueError', 'size'],
  ['typestr with more behind', { typestr: '<f4,' }, 'ValueError', 'size'],
  ['typestr with a unit for numbers', { typestr: '<f4[ns]' }, 'ValueError', 'typestr'],
  ['typestr empty', { typestr: '' }, 'ValueError', 'typestr'],
  ['typestr of no bytes', { typestr: '|V0' }, 'UnsupportedDTypeError', 'of none'],
  ['big-endian', { typestr: '>f4' }, 'UnsupportedDTypeError', 'little-endian'],
  ['big-endian raw bytes', { typestr: '>V4' }, 'UnsupportedDTypeError', 'little-endian'],
  ['a float of three bytes', { typestr: '<f3' }, 'UnsupportedDTypeError', 'dtype'],
  ['a complex number of 32 bytes', { typestr: '<c32' }, 'UnsupportedDTypeError', 'dtype'],
  ['Python objects', { typestr: '|O8' }, 'UnsupportedDTypeError', 'Python objects'],
  ['byte strings', { typestr: '|S4' }, 'UnsupportedDTypeError', 'byte strings'],
  ['text', { typestr: '<U1' }, 'UnsupportedDTypeError', 'text'],
  ['dates', { typestr: '<M8[ns]' }, 'UnsupportedDTypeError', 'dates'],
  ['spans of time', { typestr: '<m8[25s]' }, 'UnsupportedDTypeError', 'spans of time'],
  [
    'records',
    {
      typestr: '|V12',
      descr: [
        ['a', '<f4'],
        ['b', '<f8'],
      ],
    },
    'UnsupportedDTypeError',
    'records',
  ],
  ['no data', { data: undefined }, 'TypeError', 'for data'],
  ['data null', { data: null }, 'TypeError', 'for data'],
  ['data a bare pointer', { data: 4096n }, 'TypeError', 'for data'],
  ['data without the flag', { data: [4096n] }, 'ValueError', 'for data'],
  ['data of three', { data: [4096n, false, 0] }, 'ValueError', 'for data'],
  ['a pointer of null', { data: [null, false] }, 'TypeError', 'data[0]'],
  ['a pointer in text', { data: ['4096', false] }, 'TypeError', 'data[0]'],
  ['a negative pointer', { data: [-4096n, false] }, 'ValueError', 'data[0]'],
  ['a pointer above 64 bits', { data: [2n ** 64n, false] }, 'ValueError', 'data[0]'],
  ['a pointer that a number cannot hold', { data: [2 ** 60, false] }, 'ValueError', 'data[0]'],
  ['NULL for elements', { data: [0n, false] }, 'LayoutError', 'data is NULL'],
  ['an address in the first page', { data: [64n, false] }, 'LayoutError', 'data is address 64'],
  ['memory of nobody', { data: [0x7000_0000n, false] }, 'BufferError', 'does not know'],
  ['a flag that is a number', (p) => ({ data: [p, 0] }), 'TypeError', 'data[1]'],
  ['a flag of null', (p) => ({ data: [p, null] }), 'TypeError', 'data[1]'],
  ['a misaligned pointer', (p) => ({ data: [p + 2n, false], shape: [2] }), 'BufferError', 'aligned to 4'],
  [
    'a pointer near the end',
    (p) => ({ data: [endOf(p) - 4n, false], shape: [2] }),
    'LayoutError',
    'inside the allocation',
  ],
  ['no version', { version: undefined }, 'TypeError', 'for version'],
  ['version null', { version: null }, 'TypeError', 'for version'],
  ['version in text', { version: '3' }, 'TypeError', 'for version'],
  ['version negative', { version: -1 }, 'ValueError', 'for version'],
  ['version a fraction', { version: 2.5 }, 'ValueError', 'for version'],
  ['strides a number', { strides: 4 }, 'TypeError', 'for strides'],
  ['strides too few', { strides: [4] }, 'LayoutError', '2 strides'],
  ['strides too many', { strides: [96, 24, 4] }, 'LayoutError', '2 strides'],
  ['strides for no axes', { shape: [], strides: [4] }, 'LayoutError', '0 strides'],
  ['strides with text', { strides: ['24', 4] }, 'TypeError', 'strides[0]'],
  ['strides between elements', { strides: [26, 4] }, 'LayoutError', 'multiples of 4'],
  ['strides beyond the allocation', { strides: [2800000, 4] }, 'LayoutError', 'inside the allocation'],
  ['strides before the allocation', { strides: [-24, 4] }, 'LayoutError', 'inside the allocation'],
  ['strides that overflow', { strides: [2 ** 53 - 8, 4] }, 'LayoutError', ''],
  ['descr of another type', { descr: [['', '<i4']] }, 'ValueError', "a description of '<f4'"],
  ['descr of another size', { descr: [['', '<f8']] }, 'ValueError', "a description of '<f4'"],
  ['descr of another byte order', { descr: [['', '>f4']] }, 'ValueError', "a description of '<f4'"],
  ['descr of a record', { descr: [['a', '<f4']] }, 'ValueError', "a description of '<f4'"],
  ['descr without fields', { descr: [] }, 'ValueError', "a description of '<f4'"],
  ['descr of no fields', { typestr: '|V8', descr: [5, '<f4'] }, 'ValueError', 'fields of a name, a type'],
  ['descr of too few bytes', { typestr: '|V12', descr: [['a', '<f4']] }, 'ValueError', "a description of '|V12'"],
  ['descr of too many bytes', { typestr: '|V8', descr: [['a', '<f4', [3]]] }, 'ValueError', "a description of '|V8'"],
  ['descr a string', { descr: 'a' }, 'TypeError', 'for descr'],
  ['descr an object', { descr: {} }, 'TypeError', 'for descr'],
  ['stream 0', { stream: 0 }, 'ValueError', 'ambiguous'],
  ['stream 0n', { stream: 0n }, 'ValueError', 'ambiguous'],
  ['stream negative', { stream: -1 }, 'ValueError', 'for stream'],
  ['stream in text', { stream: '1' }, 'TypeError', 'for stream'],
  ['stream an object', { stream: {} }, 'TypeError', 'for stream'],
  ['stream a fraction', { stream: 1.5 }, 'ValueError', 'for stream'],
  ['stream above 64 bits', { stream: 2n ** 64n }, 'ValueError', 'for stream'],
];

for (const [name, change, tag, text] of malformed) {
  cudaTest(`malformed: ${name}`, () => {
    const { address } = floats();
    const before = liveCounts().imports;
    const entries = { ...good(address), ...(typeof change === 'function' ? change(address) : change) };
    throws(tag, text, () => asCudaArray({ __cuda_array_interface__: entries }));
    throws(tag, text, () => fromCudaArrayInterface(entries));
    equal(liveCounts().imports, before);
  });
}

cudaTest('a missing or malformed interface throws', () => {
  for (const value of [null, undefined, 7, 'x', {}, [], () => 0]) {
    throws('TypeError', '__cuda_array_interface__', () => asCudaArray(value as object));
  }
  for (const value of [null, 7, 'x', () => 0]) {
    throws('TypeError', '__cuda_array_interface__', () => asCudaArray({ __cuda_array_interface__: value }));
    throws('TypeError', '__cuda_array_interface__', () => fromCudaArrayInterface(value as object));
  }
  const { x, address } = floats();
  throws('TypeError', 'for sync', () => asCudaArray({ __cuda_array_interface__: good(address) }, { sync: 1 as never }));
  throws('ValueError', 'device', () => asCudaArray({ __cuda_array_interface__: good(address) }, { device: 'cpu' }));
  throws('TypeError', 'for tensor', () => toCudaArrayInterface({} as Tensor));
  throws('ValueError', 'version', () => toCudaArrayInterface(x, { version: 4 as never }));
  throws('TypeError', 'for sync', () => toCudaArrayInterface(x, { sync: null as never }));
  throws('UnsupportedDeviceError', "to('cuda:0')", () => toCudaArrayInterface(Tensor.from([1])));
});

cudaTest('getters run once, and an error that they throw passes through and leaves nothing behind', () => {
  const { address } = floats();
  const before = liveCounts().imports;
  const counts: Record<string, number> = {};
  const entries = {};
  for (const [key, value] of Object.entries({ ...good(address), strides: null, descr: null, mask: null, stream: 1 })) {
    Object.defineProperty(entries, key, {
      get: () => {
        counts[key] = (counts[key] ?? 0) + 1;
        return value;
      },
    });
  }
  let reads = 0;
  const object = {
    get __cuda_array_interface__() {
      reads++;
      return entries;
    },
  };
  const y = asCudaArray(object);
  equal([reads, Object.values(counts)], [1, Array(8).fill(1)]);
  y.dispose();
  const boom = new Error('boom');
  const hostile = (key: string): object =>
    Object.defineProperty({ ...good(address) }, key, {
      get() {
        throw boom;
      },
    });
  for (const key of ['shape', 'typestr', 'data', 'version', 'strides', 'descr', 'mask', 'stream']) {
    let caught: unknown;
    try {
      asCudaArray({ __cuda_array_interface__: hostile(key) });
    } catch (error) {
      caught = error;
    }
    equal(caught === boom, true, key);
  }
  const lying = new Proxy([4, 6], { get: (target, key) => (key === 'length' ? Number.NaN : Reflect.get(target, key)) });
  throws('LayoutError', '64 axes', () => asCudaArray({ __cuda_array_interface__: { ...good(address), shape: lying } }));
  equal(liveCounts().imports, before);
});

cudaTest('read-only stays read-only, both ways', () => {
  const { address } = floats();
  const y = asCudaArray({ __cuda_array_interface__: { ...good(address), data: [address, true] } });
  equal([y.isReadOnly, toCudaArrayInterface(y).data], [true, [address, true]]);
  throws('ReadOnlyError', '', () => y.fill(1));
  equal(y.slice([0, 2]).isReadOnly, true);
});

cudaTest('negative and zero strides, and axes of one element', () => {
  const { x, address } = floats();
  const flipped = x.flip();
  const entries = toCudaArrayInterface(flipped);
  equal([entries.strides, entries.data[0]], [[-4], address + 92n]);
  const y = fromCudaArrayInterface(entries);
  equal([y.strides, (values(y) as number[])[0]], [[-1], 23]);
  const same = asCudaArray({ __cuda_array_interface__: { ...good(address), strides: [0, 4] } });
  equal((values(same) as number[][])[3], [0, 1, 2, 3, 4, 5]);
  const one = asCudaArray({ __cuda_array_interface__: { ...good(address), shape: [1, 24], strides: [3, 4] } });
  equal(
    [one.shape, one.strides],
    [
      [1, 24],
      [24, 1],
    ],
  );
  const scalar = asCudaArray({
    __cuda_array_interface__: { ...good(address), shape: [], data: [address + 8n, false] },
  });
  equal(values(scalar), 2);
});

cudaTest('asCudaArray keeps the owner, and fromCudaArrayInterface does with the option', async () => {
  const { address } = floats();
  const gone: string[] = [];
  const registry = new FinalizationRegistry<string>((name) => gone.push(name));
  const make = (name: string): { object: object; entries: object } => {
    const entries = good(address);
    const object = { __cuda_array_interface__: entries };
    registry.register(object, name);
    return { object, entries };
  };
  const kept = asCudaArray(make('kept').object);
  const told = (() => {
    const { object, entries } = make('told');
    return fromCudaArrayInterface(entries, object);
  })();
  const loose = fromCudaArrayInterface(make('loose').entries);
  ok(await collectUntil(() => gone.includes('loose')));
  equal(gone, ['loose']);
  equal([kept.size, told.size, loose.size], [24, 24, 24]);
  kept.dispose();
  told.dispose();
  ok(await collectUntil(() => gone.length === 3), String(gone));
  loose.dispose();
});

cudaTest('the true device, pinned and managed memory', () => {
  const second = Tensor.from([1, 2, 3], { dtype: 'int16' }).to('cuda:1');
  const y = fromCudaArrayInterface(toCudaArrayInterface(second), second);
  equal([y.device, values(y)], ['cuda:1', [1, 2, 3]]);
  const managed = Tensor.empty([4], 'int32', { device: 'cuda_managed' });
  managed.fill(7);
  const m = fromCudaArrayInterface(toCudaArrayInterface(managed), managed);
  equal([m.device, m.toArray()], ['cuda_managed', [7, 7, 7, 7]]);
  const pinned = Tensor.empty([4], 'int32', { device: 'cuda_host' });
  pinned.fill(9);
  const p = fromCudaArrayInterface({ shape: [4], typestr: '<i4', data: [addressOf(pinned), false], version: 3 });
  equal([p.device, p.toArray()], ['cuda_host', [9, 9, 9, 9]]);
  const empty = { shape: [0], typestr: '<i4', data: [0, false], version: 3 };
  equal(fromCudaArrayInterface(empty, null, { device: 'cuda:1' }).device, 'cuda:1');
  fake.configure({ unknownPointersFail: true });
  throws('BufferError', 'does not know', () =>
    fromCudaArrayInterface({ shape: [1], typestr: '<i4', data: [0x7000_0000n, false], version: 3 }),
  );
  fake.configure({});
  // A driver that wants a context gets one.
  fake.failNext('cuPointerGetAttributes', 201);
  equal(fromCudaArrayInterface(toCudaArrayInterface(second)).device, second.device);
  fake.failNext('cuPointerGetAttributes', 702);
  let code: unknown;
  try {
    fromCudaArrayInterface(toCudaArrayInterface(second));
  } catch (error) {
    code = isDLPackError(error) && (error as { code?: unknown }).code;
  }
  equal(code, 702);
});

cudaTest('the consumer waits for a delayed producer', () => {
  const { x, address } = floats();
  const [producer, consumer] = [new Stream(), new Stream()];
  const late = Tensor.from(new Float32Array(24).fill(8)).to('cuda:0');
  for (const current of [Stream.default(), Stream.perThread(), consumer]) {
    x.fill(0);
    synchronize();
    fake.delay(producer.handle);
    producer.use(() => x.copyFrom(late));
    const entries = { ...good(address), stream: producer.handle };
    const copy = current.use(() => asCudaArray({ __cuda_array_interface__: entries }).copy());
    fake.release(producer.handle);
    equal((values(copy) as number[][])[0], [8, 8, 8, 8, 8, 8]);
    equal(fake.errors(), []);
  }
  // Taken on one stream, used on another: the other waits, too.
  x.fill(0);
  synchronize();
  fake.delay(producer.handle);
  producer.use(() => x.copyFrom(late));
  const y = asCudaArray({ __cuda_array_interface__: { ...good(address), stream: producer.handle } });
  const copy = consumer.use(() => y.copy());
  fake.release(producer.handle);
  equal((values(copy) as number[][])[3], [8, 8, 8, 8, 8, 8]);
});

cudaTest('sync: false, stream null and a producer on our own stream do not wait', () => {
  const { address } = floats();
  const producer = new Stream();
  const take = (stream: bigint | null | undefined, options?: { sync?: boolean }) =>
    asCudaArray({ __cuda_array_interface__: { ...good(address), stream } }, options).dispose();
  const { events } = fake.live();
  fake.reset();
  take(producer.handle, { sync: false });
  take(null);
  take(undefined);
  take(1n);
  producer.use(() => take(producer.handle));
  equal(fake.calls('cuStreamWaitEvent'), 0);
  take(producer.handle, { sync: true });
  take(2n);
  equal(fake.calls('cuStreamWaitEvent'), 2);
  equal(fake.live().events, events);
});

cudaTest('a producer whose stream is captured into a graph is not disturbed', () => {
  const { address } = floats();
  const producer = new Stream();
  fake.beginCapture(producer.handle, 2);
  asCudaArray({ __cuda_array_interface__: { ...good(address), stream: producer.handle } });
  equal(fake.endCapture(producer.handle), { code: 0, operations: [] });
});

cudaTest('a wait that the driver refuses leaves nothing behind', () => {
  const { address } = floats();
  const producer = new Stream();
  const before = liveCounts().imports;
  const { events } = fake.live();
  for (const symbol of ['cuEventCreate', 'cuEventRecord', 'cuStreamWaitEvent']) {
    fake.failNext(symbol, 2);
    let tag = '';
    try {
      asCudaArray({ __cuda_array_interface__: { ...good(address), stream: producer.handle } });
    } catch (error) {
      tag = (error as { tag: string }).tag;
    }
    equal([symbol, tag, liveCounts().imports, fake.live().events], [symbol, 'CudaError', before, events]);
  }
});

cudaTest('the memory is released only after our work on it has finished', async () => {
  const { x, address } = floats();
  const gone: string[] = [];
  const registry = new FinalizationRegistry<string>((name) => gone.push(name));
  const work = new Stream();
  (() => {
    const object = { __cuda_array_interface__: good(address) };
    registry.register(object, 'owner');
    const y = asCudaArray(object);
    fake.delay(work.handle);
    work.use(() => y.copy()).dispose();
    y.dispose();
  })();
  for (let i = 0; i < 5; i++) await collect();
  equal(gone, []);
  fake.release(work.handle);
  fake.runAll();
  ok(await collectUntil(() => gone.length === 1));
  x.dispose();
});

cudaTest('the export names the current stream, which waits for all others', () => {
  const { x } = floats();
  const [a, b] = [new Stream(), new Stream()];
  const source = Tensor.from(new Float32Array(24).fill(4)).to('cuda:0');
  synchronize();
  fake.delay(a.handle);
  a.use(() => x.copyFrom(source));
  const entries = b.use(() => toCudaArrayInterface(x));
  equal(entries.stream, b.handle);
  fake.reset();
  // As a library does: it queues work on the stream that it got.
  const copy = b.use(() => x.copy());
  equal((values(copy) as number[])[0], 4);
  fake.delay(a.handle);
  a.use(() => x.copyFrom(source));
  equal('stream' in toCudaArrayInterface(x, { version: 2, sync: false }), false);
  equal(toCudaArrayInterface(x, { sync: false }).stream, null);
  fake.release(a.handle);
  for (const version of [0, 1, 2] as const) {
    a.use(() => x.fill(version));
    const old = toCudaArrayInterface(x, { version });
    equal([old.version, 'stream' in old], [version, false]);
    equal(new Float32Array(fake.peek(addressOf(x), 4).slice().buffer)[0], version);
  }
});

/** Every dtype with its type string, or null. */
const expected: Partial<Record<DType, string>> = {
  bool: '|b1',
  int8: '|i1',
  int16: '<i2',
  int32: '<i4',
  int64: '<i8',
  int128: '<i16',
  uint1: '|t1',
  uint2: '|t2',
  uint4: '|t4',
  uint8: '|u1',
  uint16: '<u2',
  uint32: '<u4',
  uint64: '<u8',
  uint128: '<u16',
  float16: '<f2',
  float32: '<f4',
  float64: '<f8',
  float128: '<f16',
  bfloat16: '<V2',
  bcomplex32: '<V4',
  complex32: '<c4',
  complex64: '<c8',
  complex128: '<c16',
  float8_e3m4: '|V1',
  float8_e4m3: '|V1',
  float8_e4m3b11fnuz: '|V1',
  float8_e4m3fn: '|V1',
  float8_e4m3fnuz: '|V1',
  float8_e5m2: '|V1',
  float8_e5m2fnuz: '|V1',
  float8_e8m0fnu: '|V1',
  handle: '<V8',
};

cudaTest('every dtype there and back', () => {
  for (const dtype of [...dtypes, 'float32x4', 'uint8x3'] as DType[]) {
    const x = Tensor.zeros([8], dtype, { device: 'cuda:0' });
    const typestr = dtype === 'float32x4' ? '<V16' : dtype === 'uint8x3' ? '<V3' : expected[dtype];
    if (typestr === undefined) {
      throws('UnsupportedDTypeError', 'whole bytes', () => toCudaArrayInterface(x));
      continue;
    }
    const entries = toCudaArrayInterface(x);
    equal([dtype, entries.typestr], [dtype, typestr]);
    if (typestr.includes('V')) {
      throws('UnsupportedDTypeError', 'pass { dtype }', () => fromCudaArrayInterface(entries, x));
      equal(fromCudaArrayInterface(entries, x, { dtype }).dtype, dtype);
    } else {
      equal(fromCudaArrayInterface(entries, x).dtype, dtype);
    }
    const padded = Tensor.zeros([2], 'int4', { device: 'cuda:0', padded: true });
    equal(toCudaArrayInterface(padded).typestr, '|V1');
  }
});

cudaTest('other byte orders that mean the same', () => {
  const { address } = floats();
  for (const typestr of ['<f4', '=f4', '|f4']) {
    equal(asCudaArray({ __cuda_array_interface__: { ...good(address), typestr } }).dtype, 'float32');
  }
  for (const typestr of ['<b1', '>b1', '|b1', '=b1']) {
    equal(asCudaArray({ __cuda_array_interface__: { ...good(address), typestr } }).dtype, 'bool');
  }
  for (const typestr of ['>u1', '>i1', '>V1']) {
    const options = typestr === '>V1' ? ({ dtype: 'float8_e5m2' } as const) : {};
    asCudaArray({ __cuda_array_interface__: { ...good(address), typestr } }, options);
  }
});

cudaTest('elements read as another dtype of their size, or as bytes', () => {
  const { address } = floats();
  const take = (typestr: string, shape: number[], dtype: DType, strides?: number[]) =>
    asCudaArray({ __cuda_array_interface__: { ...good(address), typestr, shape, strides } }, { dtype });
  equal(take('<M8[ns]', [12], 'int64').dtype, 'int64');
  equal(take('<u2', [48], 'bfloat16').dtype, 'bfloat16');
  const records = take('|V12', [8], 'uint8');
  equal(
    [records.shape, records.strides],
    [
      [8, 12],
      [12, 1],
    ],
  );
  const columns = take('|V12', [2, 2], 'uint8', [24, 48]);
  equal(
    [columns.shape, columns.strides],
    [
      [2, 2, 12],
      [24, 48, 1],
    ],
  );
  // Fields of records need not be a whole number of elements apart.
  equal(take('<f4', [4], 'uint8', [6]).strides, [6, 1]);
  equal(take('|V3', [2, 2], 'uint8', [8, 4]).strides, [8, 4, 1]);
  throws('LayoutError', 'Expected 1 strides', () => take('|V3', [4], 'uint8', [4, 1]));
  throws('LayoutError', 'dtype: "uint8"', () => take('<f4', [4], 'float32', [6]));
  equal(take('<U3', [2], 'uint8').shape, [2, 12]);
  equal(take('|S5', [2], 'uint8').shape, [2, 5]);
  equal(take('|V12', [0], 'uint8').shape, [0, 12]);
  throws('UnsupportedDTypeError', '32 bits', () => take('<M8[ns]', [4], 'int32'));
  throws('UnsupportedDTypeError', 'Python objects', () => take('|O8', [4], 'int64'));
  throws('UnsupportedDTypeError', 'dtype name', () => take('<f4', [4], 'nonsense' as DType));
});
