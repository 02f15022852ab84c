import { inflateSync } from 'node:zlib';
import { Tensor, type TensorView } from 'dlpack';
import { equal, ok } from '../assert.js';
import { runChild } from '../child.js';
import { test } from '../harness.js';

type Shown = { [type: string]: string };
const show = (x: TensorView): Promise<Shown> =>
  (x as unknown as { [name: symbol]: () => Promise<Shown> })[Symbol.for('Jupyter.display')]?.() as Promise<Shown>;

test('Node, Bun and Deno print a tensor alike, also inside of other values', () => {
  const { output } = runChild(import.meta.url, './children/print.js');
  const lines = (columns: number) => {
    const start = ' '.repeat(columns);
    return `float64 [2, 2] cpu\n${start}[[1. , 2. ],\n${start} [3. , 4.5]]`;
  };
  ok(output.startsWith(`Tensor ${lines(0)}\n`), output);
  ok(output.includes(`{\n  x: Tensor ${lines(2)}`), output);
  ok(output.includes(`[\n  [\n    TensorView ${lines(4)}`), output);
});

test('a notebook shows a matrix as a table, with its ends if it is large', async () => {
  const x = Tensor.from([
    [1, 2],
    [3, 4.5],
  ]);
  const shown = await show(x);
  equal(Object.keys(shown), ['text/plain', 'text/html']);
  equal(shown['text/plain'], String(x));
  equal(
    shown['text/html'],
    '<table><caption>float64 [2, 2] cpu</caption><tr><th></th><th>0</th><th>1</th></tr>' +
      '<tr><th>0</th><td>1. </td><td>2. </td></tr><tr><th>1</th><td>3. </td><td>4.5</td></tr></table>',
  );
  const large = (await show(Tensor.arange(10_000, 'int32').reshape([100, 100])))['text/html'] as string;
  equal([large.split('<tr>').length - 1, large.split('<td>').length - 1], [22, 21 * 13]);
  ok(large.includes('<th>…</th>') && large.includes('<td>9999</td>'), large);
  ok((await show(Tensor.from([true, false])))['text/html']?.includes('true') === true);
});

test('a notebook shows a long vector as a plot', async () => {
  const shown = await show(Tensor.arange(1000, 'int64'));
  equal(Object.keys(shown), ['text/plain', 'image/svg+xml']);
  const plot = shown['image/svg+xml'] as string;
  ok(plot.includes('int64 [1000]: 0.000 to 999.0') && plot.includes('points="0.0,110.0 '), plot);
  const holes = await show(Tensor.full([50], Number.NaN, 'float32'));
  ok(holes['image/svg+xml']?.includes('points=""') === true);
  const wide = Tensor.zeros([33], 'float64');
  wide.set(0, -Number.MAX_VALUE);
  wide.set(32, Number.MAX_VALUE);
  const ends = (await show(wide))['image/svg+xml'] as string;
  ok(ends.includes('points="0.0,110.0 12.5,60.0 ') && ends.includes('400.0,10.0"'), ends);
});

test('a notebook shows an image as a picture', async () => {
  const image = Tensor.arange(24, 'uint8').reshape([4, 2, 3]);
  for (const x of [image, image.transpose([2, 0, 1]).copy()]) {
    const shown = await show(x);
    equal(Object.keys(shown), ['text/plain', 'image/png']);
    const png = Buffer.from(shown['image/png'] as string, 'base64');
    equal([...png.subarray(0, 4)], [137, 80, 78, 71]);
    equal([png.readUInt32BE(16), png.readUInt32BE(20), png[24], png[25]], [2, 4, 8, 2], 'width, height, bits and RGB');
    const data = inflateSync(png.subarray(41, 41 + png.readUInt32BE(33)));
    equal([...data.subarray(0, 7)], [0, 0, 1, 2, 3, 4, 5]);
  }
  const large = await show(Tensor.zeros([3000, 1500, 4], 'uint8'));
  equal(Buffer.from(large['image/png'] as string, 'base64').readUInt32BE(20), 1000);
});

test('a notebook shows other tensors as text, and never throws', async () => {
  equal(Object.keys(await show(Tensor.zeros([2, 2, 2], 'float32'))), ['text/plain']);
  equal(Object.keys(await show(Tensor.zeros([0], 'float32'))), ['text/plain']);
  equal(Object.keys(await show(Tensor.from(1))), ['text/plain']);
  const x = Tensor.from([1]);
  x.dispose();
  equal(await show(x), { 'text/plain': 'Tensor(disposed)' });
});
