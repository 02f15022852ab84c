import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { type DType, fromDLPack, Tensor } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import { openSafetensors, openSafetensorsSync, writeSafetensors } from 'dlpack/files';
import { addressOf } from 'dlpack/native';
import { equal, ok, rejects, throws } from '../assert.js';
import { test } from '../harness.js';
import { fileOf, newPath, safetensors } from './make.js';

const twoFloats = safetensors(
  {
    __metadata__: { format: 'pt' },
    a: { dtype: 'F32', shape: [2], data_offsets: [0, 8] },
    b: { dtype: 'I8', shape: [3], data_offsets: [8, 11] },
  },
  new Uint8Array([0, 0, 128, 63, 0, 0, 0, 64, 1, 2, 255]),
);

/** The same file with its data at a multiple of 64, or beside it. */
function aligned(skew = 0): Uint8Array<ArrayBuffer> {
  const header = {
    a: { dtype: 'F32', shape: [2], data_offsets: [0, 8] },
    b: { dtype: 'I8', shape: [3], data_offsets: [8, 11] },
  };
  const pad = 64 - ((8 + JSON.stringify(header).length) % 64) + skew;
  return safetensors(header, new Uint8Array([0, 0, 128, 63, 0, 0, 0, 64, 1, 2, 255]), pad);
}

test('names, metadata and info are read without the data', () => {
  const path = fileOf(twoFloats);
  using file = openSafetensorsSync(path);
  equal(file.names, ['a', 'b']);
  equal([file.size, file.has('a'), file.has('c'), file.path], [2, true, false, path]);
  equal({ ...file.metadata }, { format: 'pt' });
  const { offset, ...info } = file.info('b');
  equal(info, { name: 'b', dtype: 'int8', shape: [3], nbytes: 3, path, isShared: true });
  equal(offset, twoFloats.length - 3);
});

test('tensors share the mapping without a copy', () => {
  using file = openSafetensorsSync(fileOf(aligned()));
  const [a, b] = [file.get('a'), file.get('b')];
  equal(
    [a.toArray(), b.toArray()],
    [
      [1, 2],
      [1, 2, -1],
    ],
  );
  equal(addressOf(b) - addressOf(a), 8n);
  equal(addressOf(file.get('a')), addressOf(a));
  equal([a.isCopied, a.isReadOnly, a.device], [false, true, 'cpu']);
});

test('mode r cannot be written', () => {
  using file = openSafetensorsSync(fileOf(aligned()));
  const a = file.get('a');
  throws('ReadOnlyError', 'read-only', () => a.set(0, 5));
  throws('ReadOnlyError', 'read-only', () => a.data);
});

test('writes in mode c stay in this process, and every tensor of the file sees them', () => {
  const path = fileOf(aligned());
  const before = readFileSync(path);
  using file = openSafetensorsSync(path, { mode: 'c' });
  const a = file.get('a');
  a.set(0, 5);
  a.data[1] = 6;
  equal(file.get('a').toArray(), [5, 6]);
  equal(readFileSync(path).equals(before), true);
  using again = openSafetensorsSync(path, { mode: 'c' });
  equal(again.get('a').toArray(), [1, 2]);
});

test('misaligned tensors are copied and marked as copies', () => {
  using file = openSafetensorsSync(fileOf(aligned(1)), { mode: 'c' });
  equal([file.info('a').isShared, file.info('b').isShared], [false, true]);
  const a = file.get('a');
  equal([a.isCopied, a.toArray()], [true, [1, 2]]);
  a.set(0, 9);
  equal(file.get('a').toArray(), [1, 2], 'a copy of its own');
  equal(file.get('b').isCopied, false);
  using readable = openSafetensorsSync(fileOf(aligned(1)));
  equal([readable.get('a').isCopied, readable.get('a').isReadOnly], [true, true]);
});

