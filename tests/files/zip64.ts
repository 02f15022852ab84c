/** An npz file beyond 4 GiB, which is nearly all a hole: the writer's own records around members that are not in memory. */

import { open } from 'node:fs/promises';
import { dtypeFromName } from '../../src/dtype.js';
import { crc32 } from '../../src/files/formats/crc32.js';
import { formatNpy } from '../../src/files/formats/npy.js';
import { formatDirectory, formatLocal } from '../../src/files/formats/zip-format.js';

/** The bytes of the first array, 5 at the start, 9 at the end and zeros between. */
export const largeSize = 2 ** 32 + 77;
/** The second array, which begins beyond 4 GiB. */
export const farValues = Float64Array.of(1.5, -2, 1e300);

/** Writes the file: 'large' of uint8, then 'far' of float64. */
export async function writeLargeNpz(path: string): Promise<void> {
  const file = await open(path, 'wx');
  try {
    const write = (bytes: Uint8Array, at: number) => file.write(bytes, 0, bytes.length, at);
    const head = formatNpy(dtypeFromName('uint8'), [largeSize], false);
    // The checksum of 4 GiB is left out: who reads only parts of a member cannot check it.
    const large = { name: 'large.npy', crc: 0, size: head.length + largeSize, offset: 0 };
    const local = formatLocal(large);
    await write(local, 0);
    await write(head, local.length);
    await write(Uint8Array.of(5), local.length + head.length);
    const end = local.length + large.size;
    await write(Uint8Array.of(9), end - 1);
    const farHead = formatNpy(dtypeFromName('float64'), [farValues.length], false);
    const content = new Uint8Array([...farHead, ...new Uint8Array(farValues.buffer)]);
    const far = { name: 'far.npy', crc: crc32(content), size: content.length, offset: end };
    const farLocal = formatLocal(far);
    await write(farLocal, end);
    await write(content, end + farLocal.length);
    const directory = end + farLocal.length + content.length;
    await write(formatDirectory([large, far], directory), directory);
  } finally {
    await file.close();
  }
}
