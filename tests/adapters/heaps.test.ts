/** Libraries with memory of their own kind: numpy-ts, OpenCV.js, DuckDB and masks of MediaPipe. */

import { Tensor } from 'dlpack';
import {
  adapt,
  duckDBValidity,
  fromDuckDB,
  fromMediaPipe,
  fromNumpyTs,
  fromOpenCV,
  toDuckDB,
  toMediaPipe,
  toNumpyTs,
  toOpenCV,
} from 'dlpack/adapters';
import { liveCounts } from 'dlpack/debug';
import { equal, ok, throws } from '../assert.js';
import { testWith } from '../harness.js';
import { load, loadMediaPipe, loadModule, loadOpenCV, missing } from './libraries.js';

// biome-ignore lint/suspicious/noExplicitAny: each library has types of its own, and a test of values needs none
type Library = any;

const loadNumpy = (): Promise<Library> => loadModule('numpy-ts/dist/esm/index.js');

testWith(
  missing('numpy-ts'),
  'numpy-ts: arrays and views share the memory of its module, also after their end',
  async () => {
    const np = await loadNumpy();
    const a = np.array([[1, 2, 3], [4, 5, 6]], 'float32'); // biome-ignore format: a table
    const x = fromNumpyTs(a, { copy: false });
    equal([x.dtype, x.shape, x.strides], ['float32', [2, 3], [3, 1]]);
    x.set(0, 1, 20);
    equal(a.get([0, 1]), 20);
    a.set([1, 2], 60);
    equal(x.toArray(), [[1, 20, 3], [4, 5, 60]]); // biome-ignore format: a table
    equal(fromNumpyTs(np.transpose(a)).toArray(), [[1, 4], [20, 5], [3, 60]]); // biome-ignore format: a table
    const part = fromNumpyTs(a.slice('1:', '::2'));
    equal([part.toArray(), part.strides], [[[4, 60]], [3, 2]]);
    ok(part.sharesMemory(x));
    const region = a.storage.wasmRegion;
    const owners = region.refCount;
    part.dispose();
    equal(region.refCount, owners - 1);
    a.dispose();
    for (let i = 0; i < 20; i++) np.zeros([2, 3], 'float32'); // would take the memory over
    equal(x.toArray(), [[1, 20, 3], [4, 5, 60]]); // biome-ignore format: a table
    x.dispose();
    throws('BufferError', 'keeps its heap', () => fromNumpyTs(np.array([1]), { adopt: true }));
    const copy = fromNumpyTs(np.array([7, 8], 'int32'), { copy: true });
    equal(copy.toArray(), [7, 8]);
  },
);

testWith(missing('numpy-ts'), 'numpy-ts: every dtype in both directions', async () => {
  const np = await loadNumpy();
  const dtypes = [
    'int8',
    'uint8',
    'int16',
    'uint16',
    'int32',
    'uint32',
    'int64',
    'uint64',
    'float32',
    'float64',
    'bool',
  ];
  for (const dtype of [...dtypes, 'complex64', 'complex128'] as 'int8'[]) {
    const x = Tensor.zeros([2, 2], dtype);
    x.set(1, 0, (/int64/.test(dtype) ? 1n : dtype.startsWith('c') ? { re: 1, im: 2 } : 1) as number);
    const made: Library = toNumpyTs(x, np as never);
    equal(made.dtype, dtype);
    const back = fromNumpyTs(made);
    ok(back.equals(x), `${dtype}: ${back}`);
    x.fill((/int64/.test(dtype) ? 0n : dtype.startsWith('c') ? { re: 0, im: 0 } : 0) as number);
    ok(!back.equals(x), `${dtype} is a copy`);
  }
  equal(fromNumpyTs(toNumpyTs(Tensor.arange(6, 'float32').reshape([2, 3]).transpose(), np as never)).shape, [3, 2]);
  throws('BufferError', 'its own memory', () => toNumpyTs(Tensor.zeros([2], 'float32'), np as never, { copy: false }));
  const before = liveCounts().storages;
  const short = Tensor.zeros([4], 'float32');
  toNumpyTs(short, np as never);
  short.dispose();
  equal(liveCounts().storages, before, 'the library has a copy, so the memory is free at once');
  throws('TypeError', 'toNumpyTs(x, np)', () => toNumpyTs(Tensor.zeros([2], 'float32'), {} as never));
  ok(adapt(np.array([1, 2])).shape[0] === 2);
});

testWith(
  missing('@techstark/opencv-js'),
  'OpenCV.js: a Mat is shared, with channels, regions and a heap that grows',
  async () => {
    const { cv } = await loadOpenCV<Library>();
    const mat = new cv.Mat(3, 5, cv.CV_8UC4);
    mat.setTo(new cv.Scalar(1, 2, 3, 4));
    const x = fromOpenCV(mat, { copy: false });
    equal([x.dtype, x.shape, x.strides], ['uint8', [3, 5, 4], [20, 4, 1]]);
    x.set(1, 2, 3, 99);
    equal(mat.ucharPtr(1, 2)[3], 99);
    const roi = mat.roi(new cv.Rect(1, 1, 2, 2));
    const region = fromOpenCV(roi);
    roi.delete();
    equal([region.shape, region.strides], [[2, 2, 4], [20, 4, 1]]); // biome-ignore format: a table
    equal(region.get(0, 1, 3), 99);
    const big = new cv.Mat(4000, 4000, cv.CV_64FC4); // 512 MB: the heap has to grow, and its old buffer is detached
    equal(x.get(1, 2, 3), 99);
    equal(region.get(0, 1, 3), 99);
    big.delete();
    mat.delete();
    equal(x.get(0, 0, 2), 3); // the tensor holds the memory
    for (const tensor of [x, region]) tensor.dispose();
    const deleted = new cv.Mat(1, 1, cv.CV_8U);
    deleted.delete();
    throws('ForeignError', 'deleted', () => fromOpenCV(deleted));
  },
);

