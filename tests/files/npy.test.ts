import { readFileSync } from 'node:fs';
import { deflateRawSync } from 'node:zlib';
import { Tensor } from 'dlpack';
import { openNpySync, openNpz, openNpzSync, writeNpy, writeNpz } from 'dlpack/files';
import { equal, ok, rejects, throws } from '../assert.js';
import { test } from '../harness.js';
import { fileOf, newPath, npy, zip } from './make.js';

const float64 = (...values: number[]) => new Uint8Array(Float64Array.from(values).buffer);
const crcTable = Uint32Array.from({ length: 256 }, (_, n) => {
  let c = n;
  for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  return c;
});
const crc = (bytes: Uint8Array): number => {
  let c = ~0;
  for (const byte of bytes) c = (crcTable[(c ^ byte) & 255] as number) ^ (c >>> 8);
  return ~c >>> 0;
};

test('an array is mapped, and the mapping lives as long as the tensor', () => {
  const path = fileOf(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }", float64(1, 2, 3, 4)));
  const x = openNpySync(path);
  equal(
    [x.dtype, x.toArray(), x.isReadOnly, x.isCopied],
    [
      'float64',
      [
        [1, 2],
        [3, 4],
      ],
      true,
      false,
    ],
  );
  const y = openNpySync(path, { mode: 'c' });
  y.set(0, 0, 9);
  equal([y.get(0, 0), openNpySync(path).get(0, 0)], [9, 1]);
});

test('Fortran order becomes strides', () => {
  const x = openNpySync(
    fileOf(npy("{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3), }", float64(1, 2, 3, 4, 5, 6))),
  );
  equal(
    [x.strides, x.toArray()],
    [
      [1, 2],
      [
        [1, 3, 5],
        [2, 4, 6],
      ],
    ],
  );
});

test('versions 2 and 3, double quotes, long integers, any white space', () => {
  for (const version of [2, 3]) {
    const dict = '{"shape":(2L,) , "fortran_order":False,\n"descr":"<f8"}';
    equal(openNpySync(fileOf(npy(dict, float64(1, 2), version))).toArray(), [1, 2]);
  }
});

test('big-endian data is copied into the byte order of this machine', () => {
  const data = new Uint8Array([0, 1, 0, 2]);
  const x = openNpySync(fileOf(npy("{'descr': '>i2', 'fortran_order': False, 'shape': (2,), }", data)));
  equal([x.toArray(), x.isCopied], [[1, 2], true]);
  const complex = new Uint8Array(float64(1, 2).reverse());
  const z = openNpySync(fileOf(npy("{'descr': '>c16', 'fortran_order': False, 'shape': (), }", complex)));
  equal(z.item(), { re: 2, im: 1 });
});

