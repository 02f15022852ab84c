/** Libraries that need no adapter: their arrays and shapes are what `Tensor.wrap` and `fromImageData` take. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Tensor } from 'dlpack';
import { fromImageData } from 'dlpack/adapters';
import { equal } from '../assert.js';
import { testWith, unless } from '../harness.js';
import { load, loadModule, missing } from './libraries.js';

// biome-ignore lint/suspicious/noExplicitAny: each library has types of its own, and a test of values needs none
type Library = any;

const values = Float32Array.of(1, 2, 3, 4, 5, 6);
const rows = [[1, 2, 3], [4, 5, 6]]; // biome-ignore format: a table

function checkCanvas({ createCanvas }: Library): void {
  const context = createCanvas(4, 2).getContext('2d');
  context.fillStyle = 'rgb(1, 2, 3)';
  context.fillRect(0, 0, 4, 2);
  const image = context.getImageData(0, 0, 4, 2);
  const x = fromImageData(image, { copy: false });
  equal([x.shape, x.slice(1, 3).toArray()], [[2, 4, 4], [1, 2, 3, 255]]); // biome-ignore format: a table
  x.set(0, 0, 0, 9);
  equal(image.data[0], 9);
}

testWith(missing('@napi-rs/canvas'), '@napi-rs/canvas: an ImageData is shared', () =>
  checkCanvas(load('@napi-rs/canvas')),
);

const noCanvas = unless(
  missing('canvas') === false,
  'its npm package compiles or downloads a program, so only some have it',
);
testWith(noCanvas, 'canvas: an ImageData is shared', () => checkCanvas(load('canvas')));

testWith(missing('geotiff'), 'geotiff: rasters are shared', async () => {
  const geotiff: Library = await loadModule('geotiff/dist-module/geotiff.js');
  const file = await geotiff.fromArrayBuffer(await geotiff.writeArrayBuffer(values, { height: 2, width: 3 }));
  const raster = await (await file.getImage()).readRasters({ interleave: true });
  const x = Tensor.wrap(raster, { shape: [raster.height, raster.width] });
  equal(x.toArray(), rows);
  x.set(0, 0, 9);
  equal(raster[0], 9);
});

testWith(missing('h5wasm'), 'h5wasm: values of a dataset are shared', async () => {
  const h5wasm: Library = await loadModule('h5wasm/dist/node/hdf5_hl.js');
  await h5wasm.ready;
  const folder = mkdtempSync(join(tmpdir(), 'dlpack-h5-'));
  try {
    const file = new h5wasm.File(join(folder, 'a.h5'), 'w');
    file.create_dataset({ name: 'x', data: values, shape: [2, 3] });
    const dataset = file.get('x');
    equal(Tensor.wrap(dataset.value, { shape: dataset.shape }).toArray(), rows);
    file.close();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

testWith(missing('npyjs'), 'npyjs: an array of a file is shared', async () => {
  const module: Library = load('npyjs');
  const Loader = module.default ?? module;
  const header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }".padEnd(117);
  const start = Uint8Array.of(0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, 118, 0);
  const bytes = [...start, ...new TextEncoder().encode(`${header}\n`), ...new Uint8Array(values.buffer)];
  const { data, shape } = await new Loader().load(Uint8Array.from(bytes).buffer);
  equal(Tensor.wrap(data, { shape }).toArray(), rows);
});
