/** Files in a page: Blobs in, streams out, decompression by the browser. */

import { Tensor } from 'dlpack';
import { openGguf, openNpy, openNpz, openSafetensors, writeNpy, writeNpz, writeSafetensors } from 'dlpack/files';
import { equal, rejects, throws } from '../../assert.js';
import { gguf, npy, safetensors, zip } from '../../files/bytes.js';
import { test } from '../../harness.js';

async function written(write: (target: WritableStream<Uint8Array>) => Promise<void>): Promise<Blob> {
  const parts: BlobPart[] = [];
  await write(new WritableStream({ write: (part) => void parts.push(part as BlobPart) }));
  return new Blob(parts);
}

const x = Tensor.from([[1, 2], [3, 4]], { dtype: 'float32' }); // biome-ignore format: a table

test('safetensors through a stream and back', async () => {
  const blob = await written((target) => writeSafetensors(target, { x, y: x.transpose() }, { metadata: { k: 'v' } }));
  const file = await openSafetensors(new File([blob], 'x.safetensors'));
  equal([file.names, file.metadata.k, file.path], [['x', 'y'], 'v', 'x.safetensors']);
  equal((await file.getAsync('y')).toArray(), [[1, 3], [2, 4]]); // biome-ignore format: a table
  throws('BufferError', 'getAsync', () => file.get('x'));
});

test('npy, npz and GGUF', async () => {
  equal((await openNpy(await written((target) => writeNpy(target, x)))).toArray(), x.toArray());
  const file = await openNpz(await written((target) => writeNpz(target, { x })));
  equal((await file.getAsync('x')).toArray(), x.toArray());
  const model = await openGguf(
    new Blob([gguf([], [{ name: 'x', dims: [1], type: 24, offset: 0 }], new Uint8Array([7]))]),
  );
  equal((await model.getAsync('x')).toArray(), [7]);
});

test('deflated members', async () => {
  const array = npy("{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }", new Uint8Array([1, 2, 3]));
  const stream = new Blob([array]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  const content = new Uint8Array(await new Response(stream).arrayBuffer());
  const crcs = [0, 1].map(async (wrong) => {
    const stored = await written((target) => writeNpz(target, { a: Tensor.from(new Uint8Array([1, 2, 3])) }));
    const view = new DataView(await stored.arrayBuffer());
    let entry = 0; // in the directory at the end, because a stream gets the checksum after the content
    while (view.getUint32(entry, true) !== 0x02014b50) entry++;
    const crc = view.getUint32(entry + 16, true);
    return new Blob([zip([{ name: 'a.npy', content, method: 8, size: array.length, crc: crc ^ wrong }])]);
  });
  const [good, bad] = (await Promise.all(crcs)) as [Blob, Blob];
  equal((await (await openNpz(good)).getAsync('a')).toArray(), [1, 2, 3]);
  await rejects('FileFormatError', 'damaged', (await openNpz(bad)).getAsync('a'));
});

test('a page has no paths, and malformed files are refused', async () => {
  await rejects('TypeError', 'a URL, a File or a Blob', openSafetensors('model.safetensors'));
  await rejects('TypeError', 'a URL, a File or a Blob', writeNpy('x.npy', x));
  await rejects(
    'FileFormatError',
    'truncated',
    openSafetensors(
      new Blob([safetensors({ a: { dtype: 'U8', shape: [2], data_offsets: [0, 2] } }, new Uint8Array(1))]),
    ),
  );
});