testWith(missing('@techstark/opencv-js'), 'OpenCV.js: every depth in both directions', async () => {
  const { cv } = await loadOpenCV<Library>();
  for (const dtype of ['uint8', 'int8', 'uint16', 'int16', 'int32', 'float32', 'float64'] as const) {
    for (const shape of [
      [2, 3],
      [2, 3, 3],
    ]) {
      const x = Tensor.arange(
        shape.reduce((a, b) => a * b),
        dtype,
      ).reshape(shape);
      const mat: Library = toOpenCV(x, cv);
      const back = fromOpenCV(mat);
      ok(back.equals(x), `${dtype}: ${back}`);
      back.dispose();
      mat.delete();
    }
  }
  throws('LayoutError', 'rows by columns', () => toOpenCV(Tensor.zeros([4], 'float32'), cv));
  throws('BufferError', 'its own memory', () => toOpenCV(Tensor.zeros([2, 2], 'float32'), cv, { copy: false }));
  throws('UnsupportedDTypeError', 'int64', () => toOpenCV(Tensor.zeros([2, 2], 'int64'), cv));
});

testWith(missing('@duckdb/node-api'), 'DuckDB: columns, arrays and nulls, and back through an appender', async () => {
  const duckdb: Library = load('@duckdb/node-api');
  const instance = await duckdb.DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  const columns = async (query: string): Promise<Library[]> => {
    const chunk = await (await connection.run(query)).fetchChunk();
    return Array.from({ length: chunk.columnCount }, (_, i) => chunk.getColumnVector(i));
  };
  const [f, b, v, m, big] = await columns(
    'select i::float, i % 2 = 0, [i, i + 1]::float[2], [[i, 1], [2, 3]]::integer[2][2], i::bigint from range(3) t(i)',
  );
  equal(fromDuckDB(f).toArray(), [0, 1, 2]);
  equal([fromDuckDB(b).dtype, fromDuckDB(b).toArray()], ['bool', [true, false, true]]);
  equal(fromDuckDB(v).toArray(), [[0, 1], [1, 2], [2, 3]]); // biome-ignore format: a table
  equal(fromDuckDB(m).slice(2).toArray(), [[2, 1], [2, 3]]); // biome-ignore format: a table
  equal(fromDuckDB(big).toArray(), [0n, 1n, 2n]);
  fromDuckDB(f, { copy: false }).set(1, 42);
  equal(f.getItem(1), 42);
  equal(duckDBValidity(f), null);

  await connection.run('create table r as select i, [i]::float[1] as v from range(100) t(i)');
  await connection.run('update r set v = null where i = 2');
  const [holes, rows, inner, text, date] = await columns(
    "select case when i = 70 then null else i::double end, v, [case when i = 5 then null else i end]::integer[1], 'a', date '2026-01-01' from r order by i",
  );
  throws('BufferError', 'duckDBValidity()', () => fromDuckDB(holes));
  equal(fromDuckDB(holes, { nulls: 'ignore' }).get(71), 71);
  for (const [vector, at] of [
    [holes, 70],
    [rows, 2],
    [inner, 5],
  ] as const) {
    // biome-ignore format: a table
    const valid = (duckDBValidity(vector) as Tensor).toArray() as number[];
    equal([valid.length, valid.indexOf(0), valid.lastIndexOf(0)], [100, at, at]);
  }
  throws('UnsupportedDTypeError', 'VARCHAR', () => fromDuckDB(text));
  throws('UnsupportedDTypeError', 'DATE', () => fromDuckDB(date));

  await connection.run('create table t (v float[3])');
  const x = Tensor.arange(9000, 'float32').reshape([3000, 3]);
  const appender = await connection.createAppender('t');
  for (const chunk of toDuckDB(x, duckdb) as Library[]) appender.appendDataChunk(chunk);
  appender.closeSync();
  const [sum] = (await connection.runAndReadAll('select sum(v[1] + v[3]), count(*) from t')).getRows()[0] as number[];
  equal(sum, 2 * 3 * ((2999 * 3000) / 2) + 2 * 3000);
  for (const dtype of ['bool', 'int8', 'uint16', 'int64', 'float64'] as const) {
    const y = Tensor.zeros([5, 2], dtype);
    const [chunk] = toDuckDB(y, duckdb) as Library[];
    ok(fromDuckDB(chunk.getColumnVector(0)).equals(y), dtype);
  }
  throws('BufferError', 'its own memory', () => toDuckDB(x, duckdb, { copy: false }));
  throws('LayoutError', 'an axis', () => toDuckDB(Tensor.from(1), duckdb));
  connection.closeSync();
  instance.closeSync();
});

testWith(missing('@mediapipe/tasks-vision'), 'MediaPipe: masks share their arrays in both directions', async () => {
  const vision = await loadMediaPipe<Library>();
  for (const dtype of ['float32', 'uint8'] as const) {
    const x = Tensor.zeros([2, 3], dtype);
    const mask: Library = toMediaPipe(x, vision, { copy: false });
    equal(
      [mask.width, mask.height, mask.hasFloat32Array(), mask.hasUint8Array()],
      [3, 2, dtype !== 'uint8', dtype === 'uint8'],
    );
    const y = fromMediaPipe(mask, { copy: false });
    x.set(1, 2, 1);
    equal([y.dtype, y.shape, y.get(1, 2)], [dtype, [2, 3], 1]);
  }
  throws('LayoutError', 'rows by columns', () => toMediaPipe(Tensor.zeros([3], 'float32'), vision));
});