const every: readonly [name: string, dtype: DType, bits: number][] = [
  ['BOOL', 'bool', 8],
  ['U8', 'uint8', 8],
  ['I8', 'int8', 8],
  ['U16', 'uint16', 16],
  ['I16', 'int16', 16],
  ['U32', 'uint32', 32],
  ['I32', 'int32', 32],
  ['U64', 'uint64', 64],
  ['I64', 'int64', 64],
  ['F16', 'float16', 16],
  ['BF16', 'bfloat16', 16],
  ['F32', 'float32', 32],
  ['F64', 'float64', 64],
  ['C64', 'complex64', 64],
  ['F8_E5M2', 'float8_e5m2', 8],
  ['F8_E4M3', 'float8_e4m3fn', 8],
  ['F8_E8M0', 'float8_e8m0fnu', 8],
  ['F8_E4M3FNUZ', 'float8_e4m3fnuz', 8],
  ['F8_E5M2FNUZ', 'float8_e5m2fnuz', 8],
  ['F6_E2M3', 'float6_e2m3fn', 6],
  ['F6_E3M2', 'float6_e3m2fn', 6],
  ['F4', 'float4_e2m1fn', 4],
];

for (const [name, dtype, bits] of every) {
  test(`${name}: read, written and read again, bit for bit`, async () => {
    const bytes = Uint8Array.from({ length: bits }, (_, i) => (dtype === 'bool' ? i % 2 : (i * 37 + 11) % 120)); // eight elements
    const path = fileOf(safetensors({ x: { dtype: name, shape: [2, 4], data_offsets: [0, bits] } }, bytes));
    using file = openSafetensorsSync(path);
    const x = file.get('x');
    equal([x.dtype, x.shape, x.nbytes], [dtype, [2, 4], bits]);
    const copy = newPath('copy');
    await writeSafetensors(copy, { x });
    equal(new Uint8Array(readFileSync(copy).subarray(-bits)), bytes);
    using back = openSafetensorsSync(copy);
    equal(String(back.get('x')), String(x));
    equal(back.info('x').isShared, true);
  });
}

test('scalars and empty tensors', () => {
  const header = {
    scalar: { dtype: 'I32', shape: [], data_offsets: [0, 4] },
    empty: { dtype: 'F64', shape: [3, 0, 2], data_offsets: [4, 4] },
  };
  const skew = (4 - (JSON.stringify(header).length % 4)) % 4;
  using file = openSafetensorsSync(fileOf(safetensors(header, new Uint8Array([7, 0, 0, 0]), skew)));
  equal(file.get('scalar').item(), 7);
  equal(
    [file.get('empty').shape, file.get('empty').toArray()],
    [
      [3, 0, 2],
      [[], [], []],
    ],
  );
  using none = openSafetensorsSync(fileOf(safetensors('{}', new Uint8Array())));
  equal(none.names, []);
});

test('fields may have any order, white space and escapes', () => {
  const header =
    '{ "a\\u00e9\\n" : {\n"data_offsets":[ 0 , 2 ],\t"shape":[2],"dtype":"U8"} ,"é":{"dtype":"U8","shape":[1],"data_offsets":[2,3]} }  ';
  using file = openSafetensorsSync(fileOf(safetensors(header, new Uint8Array([1, 2, 3]))));
  equal(file.names, ['aé\n', 'é']);
  equal(file.get('é').toArray(), [3]);
});

test('names that Object.prototype has are ordinary names', () => {
  const header =
    '{"__metadata__":{"__proto__":"x"},"__proto__":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"constructor":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}';
  using file = openSafetensorsSync(fileOf(safetensors(header, new Uint8Array([1, 2]))));
  equal(file.names, ['__proto__', 'constructor']);
  equal(file.has('toString'), false);
  equal(Object.entries(file.metadata), [['__proto__', 'x']]);
});

test('shards are read like one file', async () => {
  const first = newPath('model-1.safetensors');
  await writeSafetensors(first, { a: Tensor.from([1, 2], { dtype: 'float32' }) });
  const second = join(dirname(first), 'model-2.safetensors');
  await writeSafetensors(second, { b: Tensor.from([3], { dtype: 'int64' }), c: Tensor.from([4]) });
  const index = join(dirname(first), 'model.safetensors.index.json');
  writeFileSync(
    index,
    JSON.stringify({
      metadata: { total_size: 24 },
      weight_map: { a: 'model-1.safetensors', b: 'model-2.safetensors' },
    }),
  );
  using model = openSafetensorsSync(index);
  equal(model.names, ['a', 'b']);
  equal(model.metadata, { total_size: 24 });
  equal([model.get('a').toArray(), model.get('b').toArray()], [[1, 2], [3n]]);
  equal(model.info('b').path, second);
  using fromUrl = await openSafetensors(pathToFileURL(index));
  equal(fromUrl.get('b').toArray(), [3n]);
});