test('scalars, empty arrays, bytes after the array', () => {
  equal(openNpySync(fileOf(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (), }", float64(7)))).item(), 7);
  const empty = openNpySync(fileOf(npy("{'descr': '<f8', 'fortran_order': True, 'shape': (3, 0), }", float64())));
  equal([empty.shape, empty.size], [[3, 0], 0]);
  equal(openNpySync(fileOf(npy("{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }", float64(7)))).size, 1);
});

test('the reader chooses the dtype of raw bytes', () => {
  const path = fileOf(
    npy("{'descr': '<V2', 'fortran_order': False, 'shape': (2,), }", new Uint8Array([128, 63, 0, 64])),
  );
  throws('UnsupportedDTypeError', "{ dtype: 'bfloat16' }", () => openNpySync(path));
  throws('UnsupportedDTypeError', 'a dtype of 2 bytes', () => openNpySync(path, { dtype: 'float8_e5m2' }));
  equal(openNpySync(path, { dtype: 'bfloat16' }).toArray(), [1, 2]);
  const packed = fileOf(npy("{'descr': '|V1', 'fortran_order': False, 'shape': (3,), }", new Uint8Array([1, 2, 7])));
  const int4 = openNpySync(packed, { dtype: 'int4' });
  equal([int4.toArray(), int4.isPadded], [[1, 2, 7], true]);
});

test('a dtype that differs from the dtype of the file is an error, and not ignored', () => {
  const path = fileOf(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", new Uint8Array(4)));
  throws('UnsupportedDTypeError', 'but it has float32', () => openNpySync(path, { dtype: 'bfloat16' }));
  equal(openNpySync(path, { dtype: 'float32' }).toArray(), [0]);
});

test('the error for an unsupported type names the type', () => {
  for (const descr of ["'|O'", "'<U5'", "'|S3'", "'<M8[ns]'", "'<f16'", "[('a', '<f4'), ('b', '<i2', (2, 2))]"]) {
    const path = fileOf(npy(`{'descr': ${descr}, 'fortran_order': False, 'shape': (1,), }`, new Uint8Array(64)));
    const hint = descr === "'|O'" ? 'pickled Python code, which is never run' : 'Expected booleans';
    throws('UnsupportedDTypeError', hint, () => openNpySync(path));
  }
});

test('rows and columns are written in their order, other layouts packed', async () => {
  const x = Tensor.from(
    [
      [1, 2, 3],
      [4, 5, 6],
    ],
    { dtype: 'float32' },
  );
  for (const [tensor, order] of [
    [x, 'False'],
    [x.transpose(), 'True'],
    [x.slice(null, [0, 3, 2]), 'False'],
    [x.slice(0), 'False'],
  ] as const) {
    const path = newPath('x.npy');
    await writeNpy(path, tensor);
    const back = openNpySync(path);
    equal(back.toArray(), tensor.toArray());
    equal([back.byteOffset % 64, back.isCopied], [0, false]);
    ok(readFileSync(path, 'latin1').includes(`'fortran_order': ${order}`));
  }
  const lanes = writeNpy(newPath('x.npy'), Tensor.zeros([1], 'float32x4'));
  await rejects('UnsupportedDTypeError', 'a dtype that NumPy', lanes);
});

const array = npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", float64(1, 2));

test('npz: stored and deflated members', async () => {
  const deflated = new Uint8Array(deflateRawSync(array));
  const bytes = zip([
    { name: 'a.npy', content: array, crc: crc(array) },
    { name: 'b.npy', content: deflated, method: 8, size: array.length, crc: crc(array) },
    { name: 'note.txt', content: new Uint8Array(3) },
  ]);
  using file = openNpzSync(fileOf(bytes));
  equal(file.names, ['a', 'b']);
  equal(
    [file.get('a').toArray(), file.get('b').toArray()],
    [
      [1, 2],
      [1, 2],
    ],
  );
  equal([file.info('b').offset, file.info('b').isShared, file.info('b').shape], [null, false, [2]]);
  equal([file.get('b').isCopied, file.get('b').isReadOnly], [true, false]);
  using blob = await openNpz(new Blob([bytes]));
  equal(
    [(await blob.getAsync('a')).toArray(), (await blob.getAsync('b')).toArray()],
    [
      [1, 2],
      [1, 2],
    ],
  );
});

test('npz files that we write: every array is at a multiple of 64 bytes and mapped in place', async () => {
  const path = newPath('x.npz');
  const tensors = { first: Tensor.from([1, 2, 3]), 'läyer/é': Tensor.from([[1n]]), c: Tensor.zeros([0], 'bool') };
  await writeNpz(path, tensors);
  using file = openNpzSync(path);
  equal(file.names, Object.keys(tensors));
  for (const [name, tensor] of Object.entries(tensors)) {
    equal(file.get(name).toArray(), tensor.toArray());
    equal([file.info(name).isShared, (file.info(name).offset as number) % 64], [true, 0]);
  }
});

test('types that NumPy lacks are written as raw bytes, with one byte for each narrower element', async () => {
  const path = newPath('x.npy');
  for (const dtype of ['bfloat16', 'float8_e4m3fn', 'int4', 'float4_e2m1fn'] as const) {
    const x = Tensor.from([1, 2, 3], { dtype });
    await writeNpy(path, x);
    equal(openNpySync(path, { dtype }).toArray(), [1, 2, 3]);
  }
});