test('errors suggest what to do', () => {
  const path = fileOf(twoFloats);
  using file = openSafetensorsSync(path);
  throws('ValueError', 'one of the 2 tensors', () => file.get('x'));
  throws('TypeError', 'the name of a tensor', () => file.get(1 as never));
  throws('ValueError', "'r' or 'c'", () => openSafetensorsSync(path, { mode: 'w' as never }));
  throws('TypeError', "did you mean 'mode'", () => openSafetensorsSync(path, { mod: 'r' } as never));
  throws('TypeError', 'a path or a file: URL', () => openSafetensorsSync(1 as never));
  throws('TypeError', 'a path or a file: URL', () => openSafetensorsSync(new URL('https://example.com/x')));
  equal(openSafetensorsSync(pathToFileURL(path)).size, 2);
  throws('ValueError', 'new URL(...)', () => openSafetensorsSync('https://example.com/model.safetensors'));
  file.dispose();
  file.dispose();
  throws('DisposedError', 'was disposed', () => file.get('a'));
  throws('DisposedError', 'was disposed', () => file.has('a'));
});

test('system errors name the path and the code', () => {
  const missing = throws('FileError', 'there is no such file', () => openSafetensorsSync('/no/such/file'));
  equal([missing.code, missing.path], ['ENOENT', '/no/such/file']);
  equal(throws('FileError', 'folder', () => openSafetensorsSync(dirname(fileOf('x')))).code, 'EISDIR');
  equal(throws('FileError', 'NUL', () => openSafetensorsSync(`${fileOf(twoFloats)}\0.txt`)).code, 'EINVAL');
  throws('FileFormatError', 'the file ends at byte 0', () => openSafetensorsSync(fileOf('')));
});

test('a tensor of a file is exchanged like any other tensor', () => {
  using file = openSafetensorsSync(fileOf(aligned()));
  const a = file.get('a');
  using shared = fromDLPack(a);
  equal(addressOf(shared), addressOf(a));
  ok(shared.isReadOnly);
  using part = a.slice([1, 2]);
  equal(part.toArray(), [2]);
});

test('a misspelt name: the error names the nearest tensor, also among long names that begin alike', async () => {
  const layer = (i: number, part: string) => `model.layers.${i}.self_attn.some_long_module_name.${part}.weight`;
  const names = ['weight', ...Array.from({ length: 40 }, (_, i) => [layer(i, 'q_proj'), layer(i, 'k_proj')]).flat()];
  const entries = names.map((name, i) => [name, { dtype: 'U8', shape: [1], data_offsets: [i, i + 1] }]);
  using file = openSafetensorsSync(fileOf(safetensors(Object.fromEntries(entries), new Uint8Array(names.length))));
  throws('ValueError', "did you mean 'weight'?", () => file.get('wieght'));
  throws('ValueError', `did you mean '${layer(17, 'k_proj')}'?`, () => file.info(layer(17, 'k_prj')));
  await rejects('ValueError', "did you mean 'weight'?", file.getAsync('Weights'));
  throws('ValueError', "but received 'bias' (string)", () => file.get('bias'));
});

test('get and getAsync check the dtype and the shape, and release a tensor that does not fit', async () => {
  const entries = { a: { dtype: 'F32', shape: [2, 3], data_offsets: [0, 24] } };
  const path = fileOf(safetensors(entries, new Uint8Array(24)));
  using file = openSafetensorsSync(path);
  using blob = await openSafetensors(new Blob([readFileSync(path)]));
  const spec = { dtype: 'float32', shape: [null, 3] } as const;
  equal(file.get('a', spec).shape, [2, 3]);
  for (const opened of [file, blob]) {
    equal((await opened.getAsync('a', { ...spec, device: 'cpu' })).shape, [2, 3]);
    const { storages } = liveCounts();
    equal((await rejects('SpecError', 'Expected int8', opened.getAsync('a', { dtype: 'int8' }))).path, 'dtype');
    equal((await rejects('SpecError', '[any, 4]', opened.getAsync('a', { shape: [null, 4] }))).path, 'shape');
    equal(liveCounts().storages, storages);
    await rejects('TypeError', 'dtype', opened.getAsync('a', { dtyp: 'int8' } as never));
    await rejects('TypeError', 'Expected device', opened.getAllAsync({ dtype: 'int8' } as never));
  }
});
